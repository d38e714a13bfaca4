"""What a person reads about corpora: the list of them, and what to do with one."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from weft.config.document import inline
from weft.corpora.catalogue import Entry
from weft.corpora.folder import CorpusFolder

TITLES = ("name", "kind", "pairs", "licence", "what it is")


def table(entries: Iterable[Entry]) -> str:
    """A line a corpus, in columns."""
    rows = [TITLES, *((entry.name, entry.kind, f"{entry.pairs:,}", entry.licence, entry.what) for entry in entries)]
    name, kind, pairs, licence, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(
        f"{row[0]:<{name}}  {row[1]:<{kind}}  {row[2]:>{pairs}}  {row[3]:<{licence}}  {row[4]}" for row in rows
    )


def commands(corpus: CorpusFolder) -> list[str]:
    """Train a model on the corpus, and test it: to be copied into a terminal."""
    run = str(Path("runs") / corpus.entry.name)
    train = ["weft", "train", str(corpus.train), f"data.valid={inline([str(corpus.valid)])}"]
    return [
        shlex.join([*train, "--minutes", str(corpus.entry.minutes), "--out", run]),
        shlex.join(["weft", "evaluate", run, str(corpus.test)]),
    ]
