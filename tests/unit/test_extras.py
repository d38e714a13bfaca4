"""Optional packages: the table of modules matches pyproject.toml, and a missing one is reported with its command."""

import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from weft.core import extras
from weft.core.errors import UserError
from weft.core.extras import EXTRA_MODULES, missing_module_error, require_extra

ROOT = Path(__file__).parents[2]


def normalized(name: str) -> str:
    return name.lower().replace("_", "-").partition(">")[0]


@pytest.mark.parametrize("extra", EXTRA_MODULES)
def test_every_module_belongs_to_a_package_of_its_extra(extra: extras.Extra) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    installed = packages_distributions()
    required = {normalized(requirement) for requirement in project["optional-dependencies"][extra]}
    for module in EXTRA_MODULES[extra]:
        assert required & {normalized(name) for name in installed[module]}, module


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra("serve", "weft serve")
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "uvicorn" else object())
    with pytest.raises(UserError, match=r"weft serve needs .*\(uvicorn\).* pip install 'weft\[serve\]'"):
        require_extra("serve", "weft serve")


def test_a_failed_import_is_explained() -> None:
    error = missing_module_error(ModuleNotFoundError("no", name="matplotlib.figure"))
    assert "pip install 'weft[plots]'" in str(error)
    assert missing_module_error(ModuleNotFoundError("no", name="weft.nothing")) is None
