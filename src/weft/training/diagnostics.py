"""Diagnose a run from its log: learning rate too high, exploding gradient (Pascanu et al. 2013), overfitting,
repetition (Welleck et al. 2020), copying, non-finite loss, unsuitable vocabulary, too little data. Each diagnosis names
what was observed, the likely cause and the setting to change, and is reported once per run; thresholds are wide.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from statistics import median
from typing import Any, NamedTuple

from weft.checkpoints.run_log import TrainingHistory, best_validation
from weft.config.recipe import Recipe, TrainingConfig
from weft.config.serialization import to_dict
from weft.core.codec import Codec
from weft.data.corpus import Corpus
from weft.data.data_report import DataReport
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.scores import Segments

CONSECUTIVE_REPORTS = 3  # a single report may be the noise of a batch
RECENT_REPORTS = 10  # a slower rise has other reasons, such as an objective that becomes harder
LOSS_RISE = 0.1  # relative; more than the means of two reports differ by chance
LOST_PROGRESS = 1 / 3  # of the decrease of the loss so far
MAX_CLIP_RATIO = 50  # times train.clip_norm; ordinary runs start at a few times clip_norm and soon fall below it
MAX_NORM_RATIO = 100  # times the median, without clipping
MIN_EARLIER_REPORTS = 3  # for a median

CONSECUTIVE_VALIDATIONS = 3
OVERFITTING_RISE = 0.02  # relative; a smaller rise of the loss may be chance
REPETITION_LIMIT = 10.0  # percent of bigrams, in excess of the references
COPY_LIMIT = 30.0  # percent of words
PERSISTENCE = 0.8  # of the first of these validations; a model that has learned little repeats and copies for a while

MAX_UNKNOWN_SHARE = 0.1  # of tokens; word tokenizers of published systems leave a few percent unknown
MAX_BYTE_SHARE = 0.1  # of tokens
MIN_TOKEN_LENGTH = 1.25  # characters; with 8,000 tokens, English has 3 to 5, Chinese 1.4
VOCABULARY_SAMPLE = 1000  # pairs
MIN_TRAINING_PAIRS = 300  # far below what any task needs
SUBWORD_TOKENIZERS = ("bpe", "wordpiece", "unigram")


class RunDiagnosis(NamedTuple):
    diagnosis: str  # its name; each is reported once per run
    observation: str
    cause: str
    advice: str

    def message(self) -> str:
        return f"diagnosis: {self.observation}.\n  likely cause: {self.cause}\n  what to change: {self.advice}"

    def record(self, step: int) -> dict[str, Any]:
        """Return the record for the log."""
        return {"step": step, **self._asdict()}


def run_diagnostics(history: TrainingHistory, settings: TrainingConfig) -> Iterator[RunDiagnosis]:
    """Yield the diagnoses that hold now and are not in the history yet."""
    for diagnose in DIAGNOSTIC_CHECKS:
        found = diagnose(history, settings)
        if found is not None and found.diagnosis not in history.diagnoses:
            yield found


def diagnose_high_learning_rate(history: TrainingHistory, settings: TrainingConfig) -> RunDiagnosis | None:
    """In all recent reports the loss is above its initial value, or a third of the progress was suddenly lost."""
    losses = [report["loss"] for report in history.reports]
    if len(losses) <= CONSECUTIVE_REPORTS:
        return None
    first, now = losses[0], min(losses[-CONSECUTIVE_REPORTS:])
    lowest = min(losses[-CONSECUTIVE_REPORTS - RECENT_REPORTS : -CONSECUTIVE_REPORTS])
    if now > first + LOSS_RISE * abs(first):
        observation = f"the training loss is {now:.2f}, above its initial value of {first:.2f}"
    elif now > lowest + LOSS_RISE * abs(lowest) and now - lowest > LOST_PROGRESS * (first - lowest) > 0:
        observation = f"the training loss rose from {lowest:.2f} to {now:.2f} within a few reports"
    else:
        return None
    rate = history.reports[-1].get("learning_rate")
    cause = "the learning rate is too high" + ("" if rate is None else f" ({rate:.2g} now)")
    return RunDiagnosis("high-learning-rate", observation, cause, _learning_rate_advice(settings))


def _learning_rate_advice(settings: TrainingConfig) -> str:
    clip = ", train.clip_norm=1" if settings.clip_norm is None else ""
    return f"half of train.schedule.learning_rate, or a longer train.schedule.warmup_steps{clip}"


def diagnose_exploding_gradient(history: TrainingHistory, settings: TrainingConfig) -> RunDiagnosis | None:
    """The mean gradient norm is out of proportion (Pascanu, Mikolov & Bengio 2013).

    Where gradients are clipped, a few large ones do no harm: several reports in a row must agree. Otherwise one is
    enough.
    """
    norms, clip_norm = [report["gradient_norm"] for report in history.reports], settings.clip_norm
    advice = _learning_rate_advice(settings)
    if clip_norm is not None:
        if len(norms) < CONSECUTIVE_REPORTS or min(norms[-CONSECUTIVE_REPORTS:]) <= MAX_CLIP_RATIO * clip_norm:
            return None
        observation = f"the gradient norm is {norms[-1] / clip_norm:,.0f} times train.clip_norm, and stays that high"
        advice += "; if the loss falls nevertheless, a larger train.clip_norm"
    else:
        if len(norms) <= MIN_EARLIER_REPORTS or norms[-1] <= MAX_NORM_RATIO * (usual := median(norms[:-1])):
            return None
        observation = f"the gradient norm is {norms[-1]:,.0f}, and was {usual:.2g} before"
    cause = "the gradient explodes: the learning rate is too high, weights are too large, or some pairs do not match"
    return RunDiagnosis("exploding-gradient", observation, cause, advice)


def diagnose_overfitting(history: TrainingHistory, settings: TrainingConfig) -> RunDiagnosis | None:
    """The validation loss rises while the training loss falls, and train.validation.best_metric has not improved.

    The loss alone may rise while translations still improve.
    """
    last = history.validations[-CONSECUTIVE_VALIDATIONS - 1 :]
    if len(last) <= CONSECUTIVE_VALIDATIONS or any("loss" not in validation for validation in last):
        return None
    losses = [validation["loss"] for validation in last]
    before, now = (history.training_loss(validation["step"]) for validation in (last[0], last[-1]))
    rising = losses == sorted(set(losses)) and losses[-1] > losses[0] + OVERFITTING_RISE * abs(losses[0])
    if not rising or before is None or now is None or now >= before:
        return None
    best = best_validation(history.validations, settings.validation.best_metric)
    if best is not None and best.step >= last[1]["step"]:
        return None
    return RunDiagnosis(
        "overfitting",
        f"the validation loss rose from {losses[0]:.2f} to {losses[-1]:.2f} in {CONSECUTIVE_VALIDATIONS} validations, "
        f"while the training loss fell from {before:.2f} to {now:.2f}",
        "the model overfits the training data, or the validation data is of another kind",
        "train.validation.patience=3 to stop early (best/ holds the best model so far), a higher dropout, more data, "
        "or a smaller model",
    )


def output_statistics(lines: Segments) -> dict[str, float]:
    """Return the percentages of repeated bigrams and copied words in the outputs, which validation logs."""
    references = Segments([row[0] for row in lines.references], lines.references, lines.sources)
    repetition, copied = (score.value for score in evaluate(lines, ("repetition", "copy")))
    (reference_repetition,) = (score.value for score in evaluate(references, ("repetition",)))
    return {"repetition": repetition, "repetition_of_references": reference_repetition, "copy": copied}


def diagnose_repetition(history: TrainingHistory, settings: TrainingConfig) -> RunDiagnosis | None:  # noqa: ARG001
    """Outputs repeat bigrams far more often than references do (Welleck et al. 2020)."""
    found = _logged_statistics(history)
    if not _stays_above([one["repetition"] - one["repetition_of_references"] for one in found], REPETITION_LIMIT):
        return None
    return RunDiagnosis(
        "repetition",
        f"{found[-1]['repetition']:.0f} % of the bigrams in outputs repeat one earlier in the line; in the references, "
        f"{found[-1]['repetition_of_references']:.0f} % do",
        "the decoder loops: it has learned too little, or does not attend to the source",
        "a longer run (train.steps), a lower train.schedule.learning_rate, or for decoding "
        "translate.no_repeat_ngram_size=4",
    )


def diagnose_copying(history: TrainingHistory, settings: TrainingConfig) -> RunDiagnosis | None:  # noqa: ARG001
    """Outputs contain many source words that no reference has."""
    found = _logged_statistics(history)
    if not _stays_above([one["copy"] for one in found], COPY_LIMIT):
        return None
    return RunDiagnosis(
        "copying",
        f"{found[-1]['copy']:.0f} % of the words in outputs are source words that no reference has",
        "the model copies: in some training pairs the target equals the source, or the languages are mixed up",
        "data.train: weft check finds pairs with identical sides, and --fix removes them",
    )


def _logged_statistics(history: TrainingHistory) -> list[dict[str, float]]:
    return [one["output_statistics"] for one in history.validations if "output_statistics" in one]


def _stays_above(shares: Sequence[float], limit: float) -> bool:
    """Return whether the last values all exceed the limit, and hardly decrease."""
    last = shares[-CONSECUTIVE_VALIDATIONS:]
    return len(last) == CONSECUTIVE_VALIDATIONS and min(last) > limit and last[-1] >= PERSISTENCE * last[0]


DIAGNOSTIC_CHECKS: tuple[Callable[[TrainingHistory, TrainingConfig], RunDiagnosis | None], ...] = (
    diagnose_high_learning_rate,
    diagnose_exploding_gradient,
    diagnose_overfitting,
    diagnose_repetition,
    diagnose_copying,
)


def nonfinite_diagnosis(step: int) -> RunDiagnosis:
    """Return the diagnosis for update `step`, which was not applied because of a non-finite number."""
    return RunDiagnosis(
        "non-finite",
        f"step {step}: the loss or its gradient is no longer a finite number, and the run has stopped",
        "The learning rate is probably too high",
        "Start again in another --out with half of train.schedule.learning_rate, a longer "
        "train.schedule.warmup_steps, or train.clip_norm=1: this run would only reach the same step again",
    )


def diagnose_small_corpus(recipe: Recipe, report: DataReport) -> list[RunDiagnosis]:
    """Return a diagnosis, before training, if there are few pairs and the weights start at random."""
    pairs = report.splits[0].pairs_kept
    if pairs >= MIN_TRAINING_PAIRS or recipe.train.initial_model is not None:
        return []
    lines = "lines" if recipe.data.monolingual else "pairs"
    observation = f"there are only {pairs:,} {lines} to learn from"
    if len(report.splits) == 1:
        observation += ", and none are held out to measure what is learned"
    return [
        RunDiagnosis(
            "too-little-data",
            observation,
            f"a model that starts with random weights needs thousands of {lines}: with fewer it learns them by heart",
            f"more {lines} of the same kind (weft datasets has some), or start from a trained model: weft finetune "
            "MODEL FILES",
        )
    ]


def diagnose_vocabulary(
    recipe: Recipe, report: DataReport, train: Corpus, codecs: tuple[Codec, Codec]
) -> list[RunDiagnosis]:
    """Return at most one diagnosis per side, before training: unknown tokens, bytes, or very short tokens."""
    found = []
    for number, side in enumerate(("source", "target")):
        has_own = number == 1 and recipe.text.target is not None
        place, trainer = ("text.target", recipe.text.target) if has_own else ("text.source", recipe.text.source)
        observation = next(_token_problems(report, number), None)
        if observation is None and to_dict(trainer)["type"] in SUBWORD_TOKENIZERS:
            lines = [pair[number] for pair in islice(train.pairs(), VOCABULARY_SAMPLE)]
            observation = _short_tokens(side, lines, codecs[number])
        if observation is not None:
            advice = f"{place}: a larger vocab_size, or the type bpe, which can spell every word"
            if recipe.train.initial_model is not None:
                advice = "weft finetune --extend-vocabulary N, which adds tokens of the new data to the vocabulary"
            cause = "the vocabulary does not fit the data: it is too small, or was learned from other text"
            found.append(RunDiagnosis(f"{side}-vocabulary", observation, cause, advice))
    return found


def _token_problems(report: DataReport, number: int) -> Iterator[str]:
    for split in report.splits:
        side, statistics = ("target", split.target) if number else ("source", split.source)
        if statistics.unknown_share > MAX_UNKNOWN_SHARE:
            yield f"{statistics.unknown_share:.0%} of the {side} tokens of {split.name} are unknown"
        if (statistics.byte_share or 0.0) > MAX_BYTE_SHARE:
            yield f"{statistics.byte_share:.0%} of the {side} tokens of {split.name} are single bytes"


def _short_tokens(side: str, lines: Sequence[str], codec: Codec) -> str | None:
    """Describe subword tokens that are hardly longer than characters, if they are."""
    characters, tokens = sum(len("".join(line.split())) for line in lines), int(codec.encode_rows(lines).lengths.sum())
    if not characters or characters >= MIN_TOKEN_LENGTH * tokens:
        return None
    return f"a {side} token has {characters / tokens:.2f} characters on average, so lines are spelled letter by letter"
