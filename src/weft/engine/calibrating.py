"""How far the scores of a model can be trusted, found on lines whose right translations are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.core.errors import UserError
from weft.engine.evaluation import read_examples, sources_for
from weft.engine.translator import Translator
from weft.metric.calibration import Calibrated, calibrate
from weft.metric.costs import line_cost
from weft.store.calibration import save_calibration


@dataclass(frozen=True)
class Good:
    """When a translation is good: if it is the reference, or if its chrF is at least `chrf`, from 0 to 100."""

    chrf: float | None

    def __call__(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> list[bool]:
        """Whether each text is, beside the best of its references."""
        cost, most = (line_cost("exact"), 0.0) if self.chrf is None else (line_cost("chrf"), 1 - self.chrf / 100)
        pairs = zip(texts, references, strict=True)
        return [min(cost(text, reference) for reference in row) <= most + 1e-9 for text, row in pairs]

    def __str__(self) -> str:
        return "as the reference" if self.chrf is None else f"chrF {self.chrf:g} or more"


def calibrate_model(translator: Translator, folder: Path, files: Sequence[Path], good: Good) -> Calibrated:
    """Translate the sources, compare with the references, fit, and keep the result in the model's folder."""
    examples = read_examples(files)
    translations = translator.translate(sources_for(translator, examples))
    kept = [number for number, one in enumerate(translations) if one.alternatives[0].pieces]  # not blank, not failed
    bests = [translations[number].alternatives[0] for number in kept]
    are_good = good([one.text for one in bests], [examples.references[number] for number in kept])
    if are_good and len(set(are_good)) == 1:
        which = "all" if are_good[0] else "none"
        raise UserError(
            f"{which} of the {len(kept)} translations are good ({good}), so nothing can be learned from their scores: "
            "write another --chrf, or give other lines"
        )
    calibrated = calibrate([(one.score, len(one.piece_scores)) for one in bests], are_good)
    save_calibration(folder, calibrated, str(good))
    return calibrated


def render(calibrated: Calibrated, good: Good) -> str:
    """For a person: the error, and what the bins hold."""
    first = f"{calibrated.lines:,} lines, {calibrated.good:.1%} of them good ({good})"
    second = f"calibration error {calibrated.error:.4f} (on lines that were not used for it, in five parts)"
    rows = [f"{one.lines:>7,}  {one.confidence:>10.2f}  {one.good:>4.2f}" for one in calibrated.bins]
    return "\n".join([first, second, "", "  lines  confidence  good", *rows])
