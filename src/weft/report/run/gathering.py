"""All that a page about a run tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from weft.core.errors import UserError
from weft.engine.load import load_translator
from weft.engine.translator import Translator
from weft.report.run.foreseen import Foreseen, foresee
from weft.report.run.held import Held, held_out, trained_on, typical
from weft.report.run.inside import Inside, look_inside
from weft.report.run.known import Known
from weft.report.run.measured import Measured, measure
from weft.report.run.origin import Origin, origin_of
from weft.report.run.outcome import Outcome, outcome_of
from weft.store.model_folder import Trained
from weft.store.place import fingerprint

TRIES = 3  # of a model that is replaced while it is read
NOTHING = "nothing was held out for validation (data.valid, data.hold_out)"
SAMPLE = 1000  # lines of the training data among which some are looked for


@dataclass(frozen=True)
class Wish:
    """What a person asks for. test: measure on the test data. lines: at most so many. sentences: of each kind."""

    test: bool = False
    lines: int = 1000
    sentences: int = 4
    device: str = "auto"

    @property
    def split(self) -> str:
        return "test" if self.test else "valid"


@dataclass(frozen=True)
class Gathered:
    """A run, its model if there is one, and what that does. unmeasured: why it was not measured.

    seen: were the sentences that are looked at those of the training data?
    """

    known: Known
    outcome: Outcome
    origin: Origin
    wish: Wish
    trained: Trained | None = None
    measured: Measured | None = None
    foreseen: Foreseen | None = None
    inside: Inside | None = None
    unmeasured: str = ""
    seen: bool = False


def gather(known: Known, wish: Wish) -> Gathered:
    """Let the model of the run speak, if there is one and there are lines for it."""
    found = Gathered(known, outcome_of(known), origin_of(known), wish)
    if known.model is None:
        return replace(found, unmeasured=no_model(known))
    translator = load_undisturbed(known.folder.path, wish.device)
    found = replace(found, trained=translator.trained)
    try:
        held = held_out(known, wish.split, wish.lines)
        return on_lines(found, translator, held) if held is not None else unheld(found, translator, NOTHING)
    except UserError as error:
        if wish.test:
            raise
        return unheld(found, translator, str(error))


def on_lines(found: Gathered, translator: Translator, held: Held) -> Gathered:
    """Measured on lines that were held out, and watched with some of them."""
    trained = translator.trained
    if trained.model.is_language_model:
        return replace(found, foreseen=foresee(trained, held))
    measured = measure(translator, held, name_of(trained))
    lines = [source for source, _ in typical(held.pairs, found.wish.sentences)]
    return replace(found, measured=measured, inside=look_inside(translator, lines))


def unheld(found: Gathered, translator: Translator, why: str) -> Gathered:
    """Where nothing can be measured: at least watched, with lines that the model has seen."""
    if translator.trained.model.is_language_model:
        return replace(found, unmeasured=why)
    lines = [source for source, _ in typical(trained_on(found.known, SAMPLE), found.wish.sentences)]
    return replace(found, unmeasured=why, inside=look_inside(translator, lines), seen=True)


def name_of(trained: Trained) -> str:
    return "best model" if trained.metrics.get("valid") else "last model"


def no_model(known: Known) -> str:
    settings = known.recipe.train
    first = min(settings.validation.every, settings.steps or settings.validation.every)
    return f"no model is written yet: the first one is at step {first:,}"


def load_undisturbed(path: Path, device: str) -> Translator:
    """The model, though the run may put a better one into its place while it is read."""
    for _ in range(TRIES - 1):
        before = fingerprint(path)
        try:
            return load_translator(path, device=device, language_models=True)
        except (UserError, OSError):
            if fingerprint(path) == before:
                raise
    return load_translator(path, device=device, language_models=True)
