"""Figures of all speed benchmarks as rows of one table, each comparing Weft with one peer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from benchmarks.markdown import table
from benchmarks.summary_statistics import Summary, format_range, summarize

Figures: TypeAlias = Mapping[str, Any]  # the JSON of a benchmark

BATCHINGS = ("1", "128")  # shown batch sizes of beam search
HEADER = ("", "peer", "Weft", "peer speed", "ratio", "Weft, of the limit", "Weft, MiB", "peer, MiB")
TOKENS, LINES = "tokens_per_second", "lines_per_second"
UNITS = {TOKENS: "tokens/s", LINES: "lines/s"}


class Row(NamedTuple):
    """speed: key of the speed in both figures; share: of the speed limit."""

    what: str
    peer: str
    ours: Figures
    theirs: Figures
    ratio: Summary
    speed: str = TOKENS
    share: Summary | None = None

    def cells(self) -> list[str]:
        return [
            self.what,
            self.peer,
            f"{self.ours[self.speed]['median']:,.0f} {UNITS[self.speed]}",
            f"{self.theirs[self.speed]['median']:,.0f}",
            format_range(self.ratio, ".2f"),
            "" if self.share is None else f"{self.share['median']:.0%}",
            format_mib(self.ours.get("peak_memory_mib")),
            format_mib(self.theirs.get("peak_memory_mib")),
        ]


def format_mib(memory: float | None) -> str:
    return "" if memory is None else f"{memory:,.0f}"


def torch_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.training_speed."""
    yield Row(what, "plain torch", figures["weft"], figures["torch"], figures["ratio"])


def toolkit_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.peer_speed."""
    ours = [name for name in figures if name.startswith("weft")]
    for peer in figures:
        for our in ours:
            if peer not in ours:
                label = what + our.removeprefix("weft").replace(" ", ", ")
                ratio, share = figures[peer]["ratios"][our], figures[our]["share"]
                yield Row(label, peer, figures[our], figures[peer], ratio, share=share)


def precision_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.precision."""
    full = figures["float32"]
    for precision, side in figures.items():
        if precision != "float32":
            label = f"{what}, {precision}, at {side['times_loss']:.2%} of the loss"
            yield Row(label, "Weft in float32", side, full, side["times_first"])


def student_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.student_speed."""
    teacher, *others = figures["systems"]
    for system in others:
        label = f"{what}: {system_label(system)}"
        ratio = summarize([slow / fast for slow, fast in zip(teacher["seconds"], system["seconds"], strict=True)])
        ours, theirs = (
            {LINES: summarize([figures["count"] / time for time in side["seconds"]])} for side in (system, teacher)
        )
        yield Row(label, system_label(teacher), ours, theirs, ratio, LINES)


def system_label(system: Figures) -> str:
    """Return, for example, "student, greedy, ctranslate2, int8 (BLEU 38.1)"."""
    bleu = next(score["value"] for score in system["scores"] if score["name"] == "bleu")
    return f"{system['model']}, {system['search']}, {system['backend']} (BLEU {bleu:.1f})"


def beam_search_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.beam_speed."""
    for batching in BATCHINGS:
        ours = figures["Weft"][batching]
        for engine, batchings in figures.items():
            theirs = batchings[batching]
            if theirs["ratio"] is not None:
                yield Row(f"{what}, batches of {batching}", engine, ours, theirs, theirs["ratio"])


def ctranslate2_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.file_to_file."""
    for precision, both in figures["speed"].items():
        ours, theirs = both["weft"], both["by hand"]
        yield Row(f"{what}, {precision}", "a script by hand", ours, theirs, theirs["ratio"], LINES)


def torch_file_rows(what: str, figures: Figures) -> Iterator[Row]:
    """Return the rows of benchmarks.torch_file_to_file."""
    for peer, theirs in figures.items():
        if theirs["ratio"] is not None:
            yield Row(what, peer, figures["Weft"], theirs, theirs["ratio"], LINES)


def render(facts: Mapping[str, Any], rows: Iterable[Row]) -> str:
    """Return the table, followed by a description of the machine."""
    note = "{cpu}, {cores} cores, {threads} threads, torch {torch}, Python {python}; data: {data}.\n".format(**facts)
    return table(HEADER, [row.cells() for row in rows]) + "\n" + note
