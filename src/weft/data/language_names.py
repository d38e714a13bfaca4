"""The languages that the names of data files tell: train.en and train.de, en/train.txt, tatoeba-en-es/train.tsv,
europarl-v7.fr-en.fr, train.en-pt_BR.tsv, or the keys of a .jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from weft.data.languages import LanguagePair, is_language_code
from weft.data.text_files import uncompressed_name

# A code with its script or region: de, pt-BR, zh_Hant. Two of them at the end of a part of a name: tatoeba-en-es.
CODE = r"[a-z]{2,3}(?:[-_](?:[A-Z][a-z]{3}|[A-Z]{2}))?"
PAIR = re.compile(rf"(?:\A|.*[-_])({CODE})[-_]({CODE})", re.DOTALL)
LAST_CODE = re.compile(rf"(?:\A|.*[-_])({CODE})", re.DOTALL)
MAX_NAME = 255  # letters of a name that are examined
FOLDERS = 2  # levels above a file whose names are examined


def languages_of_names(corpora: Sequence[Sequence[str | Path]], fields: Sequence[str]) -> LanguagePair | None:
    """Return the languages that the names of all corpora tell; None if some tell none, or they differ.

    corpora: the files of each, one or two. fields: the keys of .jsonl files.
    """
    pairs = {_languages_of_files(list(map(str, files)), fields) for files in corpora if files}
    return pairs.pop() if len(pairs) == 1 else None


def _languages_of_files(files: Sequence[str], fields: Sequence[str]) -> LanguagePair | None:
    paths = [(path := Path(file).absolute()).with_name(uncompressed_name(path)) for file in files]
    if len(paths) == 2:
        return _languages_of_sides(*paths)
    if paths[0].suffix == ".jsonl" and all(map(is_language_code, fields)):
        return LanguagePair(*fields)
    return next(filter(None, map(_pair_in_name, [paths[0].stem, *_folder_names(paths[0])])), None)


def _languages_of_sides(source: Path, target: Path) -> LanguagePair | None:
    """Return the languages of two files: of a part of each name, the end of each name, or the folder of each."""
    for code_of in (_dotted_code, _last_code, _folder_code):
        codes = code_of(source), code_of(target)
        if codes[0] and codes[1] and (codes[0] != codes[1] or code_of is _dotted_code):
            return LanguagePair(*codes)
    names = [[path.stem, *_folder_names(path)] for path in (source, target)]
    pairs = [next(filter(None, map(_pair_in_name, parts)), None) for parts in names]
    return pairs[0] if pairs[0] == pairs[1] else None


def _dotted_code(path: Path) -> str:
    """Return the last part of a name, between dots, that is a code: de of train.de and train.de.txt."""
    _, *parts = path.name.split(".")
    return next(filter(is_language_code, reversed(parts)), "")


def _last_code(path: Path) -> str:
    """Return the code at the end of a name without its suffix: de of de.txt and train_de.txt."""
    found = LAST_CODE.fullmatch(path.stem[:MAX_NAME])
    return found[1] if found is not None and is_language_code(found[1]) else ""


def _folder_code(path: Path) -> str:
    return path.parent.name if is_language_code(path.parent.name) else ""


def _folder_names(path: Path) -> list[str]:
    return [folder.name for folder in list(path.parents)[:FOLDERS]]


def _pair_in_name(name: str) -> LanguagePair | None:
    """Return the pair in the last part of a name, between dots, that ends in one: en-de of train.en-de, wmt-en-de."""
    for part in reversed(name[:MAX_NAME].split(".")):
        found = PAIR.fullmatch(part)
        if found is not None and is_language_code(found[1]) and is_language_code(found[2]):
            return LanguagePair(found[1], found[2])
    return None
