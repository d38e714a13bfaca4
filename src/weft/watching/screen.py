"""The whole picture, as large as the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from weft.watching.heads import details, heads
from weft.watching.notes import notes
from weft.watching.panels import TRAINING, Panel, panels_of
from weft.watching.plot import plot
from weft.watching.run import Watched
from weft.watching.sample_lines import sample_lines
from weft.watching.samples import samples_of

LEAST = 5  # lines of a panel: a title, three rows, an axis
LARGE, SMALL = 38, 24  # cells of a panel, at least
SHARE = 0.4  # of the lines of panels, for the small ones


class Picture:
    """Runs, as they are at this moment. turn: which of the sample sentences stands first."""

    def __init__(self, runs: Sequence[Watched], turn: int = 0):
        self.runs, self.turn = runs, turn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.lines(options.max_width, options.height or options.max_height)

    def lines(self, width: int, height: int) -> list[Text]:
        """So many at most, none of them wider."""
        above = heads(self.runs, width)
        if len(self.runs) == 1:
            above.append(details(self.runs[0], width))
        room = height - len(above)
        said = notes(self.runs, width, room)
        samples = sample_lines(samples_of(self.runs), self.turn, width, max(0, (room - len(said)) // 3))
        drawn = grid(panels_of(self.runs), width, room - len(said) - len(samples))
        lines = [*above, *drawn, *samples, *said][:height]
        for line in lines:
            line.truncate(width)
        return lines


def grid(panels: Sequence[Panel], width: int, height: int) -> Iterator[Text]:
    """A row of large panels, and, where there is room, one of small ones below it; all up to the same step."""
    if not panels or width < SMALL:
        return
    last = max(curve.points[-1][0] for panel in panels for curve in panel.curves)
    small = [panel for panel in panels if panel.name in TRAINING]
    large = [panel for panel in panels if panel.name not in TRAINING]
    first = max(1, width // LARGE)
    below = max(LEAST, round(SHARE * height)) if height >= 2 * LEAST + 2 else 0
    if height - below >= LEAST:
        yield from row(large[:first] or small[:first], last, width, height - below)
    if below:
        yield from row([*small, *large[first:]][: max(1, width // SMALL)], last, width, below)


def row(panels: Sequence[Panel], last: int, width: int, height: int) -> Iterator[Text]:
    """Panels side by side."""
    if panels:
        wide = width // len(panels)
        yield from beside([plot(panel, last, wide, height) for panel in panels], wide)


def beside(blocks: Iterable[Sequence[Text]], width: int) -> Iterator[Text]:
    """Blocks of so many cells each."""
    for lines in zip_longest(*blocks, fillvalue=Text()):
        whole = Text()
        for line in lines:
            whole.append_text(line).append(" " * (width - line.cell_len))
        whole.rstrip()
        yield whole
