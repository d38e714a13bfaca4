"""A translation as self-contained HTML for Jupyter: words underlined by probability, and the attention as a table."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, isfinite
from typing import TYPE_CHECKING, NamedTuple

from weft.core.formatting import pluralize
from weft.core.special_tokens import EOS, SPECIAL_TOKENS
from weft.core.templates import render_template
from weft.inference.capabilities import attention_obstacle
from weft.text.tokenizer import SPACE_SYMBOL

if TYPE_CHECKING:
    from weft.inference.translation import Alternative, Translation
    from weft.inference.translation_analysis import TranslationAnalysis

NO_ATTENTION = "Attention is not available: the translation was joined from parts, or stored without its model."
NO_OUTPUT = "The model gives no translation a probability."


class _Unit(NamedTuple):
    """A word or a token. text: what it adds to the translation."""

    name: str
    text: str
    probability: float | None


class _View(NamedTuple):
    """The words or tokens of a translation, EOS last, their attention to the columns, and a note on what is missing."""

    kind: str = "token"
    units: Sequence[_Unit] = ()
    columns: Sequence[str] = ()
    weights: Sequence[Sequence[float]] | None = None
    note: str = ""


def translation_html(translation: Translation) -> str:
    """Return the translation as HTML, as far as its details are known; that of a line sentence by sentence."""
    if translation.sentences:
        return "".join(map(translation_html, translation.sentences))
    best, view = translation.alternatives[0], _View()
    if best.tokens:
        view = _token_view(translation) if translation.analysis is None else _word_view(translation.analysis, best)
    elif not best.finished:
        view = _View(note=NO_OUTPUT)
    unmet = [f"{check.kind} {' or '.join(check.phrases)}" for check in translation.constraint_checks if not check.met]
    constraints = f"Constraints that are not met: {'; '.join(unmet)}" if unmet else ""
    are_words = "".join(unit.text for unit in view.units) == translation.text
    alternatives = translation.alternatives[1:]
    return render_template(
        "weft.inference",
        "notebook.html.jinja",
        source=translation.source,
        text=translation.text,
        words=[unit for unit in view.units if unit.text] if are_words else [],
        notes=list(filter(None, [_score_summary(translation), constraints, view.note])),
        table=_make_table(view),
        special_tokens=SPECIAL_TOKENS,
        alternatives=[(alternative.text, f"{alternative.score:.2f}") for alternative in alternatives],
        alternative_count=pluralize(len(alternatives), "alternative"),
    )


def _word_view(analysis: TranslationAnalysis, best: Alternative) -> _View:
    """Return words, with attention computed now."""
    scores = best.token_scores
    words = [_Unit(word.name, word.text, _probability(scores[word.first : word.end])) for word in analysis.words()]
    units = [*words, _Unit(SPECIAL_TOKENS[EOS], "", _probability(scores[-1:]))]
    obstacle = attention_obstacle(analysis.trained)
    if obstacle:
        return _View("word", units, note=f"{obstacle[0].upper()}{obstacle[1:]}.")
    attention = analysis.word_attention()
    return _View("word", units, attention.source, attention.weights.tolist())


def _token_view(translation: Translation) -> _View:
    """Return tokens, with the attention that the translation contains."""
    best, attention = translation.alternatives[0], translation.attention
    units = [
        _Unit(_visible_token(token), "", _probability(best.token_scores[number : number + 1]))
        for number, token in enumerate(best.tokens)
    ]
    if attention is None:
        return _View("token", units, note=NO_ATTENTION)
    return _View("token", units, [_visible_token(token) for token in attention.source_tokens], attention.weights)


def _make_table(view: _View) -> dict[str, object] | None:
    """Return a heat map of the attention, with a column of probabilities, or a single row of these, as far as known."""
    names, probabilities = [unit.name for unit in view.units], [unit.probability for unit in view.units]
    known = [probability for probability in probabilities if probability is not None]
    if view.weights is None:
        caption, row = f"Probability of each {view.kind}, in percent", ("probability", known)
        return {"caption": caption, "columns": names, "rows": [row], "probabilities": []} if known else None
    caption = f"Attention of each {view.kind}, in percent"
    columns, rows = view.columns, list(zip(names, view.weights, strict=True))
    return {"caption": caption, "columns": columns, "rows": rows, "probabilities": probabilities if known else []}


def _score_summary(translation: Translation) -> str:
    best, notes = translation.alternatives[0], []
    if best.tokens and isfinite(best.score):
        notes.append(f"log-probability {best.score:.2f}, {best.score / len(best.tokens):.2f} per token")
    if translation.confidence is not None:
        notes.append(f"confidence {100 * translation.confidence:.0f} %")
    if best.tokens and not best.finished:
        notes.append("ended by the length limit")
    if translation.truncated:
        notes.append("the source was longer than the model reads, and was truncated")
    return " · ".join(notes)


def _probability(scores: Sequence[float]) -> float | None:
    """Return the joint probability of tokens; at most 1, since a score with a language model may be above 0."""
    return min(1.0, exp(sum(scores))) if scores else None


def _visible_token(token: str) -> str:
    return token.removeprefix(SPACE_SYMBOL) or "␣"
