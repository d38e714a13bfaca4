"""Spelling correction on a test set of Norvig's: letters to letters, and letters to whole words.

From the root of the repository; FOLDER is made, with the data and the runs, and used again if it is there:

    python -m benchmarks.spelling TESTSET FOLDER --minutes 25 --json spelling.json
    python -m benchmarks.spelling TESTSET FOLDER RUN...          # models that are trained already

TESTSET is norvig.com/spell-testset1.txt, with lines such as "receipt: receit reciet": 270 misspellings. Norvig's own
corrector, which looks for the most frequent word at most two edits away, is right at once for 75 % of them ("How to
Write a Spelling Corrector", norvig.com/spell-correct.html). The list of misspellings that codespell holds out is the
second test.

The models learn from the rest of codespell's list, and from misspellings of frequent words that are made in its
manner (`weft noise --learn-from`), of frequent words more. Norvig's corrector knows a list of words; so the model that
writes letters is scored a second time with `translate.word_list`, the list of the words that it was trained on.
Misspellings of the tests are taken out of both. Frequencies are those of symspellpy's list (MIT): Google Books n-grams
(CC BY 3.0) of the words in SCOWL. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.summary_statistics import Proportion

import weft
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.yaml_files import dump_yaml_inline
from weft.core.errors import UserError
from weft.core.files import new_folder, write_atomically
from weft.data.corpus import Corpus
from weft.data.datasets.catalog import CODESPELL, DatasetWheel
from weft.data.datasets.download import DatasetFolder, download_dataset, download_lines, write_tsv
from weft.data.error_models import learn_error_model
from weft.data.text_files import read_lines
from weft.data.typos import CleanLine, TypoGenerator, TypoPairs, casefold_key
from weft.inference.translation import Translation
from weft.inference.translator import Translator

RECIPES = {"letters": RECIPES_FOLDER / "spelling.yaml", "words": RECIPES_FOLDER / "spelling-words.yaml"}
FREQUENCIES = DatasetWheel(
    package="symspellpy",
    version="6.9.0",
    sha256="b6dba96275fdbedc240491854160bbe596dda930f2d58567ad55faf82a4e4b43",
    megabytes=3,
    member="symspellpy/frequency_dictionary_en_82_765.txt",
)
WORDS = "words.txt"
PUBLISHED = 75.0  # percent of TESTSET, by Norvig's corrector
BEAM = 20  # where a list of words holds the search: most of the likeliest beginnings lead to no word
FEWEST = 8  # copies of a rare word
CLEAN = 0.02  # of the copies are right, so that the models have seen right words; the tests have none


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
    """20 of a word that was counted a million times: what is read more is written, and misspelled, more."""
    return max(FEWEST, round(20 * math.pow(count / 1e6, 0.4)))


def words_to_learn(frequencies: Mapping[str, int], listed: Collection[str], size: int) -> Iterator[CleanLine]:
    """The most frequent words, and those with a known misspelling, each as often as it should be misspelled."""
    chosen = set(nlargest(size, frequencies, key=frequencies.__getitem__)) | set(listed)
    for number, word in enumerate(sorted(chosen), start=1):
        yield CleanLine(word, number, copies(frequencies[word]) if word in frequencies else FEWEST)


def without(pairs: Iterable[tuple[str, str]], held_out: Collection[str]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if casefold_key(pair[0]) not in held_out]


def write_data(folder: Path, corpus: DatasetFolder, held_out: Collection[str], made: Made) -> None:
    """train.tsv, valid.tsv, all right words, and what was taken out."""
    listed = list(Corpus([corpus.train]).pairs())
    kept = without(listed, held_out)
    frequencies = read_frequencies(download_lines(FREQUENCIES))
    words = list(words_to_learn(frequencies, {right for _, right in kept}, made.words))
    noise = TypoPairs(
        words, TypoGenerator(learn_error_model(kept, "codespell"), errors=made.errors, clean=CLEAN), held_out
    )
    with new_folder(folder) as new:
        write_tsv(new / "train.tsv", [*kept, *noise])
        write_tsv(new / "valid.tsv", without(Corpus([corpus.valid]).pairs(), held_out))
        write_tsv(new / WORDS, ([word.text] for word in words))
        removed = Removed(len(listed) - len(kept), noise.excluded)
        write_atomically(new / "removed.json", json.dumps(removed._asdict()).encode())


def check_no_leak(train: Path, held_out: Collection[str], testset: Path) -> None:
    """The data may have been made for another test set."""
    leaked = sum(casefold_key(wrong) in held_out for wrong, _ in Corpus([train]).pairs())
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
        overrides=[
            f"data.{split}={dump_yaml_inline([str(folder / 'data' / f'{split}.tsv')])}" for split in ("train", "valid")
        ],
    )


def writes_letters(translator: Translator) -> bool:
    """And not whole words."""
    (pieces,) = translator.trained.target_tokenizer.encode(["the"])
    return len(pieces) == len("the")


def count_right(cases: Sequence[Case], outputs: Iterable[Translation]) -> Proportion:
    """How many cases are right at once."""
    right = sum(output.text in case.right for case, output in zip(cases, outputs, strict=True))
    return Proportion(right, len(cases))


def count_all(translator: Translator, tests: Mapping[str, Sequence[Case]]) -> dict[str, Proportion]:
    return {test: count_right(cases, translator.stream(case.wrong for case in cases)) for test, cases in tests.items()}


def score(run: Path, tests: Mapping[str, Sequence[Case]], words: Path) -> Iterator[tuple[str, dict[str, Proportion]]]:
    """The rows of a model: as it is; and if it writes letters, held to the words of the file."""
    translator = weft.load(run)
    yield run.name, count_all(translator, tests)
    if writes_letters(translator):
        held = weft.load(run, beam=BEAM, overrides=[f"translate.word_list={dump_yaml_inline(str(words))}"])
        yield f"{run.name}, held to a list of words, beam {BEAM}", count_all(held, tests)


# --- Report --------------------------------------------------------------------------------------------------------


def render(rows: Mapping[str, Mapping[str, Proportion]], tests: Mapping[str, Sequence[Case]]) -> str:
    """A table in Markdown: the share that is right at once, with its interval."""
    titles = ["model", *(f"{test}, {len(cases):,} misspellings" for test, cases in tests.items())]
    published = ["Norvig 2007, as published", f"{PUBLISHED:.0f} %", *[""] * (len(tests) - 1)]
    lines = [titles, ["---"] * len(titles), published]
    lines += [[name, *(shown(rights[test]) for test in tests)] for name, rights in rows.items()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def shown(share: Proportion) -> str:
    low, high = share.interval()
    return f"{100 * share.value():.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def as_record(share: Proportion) -> dict[str, float]:
    low, high = share.interval()
    return {"right": share.right, "cases": share.total, "share": share.value(), "low": low, "high": high}


def as_json(rows: Mapping[str, Mapping[str, Proportion]], removed: Removed) -> dict[str, Any]:
    models = {name: {test: as_record(share) for test, share in shares.items()} for name, shares in rows.items()}
    return {"removed": removed._asdict(), "models": models}


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
    corpus = download_dataset(CODESPELL, folder / "codespell", log)
    tests = {"Norvig": norvig, "codespell": read_held_out_list(corpus.test)}
    held_out = {casefold_key(case.wrong) for cases in tests.values() for case in cases}
    data = folder / "data"
    if not data.exists():
        write_data(data, corpus, held_out, Made(words, errors))
    check_no_leak(data / "train.tsv", held_out, testset)
    removed = Removed(**json.loads((data / "removed.json").read_text("utf-8")))
    log(f"taken out of codespell's list: {removed.of_list:,} pairs; of generated ones: {removed.of_noise:,}")
    rows: dict[str, dict[str, Proportion]] = {}
    for run in runs or [train(name, folder, minutes) for name in RECIPES]:
        rows.update(score(run, tests, data / WORDS))
    print(render(rows, tests))
    write_json(json_file, as_json(rows, removed))


if __name__ == "__main__":
    run_command(main, "spelling")
