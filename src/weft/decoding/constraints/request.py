"""A line to translate and the constraints on its translation. Imports no torch: every command and backend uses it."""

from __future__ import annotations

from dataclasses import dataclass

from weft.text.protected_spans import SpanKind


@dataclass(frozen=True, slots=True)
class Request:
    """A line to translate with the constraints on its translation.

    - prefix: the beginning of the translation.
    - prefix_bias: None if the prefix is forced; otherwise how strongly it is preferred, between 0 and 1 (exclusive).
    - include: phrases that the translation contains as whole words; each is a tuple of alternatives, any one of which
      is enough. A phrase that is given twice must appear twice; different phrases may overlap.
    - ordered: how many of the first phrases of `include` must appear in this order.
    - exclude: phrases that the translation does not contain.
    - vocabulary: words whose tokens the translation consists of; None: any tokens.
    - protect: kinds of spans of the text that are copied unchanged (text/protected_spans.py).
    """

    text: str
    prefix: str = ""
    prefix_bias: float | None = None
    include: tuple[tuple[str, ...], ...] = ()
    ordered: int = 0
    exclude: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] | None = None
    protect: tuple[SpanKind, ...] = ()

    @classmethod
    def of(cls, line: str | Request) -> Request:
        """Return a line without constraints as a request; requests are returned as they are."""
        return cls(line) if isinstance(line, str) else line

    @property
    def is_plain(self) -> bool:
        """Whether there are no constraints on the search."""
        return not (self.prefix or self.include or self.exclude) and self.vocabulary is None
