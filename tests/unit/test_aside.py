"""A package is kept aside for one thread alone: another may need it meanwhile."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from weft.inference.export.ctranslate2_spec import block_import

NAME = "weft_needs_this_for_nothing"


def test_a_package_is_kept_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{NAME}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    finders = sys.meta_path
    with ThreadPoolExecutor(1) as other, block_import(NAME):
        with pytest.raises(ImportError):
            import_module(NAME)
        assert other.submit(import_module, NAME).result().__name__ == NAME
        assert import_module(NAME).__name__ == NAME  # now it is loaded
    assert sys.meta_path == finders
    del sys.modules[NAME]
    assert import_module(NAME).__name__ == NAME
