"""File-to-file translation with torch: `weft translate --backend torch` against OpenNMT-py and transformers.

From the root of the repository:

    python -m benchmarks.torch_file_to_file --data FOLDER --json torch.json     # Multi30k's files in FOLDER

All translate the first 20,000 lines of train.en with beam 5 and the same random weights of a Transformer-Tiny; every
output has exactly 20 tokens and EOS. (benchmarks.beam_speed shows that the outputs are then equal.) Every turn is a new
process, timed as a whole. Weft reads and writes text; the peers read and write ids, sorted by length beforehand, with
the best of several batch sizes, found on a part of the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.beam_search.engines import Engine, engines
from benchmarks.beam_search.job import Batching, Job, Shape, read_answer
from benchmarks.beam_search.sentences import RECIPE, Sentences
from benchmarks.beam_search.weft_model import Weights, draw_weights, fixed_length_settings, save
from benchmarks.beam_speed import installed
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.file_translation.process_timing import (
    TimedProgram,
    Turn,
    fastest,
    first_lines,
    run_in_turns,
    summarize_turns,
    time_process_in,
    translate,
)
from benchmarks.machine import machine
from benchmarks.markdown import table
from benchmarks.peers.environments import FOLDER
from benchmarks.summary_statistics import format_range

from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.text.text_config import train_tokenizers
from weft.text.tokenizer import Tokenizer, is_tokenizer

BEAM, TOKENS = 5, 20
SHAPE = Shape()
PEERS = ("OpenNMT-py", "transformers")
BATCHINGS = {
    batching.name: batching
    for batching in (Batching(32, "sentences"), Batching(128, "sentences"), Batching(4096, "tokens"))
}
TRIED = 20  # a twentieth of the lines finds the best batch size
SOURCE = "train.en"


class Work(NamedTuple):
    """The lines to translate, also as rows of ids, and the weights that all engines use."""

    source: Path
    rows: list[list[int]]  # longest first
    tokenizer: Tokenizer
    weights: Weights
    model: Path
    threads: int

    def weft(self) -> Turn:
        settings = [word for setting in fixed_length_settings(TOKENS, BEAM) for word in ("--set", setting)]
        output = self.source.with_name("weft.txt")
        return translate(self.model, self.source, output, ["--backend", "torch", *settings], self.threads)

    def peer(self, engine: Engine, python: Path, rows: Sequence[list[int]], batching: Batching) -> Turn:
        """Time a peer from process start to end."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            engine.write_weights(folder, self.weights, SHAPE, self.tokenizer)
            self.job(rows, batching).write(folder)
            turn = time_process_in(folder, engine.label, engine.command(python), self.threads)
            if len(read_answer(folder).outputs) != len(rows):
                raise UserError(f"{engine.label}: the number of output lines differs from the number of input lines")
        return turn

    def job(self, rows: Sequence[list[int]], batching: Batching) -> Job:
        return Job(
            shape=SHAPE,
            vocabulary=self.tokenizer.size,
            batching=batching,
            batches=Sentences(list(rows), self.tokenizer).batches(batching),
            beam=BEAM,
            tokens=TOKENS,
            workers=1,
            threads=self.threads,
            pad=PAD,
            begin=BOS,
            end=EOS,
            unknown=NUM_SPECIAL_TOKENS,
            warm_up=0,
        )


def prepare(data: Path, count: int, pieces: int, folder: Path, threads: int) -> Work:
    """Train the tokenizer of the Multi30k recipe, and write the lines and a model with random weights."""
    recipe = load_recipe(RECIPE, [f"data.folder={data}", f"text.source={{type: bpe, vocab_size: {pieces}}}"])
    tokenizer, _ = train_tokenizers(recipe.text, recipe.data.splits()["train"].pairs(), recipe.train.seed)
    if not is_tokenizer(tokenizer):
        raise UserError(f"{RECIPE}: the source is not text")
    source, model = folder / "source.txt", folder / "model"
    rows = [row.tolist() for row in tokenizer.encode_rows(first_lines(data / SOURCE, count, source)).split()]
    weights = draw_weights(SHAPE, tokenizer)
    save(model, SHAPE, tokenizer, weights, "pre")
    return Work(source, sorted(rows, key=len, reverse=True), tokenizer, weights, model, threads)


def measure(work: Work, found: Mapping[Engine, Path], rounds: int) -> dict[str, Any]:
    """Measure Weft, and each peer with its best batch size."""
    best = {engine: best_batching(work, engine, python) for engine, python in found.items()}
    programs: dict[str, TimedProgram] = {"Weft": work.weft}
    for engine, python in found.items():
        programs[engine.label] = partial(work.peer, engine, python, work.rows, best[engine])
    turns, count = run_in_turns(programs, rounds), len(work.rows)
    figures: dict[str, Any] = {"Weft": summarize_turns(turns["Weft"], count, None)}
    for engine in found:
        summary = summarize_turns(turns[engine.label], count, turns["Weft"])
        figures[engine.label] = summary | {"batches": best[engine].name}
    return figures


def best_batching(work: Work, engine: Engine, python: Path) -> Batching:
    """Try all batch sizes on every TRIED-th row, which covers all lengths."""
    log(f"{engine.label}: finding its best batch size")
    part = work.rows[::TRIED]
    programs = {name: partial(work.peer, engine, python, part, batching) for name, batching in BATCHINGS.items()}
    return BATCHINGS[fastest(programs)]


def render(facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    heading = (
        "{lines:,} lines of {source}, beam {beam}, outputs of {tokens} tokens; {cpu}, {cores} cores, "
        "{threads} threads, torch {torch}; rounds: {rounds}"
    )
    ours, *peers = figures.items()
    rows = [["Weft", "", format_range(ours[1]["lines_per_second"], ",.1f"), "", ""]]
    rows += [
        [
            name,
            peer["batches"],
            format_range(peer["lines_per_second"], ",.1f"),
            format_range(peer["ratio"], ".2f"),
            format_range(peer["work_ratio"], ".2f"),
        ]
        for name, peer in peers
    ]
    header = ["", "batches of", "lines/s", "Weft / it", "by CPU time"]
    return "\n".join([heading.format(**facts), "", table(header, rows)])


def main(
    data: Annotated[Path, typer.Option(help="Folder of Multi30k: train.en, train.de and its test set.")],
    lines: Annotated[int, typer.Option(min=1, help="Number of lines.")] = 20_000,
    vocabulary: Annotated[int, typer.Option(min=300, help="Vocabulary size of the joint BPE.")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1)] = 2,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure file-to-file translation with torch."""
    found = installed([engine for engine in engines(threads) if engine.name in PEERS], environments)
    with TemporaryDirectory() as folder:
        work = prepare(data.absolute(), lines, vocabulary, Path(folder), threads)
        figures = measure(work, found, rounds)
    facts = machine() | {"threads": threads, "lines": lines, "source": SOURCE, "rounds": rounds}
    facts |= {"beam": BEAM, "tokens": TOKENS}
    print(render(facts, figures))
    write_json(json_file, {"setting": facts, "figures": figures})


if __name__ == "__main__":
    run_command(main, "torch_file_to_file")
