"""Class probabilities per frame of a model with a frame head (CTC), along the best path or along the forced alignment
of a target.

    draw_frames(weft.load("runs/ctc"), "weft", "frames.png")
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from weft.core.errors import UserError
from weft.core.formatting import quote_all
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.decoding.constraints.request import Request
from weft.decoding.ctc_alignment import forced_align
from weft.inference.translator import Translator
from weft.text.tokenizer import is_tokenizer
from weft.text.word_alignment import TokenSpan
from weft.visualize.figures import check_figure_path, save_figure
from weft.visualize.heatmap import Heatmap, SourceImage, draw_heatmap, read_source_image
from weft.visualize.translation_trace import FloatArray, encode_source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLANK_SYMBOL = "∅"
MIN_PROBABILITY = 0.05  # a class that never reaches it is left out
MAX_CLASSES = 40


class FramePosteriors(NamedTuple):
    """Probabilities [C,F] of the relevant classes, ordered by the frame in which each peaks; the blank is last."""

    sentence: str  # or the path of an image
    text: str
    classes: tuple[str, ...]
    symbols: tuple[str, ...]  # the class of each frame on the best path, or on the alignment of the target
    probabilities: FloatArray
    remarks: tuple[str, ...]
    spans: tuple[TokenSpan, ...]  # the frames of each emitted token
    image: SourceImage | None  # the source, if it is an image and frames correspond to its columns

    def heatmap(self) -> Heatmap:
        title = self.sentence, f"→ {self.text}"
        return Heatmap(title, self.remarks, self.classes, self.symbols, self.probabilities, "probability", 1.0)

    def figure(self) -> Figure:
        return draw_heatmap(self.heatmap(), self.image, self.spans)


def draw_frames(translator: Translator, line: str, output: Path | str, *, target: str | None = None) -> FramePosteriors:
    """Read a line, or the image at a path, and save its class probabilities as .png, .svg or .pdf.

    target: show the most probable alignment of this text instead of the best path.
    """
    check_figure_path(Path(output))
    posteriors = frame_posteriors(translator, line, target)
    save_figure(posteriors.figure, Path(output))
    return posteriors


@torch.inference_mode()
def frame_posteriors(translator: Translator, line: str, target: str | None = None) -> FramePosteriors:
    """Return the probabilities that `draw_frames` draws."""
    trained, head = translator.trained, translator.trained.model.frame_head
    if head is None:
        raise UserError("this model has no frame head (model.frame_head): there is nothing to draw")
    if target is not None and not head.blank:
        raise UserError("--target: each frame of this model is an output token, so there is no alignment; leave it out")
    source, remarks = encode_source(translator, Request(line))
    source = source.to(trained.device)
    frames = trained.model.frames(source)
    if target is None:
        path, text = frames.log_probs[0].argmax(-1).tolist(), next(translator.stream([line])).text
    else:
        if unknown := trained.target_tokenizer.unknown_substrings(target):
            raise UserError(f"--target: {quote_all(unknown)} is not in the vocabulary of this model")
        [tokens] = trained.target_tokenizer.encode([target])
        [alignment] = forced_align(frames, Padded.from_rows([[*tokens, EOS]]))
        path, text = list(alignment.path), target
        remarks = (f"most probable alignment of this target, log p = {alignment.score:.2f}", *remarks)
    names = [*trained.target_tokenizer.vocabulary(), *([BLANK_SYMBOL] if head.blank else [])]
    probabilities = frames.log_probs[0].double().exp().cpu().numpy()  # [F,C]
    classes = relevant_classes(probabilities, path, blank=head.blank)
    has_image = head.blank and not is_tokenizer(trained.source_tokenizer)
    return FramePosteriors(
        line,
        text,
        tuple(names[index] for index in classes),
        tuple(names[index] for index in path),
        probabilities[:, classes].T,
        remarks,
        emitted_spans(path, names) if head.blank else (),
        read_source_image(source, lambda columns: trained.model.frames(columns).mask) if has_image else None,
    )


def emitted_spans(path: list[int], names: Sequence[str]) -> tuple[TokenSpan, ...]:
    """Return the runs of equal frames without those of the blank, which is the last class."""
    runs = [(index, list(frames)) for index, frames in groupby(range(len(path)), path.__getitem__)]
    return tuple(TokenSpan(names[index], frames[0], frames[-1] + 1) for index, frames in runs if index < len(names) - 1)


def relevant_classes(probabilities: FloatArray, path: list[int], *, blank: bool) -> list[int]:
    """Return the classes on the path or probable in some frame, ordered by the frame in which each peaks."""
    largest, peak = probabilities.max(0), probabilities.argmax(0)
    last = probabilities.shape[1] - 1
    candidates = {*path, *np.flatnonzero(largest >= MIN_PROBABILITY).tolist()} - ({last} if blank else set())
    selected = sorted(candidates, key=lambda index: -largest[index])[:MAX_CLASSES]
    return [*sorted(selected, key=lambda index: (peak[index], index)), *([last] if blank else [])]
