"""weft translate --interactive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import refuse

if TYPE_CHECKING:
    from weft.control.asking import Asking
    from weft.engine.translator import Translator

Interactive = Annotated[
    bool,
    typer.Option("--interactive", "-i", help="Type sentences, see how sure the model is, and choose other words."),
]


def check_interactive(files: Mapping[str, object], engines: Mapping[str, object], protect: str | None) -> None:
    """Before anything is loaded: is all else for a person who types? By their names; false if not given."""
    refuse("--interactive is for a person who types", files, "for files and programs")
    refuse("--interactive looks inside a model, as only the engine torch can", engines, "for another engine")
    refuse("--interactive shows one output", {"--protect": protect}, "for lines that may be cut into parts")


def talk_with(translator: Translator, asking: Asking, settings: Sequence[str], best: int | None) -> None:
    """Let a person type; if they do not say how many outputs they want to see, those of the whole beam."""
    from weft.prompt.loop import talk
    from weft.prompt.searching import telling_all
    from weft.prompt.state import State

    state = State(translator, tuple(settings), asking)
    try:
        talk(state if best is not None else telling_all(state))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
