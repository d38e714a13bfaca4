"""From file to file with torch: `weft translate --backend torch` beside OpenNMT-py and Hugging Face's generate.

From the root of the repository:

    python -m benchmarks.torch_file_to_file --data FOLDER --json torch.json     # Multi30k's files in FOLDER

All translate the first 20,000 lines of train.en with a beam of 5 and a Transformer-Tiny of the same weights, which are
drawn, not trained; every output is made to have 20 tokens and the end mark. (benchmarks.beam_speed shows that they then
say the same.) Each is started anew for every turn, and its time is that of the whole process: Weft reads text and
writes text; the peers read ids and write ids, sorted by length beforehand, in the best of several batch sizes, which a
part of the lines has found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer
from benchmarks.beam_speed import installed
from benchmarks.beams.engines import Engine, engines
from benchmarks.beams.job import Batching, Job, Shape, read_answer
from benchmarks.beams.ours import Weights, draw_weights, forced, save
from benchmarks.beams.sentences import RECIPE, Sentences
from benchmarks.ending import JsonFile, run_command, write_json
from benchmarks.files.clock import Side, Turn, fastest, figures_of, in_turns, timed_in
from benchmarks.files.translating import first_lines, translate
from benchmarks.machine import machine
from benchmarks.page import table
from benchmarks.peers.environments import FOLDER
from benchmarks.spreads import between
from benchmarks.telling import tell

from weft.config.recipe import load_recipe
from weft.core.codec import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.core.errors import UserError
from weft.text.text_config import train_tokenizers
from weft.text.tokenizer import Tokenizer, is_tokenizer

BEAM, TOKENS = 5, 20
SHAPE = Shape()
PEERS = ("OpenNMT-py", "transformers")
BATCHINGS = {one.name: one for one in (Batching(32, "sentences"), Batching(128, "sentences"), Batching(4096, "tokens"))}
TRIED = 20  # a twentieth of the lines finds the best batch size
SOURCE = "train.en"


class Work(NamedTuple):
    """What is translated: a file of lines, and the same as rows of ids; with the same weights by all."""

    source: Path
    rows: list[list[int]]  # longest first
    tokenizer: Tokenizer
    weights: Weights
    model: Path
    threads: int

    def weft(self) -> Turn:
        settings = [word for setting in forced(TOKENS, BEAM) for word in ("--set", setting)]
        output = self.source.with_name("weft.txt")
        return translate(self.model, self.source, output, ["--backend", "torch", *settings], self.threads)

    def peer(self, engine: Engine, python: Path, rows: Sequence[list[int]], batching: Batching) -> Turn:
        """From the start of a process to its end."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            engine.write_weights(folder, self.weights, SHAPE, self.tokenizer)
            self.job(rows, batching).write(folder)
            turn = timed_in(folder, engine.label, engine.command(python), self.threads)
            if len(read_answer(folder).outputs) != len(rows):
                raise UserError(f"{engine.label} has lost lines")
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
    """The tokenizer is learned from the training set, as a recipe of Multi30k has it."""
    recipe = load_recipe(RECIPE, [f"data.folder={data}", f"text.source={{type: bpe, vocab_size: {pieces}}}"])
    tokenizer, _ = train_tokenizers(recipe.text, recipe.data.splits()["train"].pairs(), recipe.train.seed)
    if not is_tokenizer(tokenizer):
        raise UserError(f"{RECIPE}: reads no text")
    source, model = folder / "source.txt", folder / "model"
    rows = [row.tolist() for row in tokenizer.encode_rows(first_lines(data / SOURCE, count, source)).split()]
    weights = draw_weights(SHAPE, tokenizer)
    save(model, SHAPE, tokenizer, weights, "pre")
    return Work(source, sorted(rows, key=len, reverse=True), tokenizer, weights, model, threads)


def measure(work: Work, found: Mapping[Engine, Path], rounds: int) -> dict[str, Any]:
    """Each peer with its best batches."""
    best = {engine: best_batching(work, engine, python) for engine, python in found.items()}
    sides: dict[str, Side] = {"Weft": work.weft}
    for engine, python in found.items():
        sides[engine.label] = partial(work.peer, engine, python, work.rows, best[engine])
    turns, count = in_turns(sides, rounds), len(work.rows)
    figures: dict[str, Any] = {"Weft": figures_of(turns["Weft"], count, None)}
    for engine in found:
        told = figures_of(turns[engine.label], count, turns["Weft"])
        figures[engine.label] = told | {"batches": best[engine].name}
    return figures


def best_batching(work: Work, engine: Engine, python: Path) -> Batching:
    """Every so-manieth row, so that all lengths are among them."""
    tell(f"{engine.label}: which batch size is its best")
    part = work.rows[::TRIED]
    sides = {name: partial(work.peer, engine, python, part, one) for name, one in BATCHINGS.items()}
    return BATCHINGS[fastest(sides)]


def render(facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    heading = (
        "{lines:,} lines of {source}, beam {beam}, outputs of {tokens} tokens; {cpu}, {cores} cores, "
        "{threads} threads, torch {torch}; rounds: {rounds}"
    )
    ours, *peers = figures.items()
    rows = [["Weft", "", between(ours[1]["lines_per_second"], ",.1f"), "", ""]]
    rows += [
        [
            name,
            one["batches"],
            between(one["lines_per_second"], ",.1f"),
            between(one["ratio"], ".2f"),
            between(one["work_ratio"], ".2f"),
        ]
        for name, one in peers
    ]
    header = ["", "batches of", "lines/s", "Weft / it", "the same by processor time"]
    return "\n".join([heading.format(**facts), "", table(header, rows)])


def main(
    data: Annotated[Path, typer.Option(help="Folder of Multi30k: train.en, train.de and its test set.")],
    lines: Annotated[int, typer.Option(min=1, help="How many are translated.")] = 20_000,
    vocabulary: Annotated[int, typer.Option(min=300, help="Pieces of the joint BPE.")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1)] = 2,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    environments: Annotated[Path, typer.Option(help="Folder of the peers' environments.")] = FOLDER,
    json_file: JsonFile = None,
) -> None:
    """Measure the torch engine from file to file."""
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
