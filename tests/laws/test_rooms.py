"""Imports between rooms go one way, and the order is the one that docs/architecture.md gives."""

import ast
import re
from pathlib import Path

import weft

ROOT = Path(weft.__file__).parent
DOCUMENT = ROOT.parents[1] / "docs" / "architecture.md"


def order() -> list[str]:
    found = re.search(r"^    (core -> .*)$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1].split(" -> ")


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("weft.")}


def test_every_room_is_in_the_order() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms == set(order())


def test_imports_go_one_way() -> None:
    rooms = order()
    backwards = [
        f"{path.relative_to(ROOT)} imports {room}"
        for path in ROOT.glob("*/**/*.py")
        for room in imported_rooms(path)
        if rooms.index(room) > rooms.index(path.relative_to(ROOT).parts[0])
    ]
    assert backwards == []
