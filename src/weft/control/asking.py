"""How the lines of an input become requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from weft.control.glossary import Glossary
from weft.control.json_lines import read_requests
from weft.control.request import Request
from weft.control.spans import Kind


@dataclass(frozen=True)
class Asking:
    """What is asked of every line: that a glossary is kept to, that the output begins with a prefix, that spans of
    these kinds are copied.

    as_json: each line is a JSON object that says what it asks for; a prefix of its own counts before that of all, and
    so do kinds of spans. Of a blank line nothing is asked but what it says itself.
    """

    glossary: Glossary | None = None
    prefix: str = ""
    as_json: bool = False
    protect: tuple[Kind, ...] = ()

    def __call__(self, lines: Iterable[str]) -> Iterator[Request]:
        """A request for each line."""
        requests = read_requests(lines) if self.as_json else map(Request, lines)
        return map(self._more, requests)

    def _more(self, request: Request) -> Request:
        if not request.text.strip():
            return request
        if self.prefix or self.protect:
            request = replace(request, prefix=request.prefix or self.prefix, protect=request.protect or self.protect)
        return request if self.glossary is None else self.glossary.applied(request)


PLAIN = Asking()
