"""What was seen inside, drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weft.inspect.heads import Heads
from weft.markup.elements import Html, element, join
from weft.report.document import Section
from weft.report.run.gathering import Gathered
from weft.report.run.inside import Inside, View
from weft.report.run.opening import note
from weft.report.squares import small, squares

TOLD = {
    "attention": "A row for each word of the output, a column for each word of the source: the stronger the colour, "
    "the more it was looked at. Of a Transformer this is the mean of the last layer's heads.",
    "frames": "A column for each frame, under what it says (∅ is the blank); a row for each class that some frame "
    "finds likely: the stronger the colour, the more.",
}
NARROW = 16  # columns: two such pictures stand side by side
HEADINGS = {"attention": "What each word looked at", "frames": "What each frame says"}


def pictures(gathered: Gathered) -> Iterator[Section]:
    """Attention or frames of a few sentences, or a sentence about why there are none."""
    if gathered.trained is not None and gathered.trained.model.is_language_model:
        told = "A language model reads no source that it could look at; what it expects is shown by its surprise."
        yield Section("Attention", "Attention", [note(told)])
    if gathered.inside is not None:
        kind = gathered.inside.kind
        yield Section(kind.capitalize(), HEADINGS[kind], _content(gathered.inside, gathered))


def _content(inside: Inside, gathered: Gathered) -> list[Html]:
    if not inside.views:
        return [note(f"There is nothing to draw: {inside.why}.")]
    seen = ["These sentences are from the training data, since no others were held out."] if gathered.seen else []
    views = element("div", join(_view(view) for view in inside.views), "views")
    heads = [] if inside.heads is None else [_heads(inside.heads)]
    return [note(TOLD[inside.kind], *seen), views, *heads]


def _view(view: View) -> Html:
    source = view.source if view.seen is None else Path(view.source).name
    lines = [element("p", source, "from"), element("p", view.output or "(empty)", "into")]
    style = "view" if view.grid.values.shape[1] <= NARROW else "view whole"
    told = element("figcaption", join([*lines, *(element("p", remark, "line") for remark in view.grid.remarks)]))
    return element("figure", join([told, squares(view.grid, view.seen, view.spans)]), style)


def _heads(heads: Heads) -> Html:
    """All heads of the first sentence, folded: a row for each layer."""
    rows = [
        element(
            "div", join(small(head, f"layer {layer}, head {number}") for number, head in enumerate(some, 1)), "heads"
        )
        for layer, some in enumerate(heads.layers, 1)
    ]
    count = sum(map(len, heads.layers))
    summary = element("summary", f"Each of the {count} heads that look at the source, for the first sentence")
    return element("details", join([summary, *rows]))
