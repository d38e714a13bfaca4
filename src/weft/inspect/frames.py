"""A picture of what the frames of a lattice say.

draw(weft.load("runs/ctc"), "weft", "frames.png")
draw(weft.load("runs/ocr"), "line.png", "frames.png")
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure

from weft.config.wording import listed
from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.padded import Padded
from weft.engine.translator import Translator
from weft.inspect.below import draw_below
from weft.inspect.columns import Seen, see
from weft.inspect.grid import Grid, Numbers
from weft.inspect.picture import check_suffix, write_picture
from weft.inspect.squares import draw_squares
from weft.inspect.translating import source_of
from weft.model.model import Model
from weft.model.roles import Lattice
from weft.search.alignment import align
from weft.text.reader import is_tokenizer
from weft.text.words import Span

BLANK = "∅"
MATTERS = 0.05  # of a frame's probability
MOST = 40  # classes, those that matter most


class Told(NamedTuple):
    """The probabilities [C,F] of the classes that matter, in the order in which they are likeliest; the blank is last.

    symbols: the class of each frame on the best path, or on the best one that spells a given target. spans: the frames
    on that path that tell a piece. seen: the picture that was read, if it was one and the frames are places in it.
    """

    line: str
    text: str
    classes: tuple[str, ...]
    symbols: tuple[str, ...]
    probabilities: Numbers
    remarks: tuple[str, ...]
    spans: tuple[Span, ...]
    seen: Seen | None

    def grid(self) -> Grid:
        """As it is drawn."""
        title = self.line, f"→ {self.text}"
        return Grid(title, self.remarks, self.classes, self.symbols, self.probabilities, "probability", darkest=1.0)

    def figure(self) -> Figure:
        """The picture itself; a picture that was read stands above, its columns over their frames."""
        return draw_squares(self.grid()) if self.seen is None else draw_below(self.grid(), self.seen, self.spans)


def draw(translator: Translator, line: str, output: Path | str, *, target: str | None = None) -> Told:
    """Read the line, or the picture whose path it is, and write the picture (.png, .svg or .pdf).

    Returns what the picture shows.
    target: a text whose likeliest path is shown instead of the best one, to see which frames would spell what.
    """
    check_suffix(Path(output))
    told = look(translator, line, target)
    write_picture(told.figure, Path(output))
    return told


@torch.inference_mode()
def look(translator: Translator, line: str, target: str | None = None) -> Told:
    """The numbers of the picture."""
    trained = translator.trained
    lattice = lattice_of(trained.model, target)
    source, cut = source_of(translator, line)
    source = source.to(next(trained.model.parameters()).device)
    frames = trained.model.frames(source)
    path, text, remarks = best_path(translator, frames, line) if target is None else forced(translator, frames, target)
    names = [*trained.target_tokenizer.vocabulary(), *([BLANK] if lattice.blank else [])]
    probabilities = frames.log_probs[0].double().exp().cpu().numpy()  # [F,C]
    shown = that_matter(probabilities, path, blank=lattice.blank)
    places = lattice.blank and not is_tokenizer(trained.source_tokenizer)
    return Told(
        line,
        text,
        tuple(names[one] for one in shown),
        tuple(names[one] for one in path),
        probabilities[:, shown].T,
        (*remarks, *cut),
        spans_of(path, names) if lattice.blank else (),
        see(source, lambda columns: trained.model.frames(columns).mask) if places else None,
    )


def lattice_of(model: Model, target: str | None) -> Lattice:
    """The lattice of the model, if it has one, and one that can be made to spell the target, if there is one."""
    if model.lattice is None:
        raise UserError("this model has no lattice (model.lattice), which says an output in frames: nothing to draw")
    if target is not None and not model.lattice.blank:
        raise UserError("--target: the frames of this model are the tokens of the output: leave it out")
    return model.lattice


def best_path(translator: Translator, frames: Frames, line: str) -> tuple[list[int], str, tuple[str, ...]]:
    """The likeliest class of each frame, and the output of the model."""
    [translation] = translator.translate([line])
    return frames.log_probs[0].argmax(-1).tolist(), translation.text, ()


def forced(translator: Translator, frames: Frames, target: str) -> tuple[list[int], str, tuple[str, ...]]:
    """The likeliest path of the target."""
    if strangers := translator.trained.target_tokenizer.strangers(target):
        raise UserError(f"--target: this model never learned to say {listed(strangers)}, so no frames can spell it")
    [tokens] = translator.trained.target_tokenizer.encode([target])
    [aligned] = align(frames, Padded.of([[*tokens, END]]))
    return list(aligned.path), target, (f"the likeliest path of this output, log p = {aligned.score:.2f}",)


def spans_of(path: list[int], names: Sequence[str]) -> tuple[Span, ...]:
    """The runs of frames that tell a piece: all but those of the blank, which is the last class."""
    runs = [(told, list(places)) for told, places in groupby(range(len(path)), path.__getitem__)]
    return tuple(Span(names[told], places[0], places[-1] + 1) for told, places in runs if told < len(names) - 1)


def that_matter(probabilities: Numbers, path: list[int], *, blank: bool) -> list[int]:
    """The classes that are on the path or likely in some frame, by the frame in which each is likeliest."""
    largest, when = probabilities.max(0), probabilities.argmax(0)
    last = probabilities.shape[1] - 1
    known = {*path, *np.flatnonzero(largest >= MATTERS).tolist()} - ({last} if blank else set())
    kept = sorted(known, key=lambda one: -largest[one])[:MOST]
    return [*sorted(kept, key=lambda one: (when[one], one)), *([last] if blank else [])]
