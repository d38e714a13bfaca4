"""Weft: sequence-to-sequence models that you can train on a laptop, look inside and serve.

weft.train("recipe.yaml", out="runs/x")
weft.load("runs/x").translate(["A man sleeps."])[0].text
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.config.document import Plain
    from weft.engine.translator import Translator

__all__ = ["load", "train"]


def train(
    recipe: str | Path | dict[str, Plain], *, out: str | Path, overrides: Sequence[str] = (), device: str = "auto"
) -> Path:
    """Train a model as a recipe (a YAML file, or the same as plain data) says; returns the run folder.

    Ctrl-C saves everything, then raises KeyboardInterrupt.
    """
    from weft.config.load import load_recipe
    from weft.training.progress import display
    from weft.training.run import start

    loaded = load_recipe(Path(recipe) if isinstance(recipe, str) else recipe, overrides)
    with display() as shown:
        end = start(loaded, Path(out), shown, device)
    if end == "interrupted":
        raise KeyboardInterrupt
    return Path(out)


def load(path: str | Path, *, beam: int | None = None, best: int | None = None, device: str = "auto") -> Translator:
    """The model in a run or model folder, ready to translate."""
    from weft.engine.load import load_translator

    return load_translator(Path(path), device=device, beam=beam, best=best)
