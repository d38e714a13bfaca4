"""Blocking an import in a single thread."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from weft.inference.export.ctranslate2_converter import block_import

PACKAGE = "weft_needs_this_for_nothing"


def test_import_is_blocked_for_the_current_thread_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{PACKAGE}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    finders = sys.meta_path
    with ThreadPoolExecutor(1) as other, block_import(PACKAGE):
        with pytest.raises(ImportError):
            import_module(PACKAGE)
        assert other.submit(import_module, PACKAGE).result().__name__ == PACKAGE
        assert import_module(PACKAGE).__name__ == PACKAGE  # already loaded
    assert sys.meta_path == finders
    del sys.modules[PACKAGE]
    assert import_module(PACKAGE).__name__ == PACKAGE
