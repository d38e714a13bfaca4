"""Searches on the same lines of Multi30k with the same models: BLEU with its interval, chrF, length, time, probability.

From the root of the repository, with runs of the recipes multi30k-de-en-*:

    python -m benchmarks.searches FOLDER RUN...                            # the validation set, all searches
    python -m benchmarks.searches FOLDER RUN... --lines 100 --searches greedy,beam-5,mbr-chrf
    python -m benchmarks.searches FOLDER RUN... --split test --page docs/search.md --json searches.json

Everything runs in one process, lower-cased. Intervals hold 95 % of the scores of 1,000 samples of the lines; p
is that of approximate randomization (Riezler & Maxwell 2005) for the difference in BLEU to the first search. Length is
output words per reference word. Seconds are those of all lines, without loading. Sampling uses a single seed. The last
column is the share of outputs with at least the log-probability of the greedy output; all other lines are in the JSON
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.machine import machine
from benchmarks.markdown import read_page, write_page
from benchmarks.multi30k import read_split
from benchmarks.search_comparison.results import Row, load_warmed_up, rows_of, run_search
from benchmarks.search_comparison.search_settings import parse_searches
from benchmarks.search_comparison.tables import as_json, markdown
from benchmarks.training_rounds import Threads, use_threads

from weft.metrics.references import system_names

Split: TypeAlias = Literal["valid", "test"]
FILES: Mapping[Split, str] = {"valid": "val", "test": "test_2016_flickr"}


def measure_searches(
    run: Path, searches: Sequence[str], sources: Sequence[str], references: Sequence[str]
) -> list[Row]:
    """Run each search with one model."""
    found = {}
    for search in searches:
        found[search] = run_search(run, search, sources)
        log(f"{run}: {search}: {found[search].seconds:.1f} seconds")
    return rows_of(found, references)


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of Multi30k's files, such as val.de and val.en.")],
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    split: Annotated[Split, typer.Option(help="Use the test set only for final figures.")] = "valid",
    lines: Annotated[int | None, typer.Option(min=1, help="Number of lines to translate. Default: all.")] = None,
    searches: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME,...", help="Comma-separated searches, such as greedy,beam-5. Default: all."),
    ] = None,
    source: Annotated[str, typer.Option(help="Source language.")] = "de",
    target: Annotated[str, typer.Option(help="Target language.")] = "en",
    threads: Threads = None,
    page: Annotated[Path | None, typer.Option(help="Replace the tables in this page.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Compare searches on a split of Multi30k."""
    names, labels = parse_searches(searches), system_names(runs)
    if page is not None:
        read_page(page)  # fail before the measurements, not after them
    sources, references = (side[:lines] for side in read_split(folder, FILES[split], source, target))
    use_threads(threads)
    for run in runs:
        for name in names:
            load_warmed_up(run, name, sources[0])
    found = {label: measure_searches(run, names, sources, references) for label, run in zip(labels, runs, strict=True)}
    facts = machine() | {"split": split, "lines": len(sources), "source": source, "target": target}
    figures = markdown(found, facts)
    print(figures)
    if page is not None:
        write_page(page, figures)
    write_json(json_file, as_json(found, facts))


if __name__ == "__main__":
    run_command(main, "searches")
