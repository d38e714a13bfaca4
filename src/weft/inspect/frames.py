"""A picture of what the frames of a lattice say.

draw(weft.load("runs/ctc"), "weft", "frames.png")
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.padded import Padded
from weft.data.padding import pad
from weft.engine.translator import Translator
from weft.inspect.grid import Grid, Numbers
from weft.inspect.picture import check_suffix, write_picture
from weft.inspect.squares import draw_squares
from weft.search.alignment import align

BLANK = "∅"
MATTERS = 0.05  # of a frame's probability
MOST = 40  # classes, those that matter most


class Told(NamedTuple):
    """The probabilities [C,F] of the classes that matter, in the order in which they are likeliest; the blank is last.

    symbols: the class of each frame on the best path, or on the best one that spells a given target.
    """

    line: str
    text: str
    classes: tuple[str, ...]
    symbols: tuple[str, ...]
    probabilities: Numbers
    remarks: tuple[str, ...]

    def grid(self) -> Grid:
        """As it is drawn."""
        title = self.line, f"→ {self.text}"
        return Grid(title, self.remarks, self.classes, self.symbols, self.probabilities, "probability", darkest=1.0)


def draw(translator: Translator, line: str, output: Path | str, *, target: str | None = None) -> Told:
    """Read the line and write the picture (.png, .svg or .pdf); returns what it shows.

    target: a text whose likeliest path is shown instead of the best one, to see which frames would spell what.
    """
    check_suffix(Path(output))
    told = look(translator, line, target)
    write_picture(partial(draw_squares, told.grid()), Path(output))
    return told


def look(translator: Translator, line: str, target: str | None = None) -> Told:
    """The numbers of the picture."""
    lattice = translator.trained.model.lattice
    if lattice is None:
        raise UserError("this model has no lattice (model.lattice), which says an output in frames: nothing to draw")
    if target is not None and not lattice.blank:
        raise UserError("--target: the frames of this model are the tokens of the output: leave it out")
    if not line.strip():
        raise UserError("the line is empty: write one in quotation marks")
    frames = frames_of(translator, line)
    path, text, remarks = best_path(translator, frames, line) if target is None else forced(translator, frames, target)
    names = [*translator.trained.target_tokenizer.vocabulary(), *([BLANK] if lattice.blank else [])]
    probabilities = frames.log_probs[0].double().exp().cpu().numpy()  # [F,C]
    shown = that_matter(probabilities, path, blank=lattice.blank)
    symbols = tuple(names[one] for one in path)
    return Told(line, text, tuple(names[one] for one in shown), symbols, probabilities[:, shown].T, remarks)


@torch.inference_mode()
def frames_of(translator: Translator, line: str) -> Frames:
    """What the model says of the line, without padding."""
    trained = translator.trained
    [row] = trained.source_tokenizer.encode_rows([line]).split()
    source = pad([row[: translator.source_limit()]])
    return trained.model.frames(source.to(next(trained.model.parameters()).device))


def best_path(translator: Translator, frames: Frames, line: str) -> tuple[list[int], str, tuple[str, ...]]:
    """The likeliest class of each frame, and the output of the model."""
    [translation] = translator.translate([line])
    return frames.log_probs[0].argmax(-1).tolist(), translation.text, ()


def forced(translator: Translator, frames: Frames, target: str) -> tuple[list[int], str, tuple[str, ...]]:
    """The likeliest path of the target."""
    [tokens] = translator.trained.target_tokenizer.encode([target])
    [aligned] = align(frames, Padded.of([[*tokens, END]]))
    return list(aligned.path), target, (f"the likeliest path of this output, log p = {aligned.score:.2f}",)


def that_matter(probabilities: Numbers, path: list[int], *, blank: bool) -> list[int]:
    """The classes that are on the path or likely in some frame, by the frame in which each is likeliest."""
    largest, when = probabilities.max(0), probabilities.argmax(0)
    last = probabilities.shape[1] - 1
    known = {*path, *np.flatnonzero(largest >= MATTERS).tolist()} - ({last} if blank else set())
    kept = sorted(known, key=lambda one: -largest[one])[:MOST]
    return [*sorted(kept, key=lambda one: (when[one], one)), *([last] if blank else [])]
