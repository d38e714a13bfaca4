"""Which part of the source each part of a translation looked at."""

from typing import NamedTuple

from matplotlib.figure import Figure

from weft.inspect.below import draw_below
from weft.inspect.columns import Seen
from weft.inspect.grid import Grid, Numbers
from weft.inspect.squares import draw_squares


class Alignment(NamedTuple):
    """The weights [T,S] with the names of their rows and columns: words or pieces, the end mark last.

    seen: the picture that was read, if it was one; then the source is numbers, those of the memory's positions.
    """

    sentence: str
    translation: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Numbers  # a row's sum is 1, or less where a window fades out
    remarks: tuple[str, ...]  # what a reader should know: whose weights they are, and whether the sentence was cut
    seen: Seen | None = None

    def grid(self) -> Grid:
        """As it is drawn."""
        title = self.sentence, f"→ {self.translation}"
        return Grid(title, self.remarks, self.target, self.source, self.weights, "attention weight")

    def figure(self) -> Figure:
        """The picture itself; a picture that was read stands above, its columns over their weights."""
        return draw_squares(self.grid()) if self.seen is None else draw_below(self.grid(), self.seen)
