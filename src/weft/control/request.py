"""What one line asks for: the text, and what its translation is to be like."""

from __future__ import annotations

from dataclasses import dataclass

from weft.control.spans import Kind


@dataclass(frozen=True, slots=True)
class Request:
    """A line to translate, with what is asked of its translation.

    prefix: how it begins. bias: None, then it surely begins so; or how much it is drawn to the prefix, more than 0 and
    less than 1, as far as it follows it. include: phrases that stand in it as whole words, each given with its
    alternatives, of which any one will do; one that is given twice stands there twice, different ones may overlap.
    ordered: how many of the first of these come in this order, one after the other. exclude: phrases that do not stand
    in it. vocabulary: words, of whose pieces it is made; None: of all. protect: kinds of spans of the text that stand
    in it letter for letter (spans.py).
    """

    text: str
    prefix: str = ""
    bias: float | None = None
    include: tuple[tuple[str, ...], ...] = ()
    ordered: int = 0
    exclude: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] | None = None
    protect: tuple[Kind, ...] = ()

    @classmethod
    def of(cls, line: str | Request) -> Request:
        """A line that asks for nothing else, if it is no request already."""
        return cls(line) if isinstance(line, str) else line

    @property
    def is_plain(self) -> bool:
        """Does it ask for nothing that a search would have to be guided for?"""
        return not (self.prefix or self.include or self.exclude) and self.vocabulary is None
