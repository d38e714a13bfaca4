"""File-to-file translation with CTranslate2: `weft translate` against a minimal script, and start-up time.

From the root of the repository, with a model trained on Multi30k:

    python -m benchmarks.file_to_file --model RUN --data FOLDER --json files.json

Speed: the first 20,000 lines of train.en, beam 5, in each precision that the CPU supports. Every turn is a new process,
timed as a whole. Weft reads and writes text and converts the model first. The script
(file_translation/ctranslate2_script.py) has a converted model, reads and writes tokens, and uses the best of several
batch sizes, found on a part of the lines. Both use one single-threaded worker per core.

Start-up: one sentence, from the start of the process to its end, compared with `import torch`, which this backend does
not need.

Agreement: the share of test set lines equal to those of the torch backend, and BLEU, with beam 5 and greedy search.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, get_args

import ctranslate2
import typer
from benchmarks.beam_search.ctranslate2 import PINS
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.file_translation import ctranslate2_script
from benchmarks.file_translation.process_timing import (
    TimedProgram,
    Turn,
    fastest,
    first_lines,
    run_in_turns,
    summarize_turns,
    time_process,
    translate,
)
from benchmarks.machine import machine
from benchmarks.markdown import table
from benchmarks.peers.environments import FOLDER, python_of
from benchmarks.summary_statistics import format_range

from weft.checkpoints.model_folder import ModelFolder, read_model_folder
from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.inference.capabilities import CTranslate2Precision
from weft.inference.ctranslate2_backend import int8_weight_bits
from weft.inference.evaluation import evaluate_file
from weft.inference.export.ctranslate2_converter import convert_to_ctranslate2, token_names
from weft.metrics.scores import MetricOptions

BEAM = 5
SOURCE, TEST, REFERENCE = "train.en", "test_2016_flickr.en", "test_2016_flickr.de"
BATCHINGS = ((16, "examples"), (32, "examples"), (64, "examples"), (128, "examples"), (512, "tokens"), (2048, "tokens"))
TRIED = 10  # a tenth of the lines finds the best batch size
HAND = Path(ctranslate2_script.__file__)
WITHOUT_TORCH = """
import sys
from weft.cli.main import main
try:
    main()
finally:
    sys.exit("torch was imported" if "torch" in sys.modules else None)
"""


class Work(NamedTuple):
    """The model to measure, and the folder for all files."""

    model: Path
    described: ModelFolder
    folder: Path
    python: Path  # of CTranslate2's environment
    threads: int

    def tokens(self, lines: Sequence[str], name: str) -> Path:
        """Write the tokens of each line for the script, truncated to the model's maximum source length."""
        file, names = self.folder / name, token_names(self.described.source_tokenizer)
        rows = [
            row[: self.described.max_source_length].tolist() for row in self.described.source.encode_rows(lines).split()
        ]
        file.write_text(
            "".join(ctranslate2_script.SEPARATOR.join(names[n] for n in row) + "\n" for row in rows), encoding="utf-8"
        )
        return file

    def converted(self, precision: CTranslate2Precision) -> Path:
        folder = self.folder / precision
        folder.mkdir()
        convert_to_ctranslate2(self.described, folder, precision, bits=int8_weight_bits())
        return folder

    def hand(self, model: Path, tokens: Path, precision: CTranslate2Precision, batching: tuple[int, str]) -> Turn:
        output = self.folder / "by-hand.txt"
        files = [str(file) for file in (model, tokens, output)]
        options = [precision, str(BEAM), str(self.threads), *map(str, batching), str(self.longest(tokens))]
        return time_process("the script", [str(self.python), "-I", str(HAND), *files, *options], self.threads)

    def longest(self, tokens: Path) -> int:
        """Return the maximum output length of Weft over all lines."""
        with tokens.open(encoding="utf-8", newline="\n") as file:
            return max(self.described.max_output_length(line.count(ctranslate2_script.SEPARATOR) + 2) for line in file)

    def weft(self, source: Path, precision: CTranslate2Precision, beam: int = BEAM) -> Turn:
        options = ["--backend", "ctranslate2", "--precision", precision, "--beam", str(beam)]
        return translate(self.model, source, self.folder / "weft.txt", options, self.threads)


# --- Measurement ---------------------------------------------------------------------------------------------------


def speeds(work: Work, file: Path, count: int, rounds: int) -> dict[str, Any]:
    """Measure Weft and the script in each supported precision."""
    source = work.folder / "source.txt"
    lines = first_lines(file, count, source)
    tokens, part = work.tokens(lines, "tokens.txt"), work.tokens(lines[: max(1, len(lines) // TRIED)], "part.txt")
    found: dict[str, Any] = {}
    for precision in precisions():
        model = work.converted(precision)
        best = best_batching(work, model, part, precision)
        programs: dict[str, TimedProgram] = {
            "weft": partial(work.weft, source, precision),
            "by hand": partial(work.hand, model, tokens, precision, best),
        }
        turns = run_in_turns(programs, rounds)
        ours = summarize_turns(turns["weft"], len(lines), None)
        theirs = summarize_turns(turns["by hand"], len(lines), turns["weft"]) | {"batches": f"{best[0]} {best[1]}"}
        found[precision] = {"weft": ours, "by hand": theirs}
    return found


def precisions() -> list[CTranslate2Precision]:
    """Return the precisions that this CPU supports, the smallest first."""
    every: tuple[CTranslate2Precision, ...] = get_args(CTranslate2Precision)
    supported = ctranslate2.get_supported_compute_types("cpu")
    for precision in every:
        if precision not in supported:
            log(f"{precision} is left out: this CPU does not support it")
    return [precision for precision in every[::-1] if precision in supported]


def best_batching(work: Work, model: Path, part: Path, precision: CTranslate2Precision) -> tuple[int, str]:
    programs = {f"{size} {unit}": (size, unit) for size, unit in BATCHINGS}
    log(f"{precision}: finding the best batch size of the script")
    return programs[
        fastest({name: partial(work.hand, model, part, precision, batching) for name, batching in programs.items()})
    ]


def start_up(work: Work, file: Path, rounds: int) -> dict[str, Any]:
    """Time the translation of one sentence, which must not import torch, and `import torch` alone."""
    source = work.folder / "sentence.txt"
    first_lines(file, 1, source)
    arguments = [str(work.model), str(source), "--output", str(work.folder / "one.txt"), "--backend", "ctranslate2"]
    command = [sys.executable, "-c", WITHOUT_TORCH, "translate", *arguments]
    programs: dict[str, TimedProgram] = {
        "weft translate": partial(time_process, "weft translate", command, work.threads),
        "import torch": partial(time_process, "import torch", [sys.executable, "-c", "import torch"], work.threads),
    }
    return {name: summarize_turns(turns, 1, None)["seconds"] for name, turns in run_in_turns(programs, rounds).items()}


def agreement(work: Work, data: Path) -> list[dict[str, Any]]:
    """Compare the outputs of each precision on the test set with those of the torch backend."""
    found: list[dict[str, Any]] = []
    for beam in (BEAM, 1):
        expected: list[str] = []
        for engine in (["--backend", "torch"], *(["--precision", precision] for precision in precisions())):
            output = work.folder / "test.txt"
            translate(work.model, data / TEST, output, [*engine, "--beam", str(beam)], work.threads)
            lines = list(read_lines(output))
            expected = expected or lines
            same = sum(line == other for line, other in zip(lines, expected, strict=True)) / len(lines)
            (score,) = evaluate_file(output, [data / REFERENCE], ["bleu"], MetricOptions())
            found.append({"beam": beam, "engine": engine[1], "same": same, "bleu": score.value})
    return found


# --- Report --------------------------------------------------------------------------------------------------------


def render(facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    heading = "{lines:,} lines of {source}, beam {beam}; {cpu}, {cores} cores, {threads} workers; rounds: {rounds}"
    header = [
        "precision",
        "weft translate, lines/s",
        "by hand",
        "batches of the script",
        "weft / by hand",
        "by CPU time",
    ]
    rows = [
        [
            precision,
            format_range(both["weft"]["lines_per_second"], ",.0f"),
            format_range(both["by hand"]["lines_per_second"], ",.0f"),
            both["by hand"]["batches"],
            format_range(both["by hand"]["ratio"], ".3f"),
            format_range(both["by hand"]["work_ratio"], ".3f"),
        ]
        for precision, both in figures["speed"].items()
    ]
    waits = [[name, format_range(seconds, ".2f")] for name, seconds in figures["start-up"].items()]
    agreement_rows = [
        [str(result["beam"]), result["engine"], f"{result['same']:.2%}", f"{result['bleu']:.2f}"]
        for result in figures["agreement"]
    ]
    return "\n".join(
        [
            heading.format(**facts),
            "",
            table(header, rows),
            table(["from a cold start", "seconds"], waits),
            table(["beam", "engine or precision", "lines equal to torch", "BLEU"], agreement_rows),
        ]
    )


def main(
    model: Annotated[Path, typer.Option(help="Run or model folder of a Transformer trained on Multi30k.")],
    data: Annotated[Path, typer.Option(help="Folder of Multi30k: train.en and the test set.")],
    lines: Annotated[int, typer.Option(min=1, help="Number of lines.")] = 20_000,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure file-to-file translation with CTranslate2."""
    for name in (SOURCE, TEST, REFERENCE):
        if not (data / name).is_file():
            raise UserError(f"{data / name}: there is no such file; give the folder of Multi30k's files")
    place = model.absolute()
    described, python = read_model_folder(place), python_of(PINS, environments)
    with TemporaryDirectory() as name:
        work = Work(place, described, Path(name), python, threads)
        figures = {
            "speed": speeds(work, data / SOURCE, lines, rounds),
            "start-up": start_up(work, data / SOURCE, rounds),
            "agreement": agreement(work, data.absolute()),
        }
    facts = machine() | {"threads": threads, "lines": lines, "source": SOURCE, "beam": BEAM, "rounds": rounds}
    print(render(facts, figures))
    write_json(json_file, {"setting": facts, "figures": figures})


if __name__ == "__main__":
    run_command(main, "file_to_file")
