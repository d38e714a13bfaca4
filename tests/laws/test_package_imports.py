"""Packages import only packages that come before them in the order of docs/architecture.md."""

import ast
import re
from pathlib import Path

import weft

ROOT = Path(weft.__file__).parent
DOCUMENT = ROOT.parents[1] / "docs" / "architecture.md"


def package_order() -> list[str]:
    match = re.search(r"^    core, (?:[a-z]+,?\s+)+", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    assert match is not None
    return re.findall(r"\w+", match[0])


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("weft.")}


def test_order_contains_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(package_order())


def test_imports_follow_package_order() -> None:
    order = package_order()
    violations = [
        f"{path.relative_to(ROOT)} imports {package}"
        for path in ROOT.glob("*/**/*.py")
        for package in imported_packages(path)
        if order.index(package) > order.index(path.relative_to(ROOT).parts[0])
    ]
    assert violations == []
