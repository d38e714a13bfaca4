"""Which part of the source each part of a translation looked at."""

from typing import NamedTuple

from weft.inspect.grid import Grid, Numbers


class Alignment(NamedTuple):
    """The weights [T,S] with the names of their rows and columns: words or pieces, the end mark last."""

    sentence: str
    translation: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Numbers  # a row's sum is 1, or less where a window fades out
    remarks: tuple[str, ...]  # what a reader should know: whose weights they are, and whether the sentence was cut

    def grid(self) -> Grid:
        """As it is drawn."""
        title = self.sentence, f"→ {self.translation}"
        return Grid(title, self.remarks, self.target, self.source, self.weights, "attention weight")
