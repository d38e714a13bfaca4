"""Text for a terminal of any width, dark or light: in its own colours, which tell nothing that no word tells too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from weft.text.pieces import SHOWN_SPACE
from weft.text.printable import printable

INDENT, GAP = 2, 2
LONGEST_NAME = 16
SURE, DOUBTFUL = 0.75, 0.5  # from the one on a probability is nothing to look at; below the other, to look at twice
LEAST = 0.005  # below which a share would be written as 0
WEIGHTS = ((0.5, "reverse"), (0.2, "bold"), (0.05, ""), (0.0, "dim"))  # from which on a weight is written how


class Flow:
    """Cells of as many lines each, side by side, as many in a row as the width has room for."""

    def __init__(self, cells: Iterable[Sequence[Text]]):
        self.cells = list(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [max(part.cell_len for part in cell) for cell in self.cells]
        for row in fitting(widths, options.max_width):
            for parts in zip(*(self.cells[place] for place in row), strict=True):
                yield side_by_side(parts, [widths[place] for place in row])


class Weights:
    """A table of weights [R,C] with the names of its rows and columns, in as many parts as the width asks for."""

    def __init__(self, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]):
        self.rows = [Text(short(name)) for name in rows]
        self.columns = [Text(short(name), "dim") for name in columns]
        self.values = values

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names, widths = max(name.cell_len for name in self.rows), [max(name.cell_len, 3) for name in self.columns]
        for part in evenly(widths, options.max_width - names - 1):
            room = [names, *(widths[place] for place in part)]
            yield Text("")
            yield side_by_side([Text(""), *(right(self.columns[place], widths[place]) for place in part)], room, 1)
            for name, row in zip(self.rows, self.values, strict=True):
                yield side_by_side([name, *(right(weight(row[place]), widths[place]) for place in part)], room, 1)


def fitting(widths: Sequence[int], room: int, gap: int = GAP) -> list[list[int]]:
    """The numbers of the cells in each row: as many as have room, at least one."""
    rows, reached = list[list[int]](), room
    for place, width in enumerate(widths):
        if reached + gap + width > room:
            rows, reached = [*rows, []], INDENT - gap
        rows[-1].append(place)
        reached += gap + width
    return rows


def evenly(widths: Sequence[int], room: int) -> list[list[int]]:
    """As few rows as there can be with a gap of 1, all of about the same width."""
    most = fitting(widths, room, 1)
    narrower = (fitting(widths, less, 1) for less in range(room))
    return next((rows for rows in narrower if len(rows) == len(most)), most)


def side_by_side(parts: Sequence[Text], widths: Sequence[int], gap: int = GAP) -> Text:
    """One line, with so much room for each part."""
    line = Text(" " * INDENT, no_wrap=True)
    for part, width in zip(parts, widths, strict=True):
        line.append_text(part).append(" " * (width - part.cell_len + gap))
    line.rstrip()
    return line


def right(text: Text, width: int) -> Text:
    """At the end of so much room."""
    return Text(" " * (width - text.cell_len)).append_text(text)


def weight(value: float) -> Text:
    """A share in percent, the more the stronger."""
    if value < LEAST:
        return Text("·", "dim")
    return Text(f"{100 * value:.0f}", next(style for least, style in WEIGHTS if value >= least))


def probability(value: float) -> Text:
    """In percent, in a colour where it is low."""
    return Text(f"{100 * value:.0f}%", certainty(value))


def certainty(value: float) -> str:
    """The style of what is as probable as this."""
    return "" if value >= SURE else "yellow" if value >= DOUBTFUL else "red"


def bar(value: float, width: int = 24) -> str:
    return "█" * round(width * value)


def short(name: str) -> str:
    """A name that can stand at a place; a space in it is seen."""
    whole = printable(name).replace(SHOWN_SPACE, "␣")
    return whole if len(whole) <= LONGEST_NAME else whole[: LONGEST_NAME - 1] + "…"


def piece_name(piece: str) -> str:
    """A piece without the space before it."""
    return short(piece.removeprefix(SHOWN_SPACE) or piece)
