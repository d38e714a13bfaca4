"""Several systems on the same lines: their scores, how sure these are, where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.metric.breakdown import Class, by_frequency, by_length, frequencies, word_lengths
from weft.metric.confusions import Confusion, confusions
from weft.metric.counts import Counts, Numbers
from weft.metric.evaluate import METRICS, count, scored, with_interval
from weft.metric.lines import DEFAULTS, Options
from weft.metric.material import Material
from weft.metric.score import Better, Score
from weft.metric.significance import SAMPLES, SEED, TRIALS, Test, approximate_randomisation, paired_bootstrap, resample

MOST_CONFUSIONS = 12


@dataclass(frozen=True)
class Settings:
    """How systems are compared."""

    metrics: Sequence[str] = ("bleu", "chrf", "ter")
    options: Options = DEFAULTS
    test: Test = "randomisation"
    samples: int = SAMPLES  # of the bootstrap, for intervals and for its test
    trials: int = TRIALS  # of approximate randomisation
    seed: int = SEED

    def test_told(self) -> str:
        return "paired bootstrap" if self.test == "bootstrap" else f"approximate randomisation, {self.trials:,} trials"


class Result(NamedTuple):
    """A system's score by one metric; p of the difference to the first system, which has none itself."""

    system: str
    score: Score
    p: float | None


class Sentences(NamedTuple):
    """The score of each line by itself, [systems,L]."""

    metric: str
    better: Better
    scores: Numbers

    def goodness(self) -> Numbers:
        """The same, so that more is better."""
        return self.scores if self.better == "higher" else -self.scores


class Comparison(NamedTuple):
    """What is known of some systems; `results` by metric, everything in the order of the systems."""

    material: Material
    settings: Settings
    results: Mapping[str, Sequence[Result]]
    lengths: Sequence[Class]
    frequencies: Sequence[Class]
    trained: bool  # frequencies are those of a training text; False: of the references

    def names(self) -> list[str]:
        return [system.name for system in self.material.systems]

    def edits(self) -> list[Score]:
        """Word error rates, with what had to be changed."""
        counted = _counts(self.material, ["wer"], self.settings.options)["wer"]
        return [scored("wer", counts) for counts in counted]

    def confusions(self) -> list[list[Confusion]]:
        """What each system most often confuses."""
        return [confusions(lines, self.settings.options, MOST_CONFUSIONS) for lines in self.material.lines()]

    def sentences(self, metric: str) -> Sentences:
        """The score of each line by itself."""
        counted = _counts(self.material, [metric], self.settings.options)[metric]
        return Sentences(metric, METRICS[metric].better, np.array([counts.sentence_scores() for counts in counted]))

    def told(self) -> str:
        """How it was done, for people who want to do the same again."""
        intervals = f"± holds 95 % of {self.settings.samples:,} bootstrap samples"
        test = f"; p: {self.settings.test_told()}, against the first system" if len(self.names()) > 1 else ""
        return f"{intervals}{test}; seed {self.settings.seed}"

    def metric(self) -> str:
        """The one by which lengths are told."""
        return self.settings.metrics[0]

    def length_of(self) -> str:
        return "reference" if self.material.sources is None else "source"

    def length_title(self) -> str:
        return f"{self.metric()} by the length of the {self.length_of()}, in words"

    def frequency_title(self) -> str:
        return f"Words found, by how often they stand in the {'training text' if self.trained else 'references'}"


def compare(material: Material, settings: Settings, training: Iterable[str] | None = None) -> Comparison:
    """Compare each system with the first; `training` is text in the language of the outputs."""
    if not settings.metrics:
        raise UserError("there is no metric to compare by")
    firsts = [row[0] for row in material.references]
    seen = frequencies(firsts if training is None else training, settings.options)
    by_metric = _counts(material, settings.metrics, settings.options)
    return Comparison(
        material=material,
        settings=settings,
        results={name: _results(name, counts, material, settings) for name, counts in by_metric.items()},
        lengths=by_length(by_metric[settings.metrics[0]], word_lengths(material.sources or firsts)),
        frequencies=by_frequency(material.lines(), seen, settings.options),
        trained=training is not None,
    )


def score_systems(material: Material, settings: Settings) -> dict[str, list[Result]]:
    """By each metric the scores of the systems, and nothing else."""
    counted = _counts(material, settings.metrics, settings.options)
    return {name: _results(name, counts, material, settings) for name, counts in counted.items()}


def _counts(material: Material, metrics: Sequence[str], options: Options) -> dict[str, list[Counts]]:
    """By metric what was counted for each system."""
    counted = [count(lines, metrics, options) for lines in material.lines()]
    return {name: [counts[name] for counts in counted] for name in dict.fromkeys(metrics)}


def _results(metric: str, systems: Sequence[Counts], material: Material, settings: Settings) -> list[Result]:
    samples = [resample(counts, settings.samples, settings.seed) for counts in systems]
    found = []
    for system, counts, sampled in zip(material.systems, systems, samples, strict=True):
        score = with_interval(metric, counts, sampled)
        if counts is systems[0]:
            p = None
        elif settings.test == "bootstrap":
            p = paired_bootstrap(samples[0], sampled)
        else:
            p = approximate_randomisation(systems[0], counts, settings.trials, settings.seed)
        found.append(Result(system.name, score, p))
    return found
