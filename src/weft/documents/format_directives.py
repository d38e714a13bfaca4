"""Directives of format strings in gettext catalogs: %s, %1$d, {name}, ... by the flag of their message.

`msgfmt --check-format` compares the arguments that a message and its translation use, by number or name, and their
types. The rules here are at least as strict: a translation uses each argument as often as its message. Where directives
have no numbers, their order says which argument they take, so they get numbers if the translation changes the order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

Argument: TypeAlias = tuple[str, str]  # its number or name, and its type

_PERCENT = (
    r"%(?:(?P<escape>%)|(?:(?P<number>[0-9]{1,3})\$)?"
    r"(?:\((?P<name>[^()]{0,100})\))?"  # of Python
    r"(?:[-+ #0I]|'[^%\s]?){0,6}(?:\*(?:[0-9]{1,3}\$)?|[0-9]{1,9})?(?:\.(?:\*(?:[0-9]{1,3}\$)?|[0-9]{0,9}))?"
    r"(?P<type>(?:hh?|ll?|[Lqjztw])?[A-Za-z@]|<PRI\w{1,20}>|<\w{1,100}>[0-9.]{0,9}[a-z]|\{\w{1,100}\}))"
)
_BRACES = r"\{(?P<name>[^{}\s!:,.\[]{0,100}+)(?P<type>)[^{}]{0,200}+(?:\{[^{}]{0,100}+\}[^{}]{0,100}+){0,8}\}"


class DirectiveSyntax(NamedTuple):
    """How a kind of format string is written.

    pattern: of a directive, with the groups `number` or `name`, `type`, and `escape` if it stands for a character.
    doubled: characters that are doubled in the text around directives. forbidden: characters that it cannot have.
    is_numberable: whether a directive without number can get one, as %s and %1$s.
    """

    pattern: re.Pattern[str]
    doubled: str = ""
    forbidden: str = ""
    is_numberable: bool = False

    def find(self, text: str) -> list[re.Match[str]]:
        """Return the directives that take an argument."""
        return [match for match in self.pattern.finditer(text) if not match.groupdict().get("escape")]

    def spans(self, text: str) -> list[Span]:
        return [Span("placeholders", match[0], *match.span()) for match in self.pattern.finditer(text)]

    def arguments(self, text: str) -> Counter[Argument]:
        """Return the arguments that the text uses, and how often."""
        found = Counter[Argument]()
        for position, match in enumerate(self.find(text), start=1):
            groups = match.groupdict()
            key = groups.get("number") or groups.get("name") or str(position)
            found[key, groups.get("type") or match[0]] += 1
        return found

    def render(self, source: str, translation: MarkedText) -> str:
        """Return the format string of a translation: text is escaped, and directives in another order get numbers."""
        allowed = {match[0] for match in self.pattern.finditer(source)}
        text = translation.render(lambda part: self._escape(part, allowed))
        return self._number(source, text) if self.is_numberable else text

    def _escape(self, text: str, allowed: Collection[str]) -> str:
        """Double characters outside of directives. `allowed`: those that the source has, which may lack a span."""
        pieces, reached = list[str](), 0
        for match in self.pattern.finditer(text):
            if match[0] in allowed:
                pieces += [self._double(text[reached : match.start()]), match[0]]
                reached = match.end()
        return "".join([*pieces, self._double(text[reached:])])

    def _double(self, text: str) -> str:
        for char in self.doubled:
            text = text.replace(char * 2, char).replace(char, char * 2)
        return text

    def _number(self, source: str, text: str) -> str:
        directives = self.find(source)
        if any(match["number"] or match["name"] or "*" in match[0] for match in directives):
            return text
        places = defaultdict[str, deque[int]](deque)
        for position, match in enumerate(directives, start=1):
            places[match[0]].append(position)
        found = self.find(text)
        if Counter(match[0] for match in found) != Counter(match[0] for match in directives):
            return text
        order = [places[match[0]].popleft() for match in found]
        if order == sorted(order):
            return text
        numbers = iter(order)
        return self.pattern.sub(lambda m: m[0] if m["escape"] else f"%{next(numbers)}${m[0][1:]}", text)

    def reject(self, source: str, text: str) -> str | None:
        """Return why a format string is no translation of `source`, or None."""
        required, found = self.arguments(source), self.arguments(text)
        if required != found:
            key, kind = next(iter((required - found) + (found - required)))
            return f"the format directives differ: {kind if key.isdigit() else key}"
        rest = self.pattern.sub("", text)
        broken = [char for char in self.forbidden if char in rest and char not in self.pattern.sub("", source)]
        return f"the format string cannot have {broken[0]}" if broken else None


_C = DirectiveSyntax(re.compile(_PERCENT), doubled="%", is_numberable=True)
_ORDERED = _C._replace(is_numberable=False)
_DOUBLED_BRACES = DirectiveSyntax(re.compile(r"(?P<escape>\{\{|\}\})|" + _BRACES), doubled="{}")
_SINGLE_BRACES = DirectiveSyntax(re.compile(_BRACES))
_JAVA = DirectiveSyntax(re.compile(_BRACES), doubled="'", forbidden="{}")
_QT = DirectiveSyntax(re.compile(r"%L?(?P<number>[0-9]{1,2}|n)(?P<type>)"))
_SHELL = DirectiveSyntax(re.compile(r"\$\{?(?P<name>\w{1,100})\}?(?P<type>)"), forbidden="$")
_OTHER = DirectiveSyntax(
    re.compile(rf"%[0-9]{{1,2}}%|%\|[^|%]{{1,60}}\||{_PERCENT}|\{{[^{{}}]{{0,200}}\}}|~[^\s~]?|\$\{{?\w{{1,100}}\}}?"),
    forbidden="%{}~$",
)
_SYNTAXES: Mapping[str, DirectiveSyntax] = {
    **dict.fromkeys(("c", "objc", "c++", "gcc-internal", "gfc-internal", "php", "java-printf", "perl", "ruby"), _C),
    **dict.fromkeys(("python", "javascript", "lua", "awk", "object-pascal", "tcl", "elisp", "librep"), _ORDERED),
    **dict.fromkeys(("python-brace", "csharp"), _DOUBLED_BRACES),
    "perl-brace": _SINGLE_BRACES,
    "java": _JAVA,
    **dict.fromkeys(("qt", "qt-plural", "kde", "kde-kuit"), _QT),
    "sh": _SHELL,
}


def find_syntaxes(flags: Iterable[str]) -> list[DirectiveSyntax]:
    """Return the syntaxes of a message with flags such as c-format, possible-python-format and no-c-format."""
    kinds = [flag.removesuffix("-format").removeprefix("possible-") for flag in flags if flag.endswith("-format")]
    return [_SYNTAXES.get(kind, _OTHER) for kind in kinds if not kind.startswith(("no-", "impossible-"))]
