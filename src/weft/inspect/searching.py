"""A picture of a search: what was kept, dropped and finished at every step.

draw(weft.load("runs/first"), "A man sleeps.", "search.svg")
print(show(weft.load("runs/first"), "A man sleeps."))
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from weft.control.request import Request
from weft.core.errors import UserError
from weft.core.watch import watching
from weft.engine.translator import Translator
from weft.inspect.picture import check_suffix, write_picture
from weft.inspect.translating import Translated, translate
from weft.inspect.tree import Node, end_of, rebuild
from weft.inspect.tree_picture import draw_tree
from weft.inspect.tree_text import tree_text
from weft.text.printable import printable


class Searched(NamedTuple):
    """A translation, the nodes of each step of the search that found it, and the one in which its text ends."""

    translated: Translated
    steps: list[list[Node]]
    best: Node | None


def draw(translator: Translator, sentence: str, output: Path | str) -> str:
    """Translate the sentence and write the picture (.png, .svg or .pdf); returns the translation."""
    check_suffix(Path(output))
    searched = search(translator, sentence)
    write_tree(translator, searched, Path(output))
    return searched.translated.translation.text


def show(translator: Translator, sentence: str, output: Path | str | None = None) -> str:
    """The same as text, a line for each hypothesis; and as a picture too, if an output is named."""
    if output is not None:
        check_suffix(Path(output))
    searched = search(translator, sentence)
    if output is not None:
        write_tree(translator, searched, Path(output))
    tree = tree_text(searched.steps, searched.best, partial(name, translator))
    return "\n".join([*map(printable, title_of(searched)), "", tree])


def write_tree(translator: Translator, searched: Searched, output: Path) -> None:
    """The picture alone."""
    named, title = partial(name, translator), title_of(searched)
    write_picture(partial(draw_tree, searched.steps, searched.best, named, title), output)


def title_of(searched: Searched) -> tuple[str, ...]:
    """The sentence, its translation, and that the sentence was cut, if it was."""
    return searched.translated.fed.title + searched.translated.fed.remarks


def search(translator: Translator, sentence: str | Request) -> Searched:
    """Translate the sentence, and rebuild what the search has looked at."""
    if not translator.trained.model.has_decoder:
        raise UserError(
            "this model has no decoder, so nothing is searched: what it says is drawn by weft inspect frames"
        )
    with watching() as seen:
        translated = translate(translator, sentence)
    if "search.tokens" not in seen:
        raise UserError(
            "exhaustive search looks at more hypotheses than can be drawn: write --beam 3, or another translate.search"
        )
    steps = rebuild(seen)
    return Searched(translated, steps, end_of(steps, translated.hypothesis.tokens))


def name(translator: Translator, token: int) -> str:
    """How a token is shown."""
    return translator.trained.target_tokenizer.pieces([token])[0]
