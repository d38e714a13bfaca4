"""Weft: sequence-to-sequence models that you can train on a laptop, look inside and serve.

weft.train(["train.en", "train.de"], out="runs/x", minutes=30)
weft.load("runs/x").translate(["A man sleeps."])[0].text
weft.load_language_model("runs/lm").complete("A man")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.config.document import Plain
    from weft.engine.completion import Completer
    from weft.engine.translator import Translator

__all__ = ["load", "load_language_model", "train"]


def train(
    what: str | Path | Sequence[str | Path] | dict[str, Plain],
    *,
    out: str | Path,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Path:
    """Train a model, and return the run folder.

    what: a recipe (a YAML file, or the same as plain data), or data files for which one is chosen: two text files, one
    .tsv or one .jsonl. overrides: settings to change, as "model.encoder.layers=6".

    Ctrl-C saves everything, then raises KeyboardInterrupt.
    """
    from weft.training.progress import display
    from weft.training.start import start

    names = [what] if isinstance(what, str | Path) else what
    given = names if isinstance(names, dict) else [str(name) for name in names]
    with display() as shown:
        end = start(given, Path(out), shown, settings=overrides, minutes=minutes, device=device)
    if end == "interrupted":
        raise KeyboardInterrupt
    return Path(out)


def load(path: str | Path, *, beam: int | None = None, best: int | None = None, device: str = "auto") -> Translator:
    """The model in a run or model folder, ready to translate."""
    from weft.engine.load import load_translator

    return load_translator(Path(path), device=device, beam=beam, best=best)


def load_language_model(
    path: str | Path, *, samples: int = 1, temperature: float = 1.0, seed: int = 1, device: str = "auto"
) -> Completer:
    """The language model in a run or model folder, ready to complete lines with so many samples each."""
    from weft.engine.completion import load_language_model as load_trained
    from weft.engine.completion import sampled

    return sampled(load_trained(Path(path), device), samples, temperature, seed)
