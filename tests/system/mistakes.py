"""What every mistake has in common: arguments that cannot work, and what the message says of them."""

from pathlib import Path
from typing import NamedTuple

TRAIN = ["train", "{recipe}", "--out", "{new}"]


class Mistake(NamedTuple):
    name: str
    arguments: list[str]  # {name} stands for a path of the fixture `places`, {new} for one where nothing is yet
    words: tuple[str, ...]  # in the message, with the same names


def mistake(name: str, arguments: list[str], *words: str) -> Mistake:
    return Mistake(name, arguments, words)


def fill(text: str, paths: dict[str, Path]) -> str:
    for name, path in paths.items():
        text = text.replace("{" + name + "}", str(path))
    return text


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))
