"""Plural forms of gettext: the expression that maps a number to the index of its form, and those of common languages.

https://www.gnu.org/software/gettext/manual/html_node/Plural-forms.html; the rules of languages are those of CLDR.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from weft.documents.document import DocumentError

PluralExpression: TypeAlias = Callable[[int], int]

MAX_FORMS, MAX_LENGTH, MAX_DEPTH = 10, 500, 60
NUMBERS = range(1001)  # that a form is computed for
OFTEN = 5  # msgfmt requires all placeholders in a form that more numbers of this range have
FIELD = re.compile(r"\s*nplurals\s*=\s*([0-9]{1,3})\s*;\s*plural\s*=\s*([^;]+);?\s*")
TOKEN = re.compile(r"\s*([0-9]{1,9}|n|==|!=|<=|>=|&&|\|\||[-+*/%<>!?:()])")
PRECEDENCE: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.floordiv, "%": operator.mod},
)
_SLAVIC = "n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
_RULES = {  # number of forms, expression: languages
    (1, "0"): "dz id ig ja jv km ko lo ms my su th vi yo zh",
    (2, "n != 1"): (
        "af ast az bg ca da de el en eo es et eu fi fo fy gl he hu ia it ka kk ky lb ml mn mr nb ne nl nn no or ps "
        "pt-PT rm so sq sv sw ta te tk tr ug ur uz"
    ),
    (2, "n > 1"): "am as bn fa fil fr gu hi hy kn ln mg oc pa pt si ti tl wa zu",
    (2, "n%10!=1 || n%100==11"): "is mk",
    (3, "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2"): "cs sk",
    (3, f"n==1 ? 0 : {_SLAVIC}"): "pl",
    (3, f"n%10==1 && n%100!=11 ? 0 : {_SLAVIC}"): "be bs hr ru sr uk",
    (3, "n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2"): "lt",
    (3, "n%10==1 && n%100!=11 ? 0 : n!=0 ? 1 : 2"): "lv",
    (3, "n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2"): "ro",
    (4, "n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3"): "dsb hsb sl",
    (4, "n==1 || n==11 ? 0 : n==2 || n==12 ? 1 : n>2 && n<20 ? 2 : 3"): "gd",
    (4, "n==1 ? 0 : n==0 || (n%100>1 && n%100<11) ? 1 : n%100>10 && n%100<20 ? 2 : 3"): "mt",
    (5, "n==1 ? 0 : n==2 ? 1 : n>2 && n<7 ? 2 : n>6 && n<11 ? 3 : 4"): "ga",
    (6, "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n==3 ? 3 : n==6 ? 4 : 5"): "cy",
    (6, "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5"): "ar",
}
PLURAL_FIELDS: Mapping[str, str] = {
    language: f"nplurals={count}; plural={f'({rule})' if rule != '0' else rule};"
    for (count, rule), languages in _RULES.items()
    for language in languages.split()
}


def plural_field(language: str) -> str | None:
    """Return the Plural-Forms field for a language such as de, pt-BR or zh_Hans; None if its rule is not known."""
    parts = re.split(r"[-_@.]", language)
    region = f"{parts[0].lower()}-{parts[1].upper()}" if len(parts) > 1 else ""
    return PLURAL_FIELDS.get(region) or PLURAL_FIELDS.get(parts[0].lower())


class PluralForms(NamedTuple):
    """size: how many forms there are. forms: the index of the form for each of `NUMBERS`."""

    size: int
    forms: tuple[int, ...]

    @classmethod
    def parse(cls, field: str) -> PluralForms:
        """Parse "nplurals=2; plural=n != 1;"; raise DocumentError if it is not of this kind."""
        match = FIELD.fullmatch(field) if len(field) <= MAX_LENGTH else None
        if match is None:
            raise DocumentError("Plural-Forms of the header is not nplurals=COUNT; plural=EXPRESSION;. Correct it")
        count, expression = int(match[1]), _parse_expression(match[2])
        try:
            forms = tuple(int(expression(number)) for number in NUMBERS)
        except ZeroDivisionError:
            raise DocumentError("Plural-Forms of the header divides by zero. Correct it") from None
        if not 1 <= count <= MAX_FORMS or min(forms) < 0 or max(forms) >= count:
            raise DocumentError(
                f"Plural-Forms of the header has {count} forms (1 to {MAX_FORMS} are possible), and its expression "
                f"yields {min(forms)} to {max(forms)}. Correct it"
            )
        return cls(count, forms)

    @property
    def singular(self) -> int | None:
        """The form of one, if others have another form."""
        return self.forms[1] if self.size > 1 else None

    def is_frequent(self, form: int) -> bool:
        """Whether so many numbers have the form that a placeholder for the number cannot be left out."""
        return Counter(self.forms)[form] > OFTEN


def _parse_expression(text: str) -> PluralExpression:
    tokens, position = list[str](), 0
    text = text.strip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise DocumentError(f"Plural-Forms of the header has an unknown character {text[position]!r}. Correct it")
        tokens.append(match[1])
        position = match.end()
    parser = _ExpressionParser(tokens)
    expression = parser.parse_conditional(0)
    parser.expect("")
    return expression


class _ExpressionParser:
    """Precedence climbing over the operators of C. `depth` counts nested expressions."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, ""]
        self._next = 0

    def expect(self, token: str) -> None:
        if not self._accept(token):
            found = self._tokens[self._next] or "the end"
            raise DocumentError(
                f"Plural-Forms of the header: {token or 'the end'} is expected, not {found}. Correct it"
            )

    def _accept(self, token: str) -> bool:
        is_next = self._tokens[self._next] == token
        self._next += is_next
        return is_next

    def parse_conditional(self, depth: int) -> PluralExpression:
        if depth > MAX_DEPTH:
            raise DocumentError(f"Plural-Forms of the header is nested more than {MAX_DEPTH} deep. Correct it")
        condition = self._parse_binary(0, depth)
        if not self._accept("?"):
            return condition
        positive = self.parse_conditional(depth + 1)
        self.expect(":")
        negative = self.parse_conditional(depth + 1)
        return lambda n: positive(n) if condition(n) else negative(n)

    def _parse_binary(self, level: int, depth: int) -> PluralExpression:
        if level == len(PRECEDENCE):
            return self._parse_unary(depth)
        expression = self._parse_binary(level + 1, depth)
        while (function := PRECEDENCE[level].get(self._tokens[self._next])) is not None:
            self._next += 1
            expression = _combine(function, expression, self._parse_binary(level + 1, depth))
        return expression

    def _parse_unary(self, depth: int) -> PluralExpression:
        if self._accept("!"):
            negated = self._parse_unary_operand(depth)
            return lambda n: int(not negated(n))
        if self._accept("("):
            inner = self.parse_conditional(depth + 1)
            self.expect(")")
            return inner
        token = self._tokens[self._next]
        if token == "n":  # noqa: S105
            self._next += 1
            return lambda n: n
        if not token.isdigit():
            raise DocumentError(
                f"Plural-Forms of the header: a number is expected, not {token or 'the end'}. Correct it"
            )
        self._next += 1
        value = int(token)
        return lambda _: value

    def _parse_unary_operand(self, depth: int) -> PluralExpression:
        if depth >= MAX_DEPTH:
            raise DocumentError(f"Plural-Forms of the header is nested more than {MAX_DEPTH} deep. Correct it")
        return self._parse_unary(depth + 1)


def _combine(function: Callable[[int, int], int], left: PluralExpression, right: PluralExpression) -> PluralExpression:
    return lambda n: function(left(n), right(n))
