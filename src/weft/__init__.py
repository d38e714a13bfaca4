"""Weft: sequence-to-sequence models that you can train on a laptop, look inside and serve.

weft.train(["train.en", "train.de"], out="runs/x", minutes=30)
weft.load("runs/x").translate(["A man sleeps."])[0].text
weft.finetune("runs/x", ["new.en", "new.de"], out="runs/y", mix=1)
weft.load(["runs/x", "runs/y"]).translate(["A man sleeps."])[0].text  # an ensemble
weft.load_language_model("runs/lm").complete("A man")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.config.document import Plain
    from weft.engine.completion import Completer
    from weft.engine.several import Mean
    from weft.engine.translator import Translator
    from weft.model.freezing import Slot

__all__ = ["finetune", "load", "load_language_model", "train"]


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


def finetune(
    model: str | Path,
    files: Sequence[str | Path],
    *,
    out: str | Path,
    mix: float = 0.0,
    freeze: Sequence[Slot] = (),
    extend: int | None = None,
    keep_optimiser: bool = False,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Path:
    """Let the model in a run or model folder learn new data, and return the new run folder.

    mix: so many old pairs for every new one. freeze: parts that stay as they are. extend: new pieces at most (None:
    letters and words that were unknown). What was gained and lost is in the folder's tuned.json.

    Ctrl-C saves everything, then raises KeyboardInterrupt; the same call goes on.
    """
    from weft.training.progress import display
    from weft.tuning.folder import TuningFolder
    from weft.tuning.run import Wish, compare
    from weft.tuning.run import finetune as tune

    wish = Wish(mix, tuple(freeze), extend, keep_optimiser, tuple(overrides), minutes, device)
    with display() as shown:
        if tune(Path(model), [str(file) for file in files], TuningFolder(Path(out)), shown, wish) == "interrupted":
            raise KeyboardInterrupt
        compare(TuningFolder(Path(out)), shown, device)
    return Path(out)


def load(
    path: str | Path | Sequence[str | Path],
    *,
    weights: Sequence[float] | None = None,
    mean: Mean = "probabilities",
    beam: int | None = None,
    best: int | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Translator:
    """The model in a run or model folder, ready to translate; or the models in several, as an ensemble.

    An ensemble is searched as its first model is configured. weights: how much each model counts (None: all the same).
    mean: what is averaged at each step. overrides: how the model is used, as "translate.words=words.txt".
    """
    from weft.core.errors import UserError
    from weft.engine.load import load_translator
    from weft.engine.several import Joining

    paths = [Path(path)] if isinstance(path, str | Path) else [Path(one) for one in path]
    if not paths:
        raise UserError("load: got no folder, wanted the folder of a model, or those of several")
    joining = Joining(tuple(paths[1:]), None if weights is None else tuple(weights), mean)
    return load_translator(paths[0], device=device, beam=beam, best=best, overrides=overrides, joining=joining)


def load_language_model(
    path: str | Path, *, samples: int = 1, temperature: float = 1.0, seed: int = 1, device: str = "auto"
) -> Completer:
    """The language model in a run or model folder, ready to complete lines with so many samples each."""
    from weft.engine.completion import load_language_model as load_trained
    from weft.engine.completion import sampled

    return sampled(load_trained(Path(path), device), samples, temperature, seed)
