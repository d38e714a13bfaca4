"""HTML from Jinja2 templates: every value is escaped unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from weft.core.files import write_atomically

if TYPE_CHECKING:
    from jinja2 import Environment

# Characters that HTML does not allow: control characters except tab and line feed, and surrogates.
FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

Data = TypeVar("Data")


def write_page(path: Path, compute: Callable[[], Data], render: Callable[[Data], str]) -> Data:
    """Compute data, write the page that shows it, and return the data.

    Raise UserError before the computation if the path cannot be written.
    """
    computed: list[Data] = []

    def write(file: BinaryIO) -> None:
        computed.append(compute())
        file.write(render(computed[0]).encode())

    write_atomically(path, write)
    return computed[0]


def render_template(package: str, name: str, /, **values: object) -> str:
    """Render the file `name` of the folder "templates" of a package."""
    return template_environment(package).get_template(name).render(values)


@cache
def template_environment(package: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        finalize=_replace_forbidden,
    )


def _replace_forbidden(value: object) -> object:
    """Replace forbidden characters in text; Markup, which is a subclass of str, passes unchanged."""
    return FORBIDDEN_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value
