"""Weft: sequence-to-sequence models that you can train on a laptop, inspect and serve.

weft.train(["train.en", "train.de"], out="runs/x", minutes=30)
weft.load("runs/x").translate("A man sleeps.").text
weft.finetune("runs/x", ["new.en", "new.de"], out="runs/y", mix=1)
weft.load(["runs/x", "runs/y"]).translate("A man sleeps.").text  # an ensemble
weft.load_language_model("runs/lm").complete("A man")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.config.yaml_files import PlainData
    from weft.inference.ensemble import EnsembleMean
    from weft.inference.language_model import Completer
    from weft.inference.translator import Translator
    from weft.models.model import Slot

__all__ = ["finetune", "load", "load_language_model", "train"]


def train(
    recipe_or_files: str | Path | Sequence[str | Path] | dict[str, PlainData],
    *,
    out: str | Path,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Path:
    """Train a model, and return the run folder.

    recipe_or_files: a recipe (a YAML file, or its content as a dict), or data files for which a recipe is chosen: two
    text files, one .tsv or one .jsonl. overrides: settings to change, such as "model.encoder.layers=6".

    Ctrl-C saves a checkpoint, then raises KeyboardInterrupt.
    """
    from weft.training.progress import open_display
    from weft.training.training_run import start_training

    names = [recipe_or_files] if isinstance(recipe_or_files, str | Path) else recipe_or_files
    source = names if isinstance(names, dict) else [str(name) for name in names]
    with open_display() as display:
        outcome = start_training(source, Path(out), display, settings=overrides, minutes=minutes, device=device)
    if outcome == "interrupted":
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
    keep_optimizer: bool = False,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Path:
    """Fine-tune the model in a run or model folder on new data, and return the new run folder.

    mix: original pairs per new pair. freeze: slots whose weights do not change. extend: at most this many new tokens
    (None: unknown letters and words only). Scores before and after are in the folder's finetuning_scores.json.

    Ctrl-C saves a checkpoint, then raises KeyboardInterrupt; the same call resumes.
    """
    from weft.training.finetuning import FinetuningFolder, compare_before_and_after
    from weft.training.finetuning import finetune as tune
    from weft.training.finetuning_recipe import FinetuningOptions
    from weft.training.progress import open_display

    folder = FinetuningFolder(Path(out))
    options = FinetuningOptions(mix, tuple(freeze), extend, keep_optimizer, tuple(overrides), minutes)
    with open_display() as display:
        if tune(Path(model), [str(file) for file in files], folder, display, options, device) == "interrupted":
            raise KeyboardInterrupt
        compare_before_and_after(folder, display, device)
    return Path(out)


def load(
    path: str | Path | Sequence[str | Path],
    *,
    weights: Sequence[float] | None = None,
    mean: EnsembleMean = "probabilities",
    beam: int | None = None,
    n_best: int | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Translator:
    """Load the model in a run or model folder for translation, or the models in several folders as an ensemble.

    An ensemble uses the search of its first model. weights: of the models (None: all equal). mean: what is averaged at
    each step. overrides: decoding settings, such as "translate.word_list=words.txt".
    """
    from weft.core.errors import UserError
    from weft.inference.ensemble import EnsembleOptions
    from weft.inference.loader import load_translator

    paths = [Path(path)] if isinstance(path, str | Path) else [Path(folder) for folder in path]
    if not paths:
        raise UserError("load: there is no folder: give the folder of a model, or of several")
    ensemble = EnsembleOptions(tuple(paths[1:]), None if weights is None else tuple(weights), mean)
    return load_translator(paths[0], device=device, beam=beam, n_best=n_best, overrides=overrides, ensemble=ensemble)


def load_language_model(
    path: str | Path, *, samples: int = 1, temperature: float = 1.0, seed: int = 1, device: str = "auto"
) -> Completer:
    """Load the language model in a run or model folder, which completes lines with `samples` samples each."""
    from weft.inference.language_model import load_language_model as load_trained
    from weft.inference.language_model import sampling_completer

    return sampling_completer(load_trained(Path(path), device), samples, temperature, seed)
