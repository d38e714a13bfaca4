"""Rendering of the interactive prompt: words with probabilities, n-best lists, alternatives and attention tables.

Colors are those of the terminal, and everything that they show is also written in words or numbers.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from math import exp, isfinite

from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from weft.core.formatting import make_printable
from weft.core.special_tokens import EOS, SPECIAL_TOKENS
from weft.inference.probability_scale import LEVELS, probability_level
from weft.inference.translation import Alternative, Translation
from weft.inference.translation_analysis import TranslationAnalysis, WordAttention
from weft.text.tokenizer import SPACE_SYMBOL
from weft.visualize.word_alternatives import WordAlternative, WordPrediction

INDENT, CELL_GAP = 2, 2
BAR_WIDTH = 24
MAX_NAME_LENGTH = 16
MAX_ALTERNATIVES = 3  # of each word, where all words are shown
MIN_SHARE = 0.005  # smaller shares would be written as 0
# The smallest weight of each style; as in the playground, more attention is bluer.
WEIGHT_STYLES = ((0.5, "bold reverse bright_blue"), (0.2, "bold bright_blue"), (0.05, ""), (0.0, "dim"))


class CellFlow:
    """Cells of equally many lines, as many side by side as fit the width."""

    def __init__(self, cells: Iterable[Sequence[Text]]):
        self.cells = list(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [max(part.cell_len for part in cell) for cell in self.cells]
        for row in fit_rows(widths, options.max_width):
            table = make_table()
            for _ in row:
                table.add_column(no_wrap=True)
            for parts in zip(*(self.cells[number] for number in row), strict=True):
                table.add_row(*parts)
            yield indent(table)


class WeightTable:
    """A table of weights [R,C] with names of rows and columns, split into parts that fit the width."""

    def __init__(self, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]):
        self.rows = [Text(_shorten(name)) for name in rows]
        self.columns = [Text(_shorten(name), "dim") for name in columns]
        self.values = values

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names, widths = max(name.cell_len for name in self.rows), [max(name.cell_len, 3) for name in self.columns]
        for part in balance_rows(widths, options.max_width - names - 1):
            table = make_table("left", gap=1, no_wrap=True)
            for column in part:
                table.add_column(justify="right", min_width=widths[column], no_wrap=True)
            table.add_row("", *(self.columns[column] for column in part))
            for name, row in zip(self.rows, self.values, strict=True):
                table.add_row(name, *(_format_weight(row[column]) for column in part))
            yield Text("")
            yield indent(table)


def fit_rows(widths: Sequence[int], width: int, gap: int = CELL_GAP) -> list[list[int]]:
    """Return the numbers of the cells in each row: as many as fit, at least one."""
    rows, used = list[list[int]](), width
    for number, cell in enumerate(widths):
        if used + gap + cell > width:
            rows, used = [*rows, []], INDENT - gap
        rows[-1].append(number)
        used += gap + cell
    return rows


def balance_rows(widths: Sequence[int], width: int) -> list[list[int]]:
    """Return as few rows as possible with a gap of 1, all of about the same width."""
    widest = fit_rows(widths, width, 1)
    narrower = (fit_rows(widths, less, 1) for less in range(width))
    return next((rows for rows in narrower if len(rows) == len(widest)), widest)


def _format_weight(value: float) -> Text:
    """A percentage; larger ones are more prominent."""
    if value < MIN_SHARE:
        return Text("·", "dim")
    style = next(style for least, style in WEIGHT_STYLES if value >= least)
    return Text.assemble((f"{100 * value:.0f}", style))  # a style of the whole text would fill the cell


def _format_probability(value: float) -> Text:
    return Text(f"{100 * value:.0f}%", probability_level(value).terminal)


def _probability_legend() -> Text:
    """What the colors of words mean."""
    levels = (Text.assemble((level.name, level.terminal), f" {level.description}") for level in LEVELS)
    return Text.assemble("probability: ", Text(", ").join(levels), style="dim")


def _shorten(name: str) -> str:
    visible = make_printable(name).replace(SPACE_SYMBOL, "␣")
    return visible if len(visible) <= MAX_NAME_LENGTH else visible[: MAX_NAME_LENGTH - 1] + "…"


def render_translation(translation: Translation, prefix: str) -> RenderableType:
    """Return a translation word by word and its n-best list; prefix: the one that was forced."""
    outputs = translation.alternatives
    if translation.analysis is None:
        return with_blank_lines(dim_note("The model finds no possible translation."))
    remarks = dim_note(" · ".join(_remarks(translation, prefix)))
    n_best = ["", _render_outputs(outputs)] if len(outputs) > 1 else []
    legend = indent(_probability_legend())
    return with_blank_lines(_render_words(translation.analysis, outputs[0]), remarks, legend, *n_best)


def _render_words(analysis: TranslationAnalysis, best: Alternative) -> CellFlow:
    """The words, each above its position and probability; the end has a position too."""
    words = [(word.name, _joint_probability(best.token_scores[word.first : word.end])) for word in analysis.words()]
    end = (SPECIAL_TOKENS[EOS], _joint_probability(best.token_scores[-1:]))
    return CellFlow(
        (
            Text(
                _shorten(name), "dim" if name in SPECIAL_TOKENS else f"bold {probability_level(probability).terminal}"
            ),
            Text.assemble((f"{number} ", "dim"), _format_probability(probability)),
        )
        for number, (name, probability) in enumerate([*words, end], 1)
    )


def _remarks(translation: Translation, prefix: str) -> Iterator[str]:
    best = translation.alternatives[0]
    if isfinite(best.score):
        yield f"log-probability {best.score:.2f}, {best.score / len(best.tokens):.2f} per token"
    if translation.confidence is not None:
        yield f"confidence {100 * translation.confidence:.0f}%"
    if prefix and translation.analysis is not None:
        ends = accumulate(len(word.text) for word in translation.analysis.words())
        yield f"chosen up to position {1 + sum(end < len(prefix) for end in ends)}"
    if not best.finished:
        yield "ended by the length limit"
    if translation.truncated:
        yield "the sentence was longer than the model reads and was truncated"
    yield from (f"lacks {' or '.join(check.phrases)}" for check in translation.constraint_checks if not check.met)


def _render_outputs(outputs: Sequence[Alternative]) -> RenderableType:
    """The n-best list with ranking scores; differences from the first output are underlined."""
    has_ranks = any(output.ranking_score not in (None, output.score) for output in outputs)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for heading in ["", *["ranked by"] * has_ranks, "log p"]:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("outputs of the search")
    for number, output in enumerate(outputs, 1):
        ranks = [f"{output.ranking_score:.3f}"] if has_ranks else []
        text = _underline_differences(make_printable(outputs[0].text), make_printable(output.text))
        table.add_row(Text(f"{number}", "dim"), *ranks, f"{output.score:.2f}", text)
    return indent(table)


def _underline_differences(first: str, other: str) -> Text:
    """The other text, with the words underlined that the first does not have there."""
    words, line = other.split(" "), Text()
    for kind, _, _, begin, end in SequenceMatcher(None, first.split(" "), words, autojunk=False).get_opcodes():
        for word in words[begin:end]:
            line.append(" " if line else "").append(word, "" if kind == "equal" else "underline")
    return line


def render_alternatives(number: int, word: WordPrediction, alternatives: Sequence[WordAlternative]) -> RenderableType:
    """Return the numbered alternatives at a position."""
    table = make_table("right", "left", "right", "left")
    for row, alternative in enumerate(alternatives, 1):
        probability = exp(alternative.score)
        label = Text(_shorten(alternative.name))  # a plain string could be read as markup
        bar = Text("█" * round(BAR_WIDTH * probability), probability_level(probability).terminal)
        table.add_row(f"{row}", label, f"{100 * probability:.1f}%", bar.append(" current" * alternative.is_current))
    title = dim_note(f'{number} {_shorten(word.name)}: the most probable words; ":{number} 2" chooses the second')
    return with_blank_lines(title, indent(table) if alternatives else dim_note("none that can be chosen"))


def render_all_alternatives(
    words: Sequence[WordPrediction], alternatives: Sequence[Sequence[WordAlternative]]
) -> RenderableType:
    """Return every word with some alternatives."""
    table = make_table("right", "left", "right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for number, (word, others) in enumerate(zip(words, alternatives, strict=True), 1):
        probability = _format_probability(_joint_probability(word.scores))
        name = Text(_shorten(word.name), "bold")
        table.add_row(Text(f"{number}", "dim"), name, probability, _format_alternatives(others))
    return with_blank_lines(indent(table), indent(_probability_legend()))


def make_table(*columns: JustifyMethod, gap: int = CELL_GAP, no_wrap: bool = False) -> Table:
    table = Table(box=None, padding=(0, gap, 0, 0), show_header=False, pad_edge=False)
    for justify in columns:
        table.add_column(justify=justify, no_wrap=no_wrap)
    return table


def _format_alternatives(alternatives: Sequence[WordAlternative]) -> Text:
    """The most probable other words in a line."""
    others = [(other.name, exp(other.score)) for other in alternatives if not other.is_current]
    return Text("  ").join(
        Text(f"{_shorten(name)} ").append(f"{100 * probability:.0f}%", "dim")
        for name, probability in others[:MAX_ALTERNATIVES]
        if probability >= MIN_SHARE
    )


def render_attention(attention: WordAttention) -> RenderableType:
    """Return a table with a row for each word of the translation and a column for each word of the source."""
    note = dim_note("Attention of each word (rows) to the source, in percent; bluer is more.")
    return with_blank_lines(note, WeightTable(attention.target, attention.source, attention.weights.tolist()))


def _joint_probability(scores: Sequence[float]) -> float:
    """The probability of tokens together; with fusion, scores may be above 0."""
    return min(1.0, exp(sum(scores)))


def dim_note(text: str, style: str = "dim") -> RenderableType:
    return indent(Text(make_printable(text), style))


def indent(shown: RenderableType) -> RenderableType:
    return Padding(shown, (0, 0, 0, INDENT))


def with_blank_lines(*parts: RenderableType) -> RenderableType:
    """Return the parts with a blank line before and after them."""
    return Group("", *parts, "")
