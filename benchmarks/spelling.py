"""Spelling correction on a test set of Norvig's: letters to letters, and letters to whole words.

From the root of the repository; FOLDER is made, with the data and the runs, and used again if it is there:

    python -m benchmarks.spelling TESTSET FOLDER --minutes 25 --json spelling.json
    python -m benchmarks.spelling TESTSET FOLDER RUN...          # models that are trained already

TESTSET is norvig.com/spell-testset1.txt, with lines such as "receipt: receit reciet": 270 misspellings. Norvig's own
corrector, which looks for the most frequent word at most two edits away, is right at once for 75 % of them ("How to
Write a Spelling Corrector", norvig.com/spell-correct.html). The list of misspellings that codespell holds out is the
second test.

The models learn from the rest of codespell's list, and from misspellings of frequent words that are made in its
manner (`weft noise --like`), of frequent words more. Misspellings of the tests are taken out of both. Frequencies are
those of symspellpy's list (MIT): Google Books n-grams (CC BY 3.0) of the words in SCOWL. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from math import log10
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.shares import Share

import weft
from weft.config.document import inline
from weft.core.errors import UserError
from weft.corpora.catalogue import Wheel
from weft.corpora.fetch import get
from weft.corpora.folder import CorpusFolder, write_rows
from weft.corpora.wheels import fetch_lines
from weft.data.corpus import Corpus
from weft.data.lines import read_lines
from weft.engine.translator import Translator
from weft.noise.learned import learn_habits
from weft.noise.noise import Noise
from weft.noise.pairs import NoisyPairs, Wanted, key, read_words
from weft.store.files import new_folder, write_atomically

CONFIGS = Path(__file__).parents[1] / "configs"
RECIPES = {"letters": CONFIGS / "spelling.yaml", "words": CONFIGS / "spelling-words.yaml"}
FREQUENCIES = Wheel(
    package="symspellpy",
    version="6.9.0",
    sha256="b6dba96275fdbedc240491854160bbe596dda930f2d58567ad55faf82a4e4b43",
    megabytes=3,
    member="symspellpy/frequency_dictionary_en_82_765.txt",
)
PUBLISHED = 75.0  # percent of TESTSET, by Norvig's corrector
BEST = 5  # outputs of which the first that is a word is taken, where a list of words helps
FEWEST = 3  # copies of a rare word


class Case(NamedTuple):
    """A misspelling and the words that are right for it."""

    wrong: str
    right: tuple[str, ...]


class Made(NamedTuple):
    """What is made for training: misspellings of so many frequent words, with so many mistakes in the mean."""

    words: int
    errors: float


class Removed(NamedTuple):
    """Pairs that were taken out, since the tests ask for them."""

    of_list: int
    of_noise: int


# --- Data ----------------------------------------------------------------------------------------------------------


def read_testset(path: Path) -> list[Case]:
    """Lines of a right word, a colon and its misspellings; one that stands there twice counts twice, as Norvig's."""
    cases = []
    for number, line in enumerate(read_lines(path), start=1):
        right, colon, wrong = line.partition(":")
        if line.strip() and not colon:
            raise UserError(f"{path}, line {number}: wanted a word, a colon and its misspellings, got no colon")
        cases += [Case(word, (right.strip(),)) for word in wrong.split()]
    if not cases:
        raise UserError(f"{path}: there are no misspellings in it")
    return cases


def read_held_out_list(path: Path) -> list[Case]:
    """Lines of a misspelling and the words that are right for it, with tabs between."""
    rows = (line.split("\t") for line in read_lines(path))
    return [Case(wrong, tuple(right)) for wrong, *right in rows]


def read_frequencies(lines: Iterable[str]) -> dict[str, int]:
    """Lines of a word, a space and how often it was counted."""
    return {word: int(count) for word, _, count in (line.partition(" ") for line in lines)}


def copies(count: int) -> int:
    """Four more for every ten times as often: a word that is read more is written, and misspelled, more."""
    return max(FEWEST, round(4 * (log10(count) - 5)))


def words_to_learn(frequencies: Mapping[str, int], listed: Collection[str], size: int) -> Iterator[Wanted]:
    """The most frequent words, and those with a known misspelling, each as often as it should be misspelled."""
    chosen = set(nlargest(size, frequencies, key=frequencies.__getitem__)) | set(listed)
    for number, word in enumerate(sorted(chosen), start=1):
        yield Wanted(word, number, copies(frequencies[word]) if word in frequencies else FEWEST)


def without(pairs: Iterable[tuple[str, str]], held_out: Collection[str]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if key(pair[0]) not in held_out]


def write_data(folder: Path, corpus: CorpusFolder, held_out: Collection[str], made: Made) -> None:
    """train.tsv, valid.tsv, words.tsv (how often each word was misspelled), and what was taken out."""
    listed = list(Corpus([corpus.train]).pairs())
    kept = without(listed, held_out)
    frequencies = read_frequencies(fetch_lines(FREQUENCIES))
    wanted = list(words_to_learn(frequencies, {right for _, right in kept}, made.words))
    noise = NoisyPairs(wanted, Noise(learn_habits(kept, "codespell"), errors=made.errors), held_out)
    with new_folder(folder) as new:
        write_rows(new / "train.tsv", [*kept, *noise])
        write_rows(new / "valid.tsv", without(Corpus([corpus.valid]).pairs(), held_out))
        write_rows(new / "words.tsv", ((word.text, str(word.copies)) for word in wanted))
        removed = Removed(len(listed) - len(kept), noise.left_out)
        write_atomically(new / "removed.json", json.dumps(removed._asdict()).encode())


def check_no_leak(train: Path, held_out: Collection[str], testset: Path) -> None:
    """The data may have been made for another test set."""
    leaked = sum(key(wrong) in held_out for wrong, _ in Corpus([train]).pairs())
    if leaked:
        raise UserError(
            f"{train} holds {leaked:,} pairs whose misspelling {testset} asks for: it was made for another test set. "
            "Give another FOLDER"
        )


# --- Models --------------------------------------------------------------------------------------------------------


def train(name: str, folder: Path, minutes: float) -> Path:
    """The run of this name in the folder, trained unless it is there."""
    run = folder / name
    if run.exists():
        return run
    return weft.train(
        RECIPES[name],
        out=run,
        minutes=minutes,
        overrides=[f"data.{split}={inline([str(folder / 'data' / f'{split}.tsv')])}" for split in ("train", "valid")],
    )


def correct(translator: Translator, tests: Mapping[str, Sequence[Case]]) -> dict[str, list[list[str]]]:
    """For each case of each test the best outputs, best first."""
    return {
        test: [[one.text for one in made.alternatives] for made in translator.translate(case.wrong for case in cases)]
        for test, cases in tests.items()
    }


def first_word(outputs: Sequence[str], words: Collection[str]) -> str:
    """The first output that is a word; if none is, the first."""
    return next((output for output in outputs if output in words), outputs[0])


def count_right(cases: Sequence[Case], outputs: Iterable[str]) -> Share:
    """How many cases are right at once."""
    right = sum(output in case.right for case, output in zip(cases, outputs, strict=True))
    return Share(right, len(cases))


def score(
    run: Path, tests: Mapping[str, Sequence[Case]], words: Collection[str]
) -> Iterator[tuple[str, dict[str, Share]]]:
    """The rows of a model: what it says first; and what it says first of the words that there are."""
    made = correct(weft.load(run, best=BEST), tests)
    first = {test: count_right(tests[test], (best[0] for best in outputs)) for test, outputs in made.items()}
    listed = {
        test: count_right(tests[test], (first_word(best, words) for best in outputs)) for test, outputs in made.items()
    }
    yield run.name, first
    yield f"{run.name}, first of {BEST} that is a word", listed


# --- Report --------------------------------------------------------------------------------------------------------


def render(rows: Mapping[str, Mapping[str, Share]], tests: Mapping[str, Sequence[Case]]) -> str:
    """A table in Markdown: the share that is right at once, with its interval."""
    titles = ["model", *(f"{test}, {len(cases):,} misspellings" for test, cases in tests.items())]
    published = ["Norvig 2007, as published", f"{PUBLISHED:.0f} %", *[""] * (len(tests) - 1)]
    lines = [titles, ["---"] * len(titles), published]
    lines += [[name, *(shown(rights[test]) for test in tests)] for name, rights in rows.items()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def shown(share: Share) -> str:
    low, high = share.interval()
    return f"{100 * share.value():.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def as_record(share: Share) -> dict[str, float]:
    low, high = share.interval()
    return {"right": share.right, "cases": share.of, "share": share.value(), "low": low, "high": high}


def as_json(rows: Mapping[str, Mapping[str, Share]], removed: Removed) -> dict[str, Any]:
    models = {name: {test: as_record(share) for test, share in shares.items()} for name, shares in rows.items()}
    return {"removed": removed._asdict(), "models": models}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(
    testset: Annotated[Path, typer.Argument(help="norvig.com/spell-testset1.txt")],
    folder: Annotated[Path, typer.Argument(help="Where data and runs are kept; made if it is not there.")],
    runs: Annotated[list[Path] | None, typer.Argument(help="Trained models to score; else two are trained.")] = None,
    minutes: Annotated[float, typer.Option(min=0.1, help="Training of each model.")] = 25.0,
    words: Annotated[int, typer.Option(min=1, help="How many frequent words are misspelled.")] = 30_000,
    errors: Annotated[float, typer.Option(min=1.0, help="Mistakes in a word that is misspelled for training.")] = 1.3,
    json_file: JsonFile = None,
) -> None:
    """Train two models to correct spelling, and test them on misspellings that they have not seen."""
    norvig = read_testset(testset)
    corpus = get("codespell", folder / "codespell", say)
    tests = {"Norvig": norvig, "codespell": read_held_out_list(corpus.test)}
    held_out = {key(case.wrong) for cases in tests.values() for case in cases}
    data = folder / "data"
    if not data.exists():
        write_data(data, corpus, held_out, Made(words, errors))
    check_no_leak(data / "train.tsv", held_out, testset)
    removed = Removed(**json.loads((data / "removed.json").read_text("utf-8")))
    say(f"taken out of codespell's list: {removed.of_list:,} pairs; of generated ones: {removed.of_noise:,}")
    known = {word.text for word in read_words(read_lines(data / "words.tsv"), "words.tsv", copies=1)}
    rows: dict[str, dict[str, Share]] = {}
    for run in runs or [train(name, folder, minutes) for name in RECIPES]:
        rows.update(score(run, tests, known))
    print(render(rows, tests))
    write_json(json_file, as_json(rows, removed))


if __name__ == "__main__":
    run_command(main, "spelling")
