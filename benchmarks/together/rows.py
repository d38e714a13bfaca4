"""The figures of several benchmarks as rows of one table: what was done, Weft beside one peer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from benchmarks.page import table
from benchmarks.spreads import Spread, between, spread

Figures: TypeAlias = Mapping[str, Any]  # as a benchmark writes them

BATCHINGS = ("1", "128")  # sentences at once, of those that decoding was measured with
HEADER = ("", "peer", "Weft", "peer speed", "ratio", "Weft, of the limit", "Weft, MiB", "peer, MiB")
TOKENS, LINES = "tokens_per_second", "lines_per_second"
UNITS = {TOKENS: "tokens/s", LINES: "lines/s"}


class Row(NamedTuple):
    """speed: under which name the figures of both have it; share: of what is possible."""

    what: str
    peer: str
    ours: Figures
    theirs: Figures
    ratio: Spread
    speed: str = TOKENS
    share: Spread | None = None

    def cells(self) -> list[str]:
        return [
            self.what,
            self.peer,
            f"{self.ours[self.speed]['median']:,.0f} {UNITS[self.speed]}",
            f"{self.theirs[self.speed]['median']:,.0f}",
            between(self.ratio, ".2f"),
            "" if self.share is None else f"{self.share['median']:.0%}",
            megabytes(self.ours.get("peak_memory_mib")),
            megabytes(self.theirs.get("peak_memory_mib")),
        ]


def megabytes(held: float | None) -> str:
    return "" if held is None else f"{held:,.0f}"


def beside_torch(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.training_speed."""
    yield Row(what, "plain torch", figures["weft"], figures["torch"], figures["ratio"])


def beside_toolkits(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.peer_speed: a row for each way that Weft was trained, and each peer."""
    ours = [name for name in figures if name.startswith("weft")]
    for peer in figures:
        for our in ours:
            if peer not in ours:
                named = what + our.removeprefix("weft").replace(" ", ", ")
                ratio, share = figures[peer]["ratios"][our], figures[our]["share"]
                yield Row(named, peer, figures[our], figures[peer], ratio, share=share)


def beside_float32(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.precision: Weft beside itself, and what became of the loss."""
    full = figures["float32"]
    for precision, side in figures.items():
        if precision != "float32":
            named = f"{what}, {precision}, at {side['times_loss']:.2%} of the loss"
            yield Row(named, "Weft in float32", side, full, side["times_first"])


def beside_teacher(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.student_speed: each system beside the teacher as it is used, and what their outputs are worth."""
    teacher, *others = figures["systems"]
    for system in others:
        named = f"{what}: {spoken(system)}"
        ratio = spread([one / other for one, other in zip(teacher["seconds"], system["seconds"], strict=True)])
        ours, theirs = (
            {LINES: spread([figures["count"] / time for time in one["seconds"]])} for one in (system, teacher)
        )
        yield Row(named, spoken(teacher), ours, theirs, ratio, LINES)


def spoken(system: Figures) -> str:
    """As "student, greedy, ctranslate2, int8 (BLEU 38.1)"."""
    bleu = next(score["value"] for score in system["scores"] if score["name"] == "bleu")
    return f"{system['model']}, {system['search']}, {system['backend']} (BLEU {bleu:.1f})"


def beside_engines(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.beam_speed."""
    for batching in BATCHINGS:
        ours = figures["Weft"][batching]
        for engine, batchings in figures.items():
            theirs = batchings[batching]
            if theirs["ratio"] is not None:
                yield Row(f"{what}, batches of {batching}", engine, ours, theirs, theirs["ratio"])


def beside_hand(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.file_to_file: a row for each precision."""
    for precision, both in figures["speed"].items():
        ours, theirs = both["weft"], both["by hand"]
        yield Row(f"{what}, {precision}", "a script by hand", ours, theirs, theirs["ratio"], LINES)


def beside_generators(what: str, figures: Figures) -> Iterator[Row]:
    """Of benchmarks.torch_file_to_file."""
    for peer, theirs in figures.items():
        if theirs["ratio"] is not None:
            yield Row(what, peer, figures["Weft"], theirs, theirs["ratio"], LINES)


def render(facts: Mapping[str, Any], rows: Iterable[Row]) -> str:
    """The table, with what it was measured on below it."""
    told = "{cpu}, {cores} cores, {threads} threads, torch {torch}, Python {python}; data: {data}.\n".format(**facts)
    return table(HEADER, [row.cells() for row in rows]) + "\n" + told
