"""The only module that imports Weft: thin adapters from its names to plain numbers, texts and neutral labels.

When Weft is renamed, this module, recipes.py and http_requests.py change; numbers.json does not.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from weft.checkpoints.model_folder import find_model
from weft.cli.check import read_check_inputs
from weft.config.recipe import Recipe, load_recipe
from weft.data.batches import BatchLoader
from weft.data.checks.cleaning import clean_training_data
from weft.data.checks.quality_check import check_corpora
from weft.decoding.constraints.glossary import read_glossary
from weft.decoding.constraints.request import Request
from weft.inference.ensemble import EnsembleMean, EnsembleOptions
from weft.inference.evaluation import QualityCriterion, calibrate_model
from weft.inference.language_model import beam_completer, load_language_model, sampling_completer
from weft.inference.loader import load_translator
from weft.inference.postprocessor import OutputOptions
from weft.inference.reranking import make_reranker
from weft.inference.scoring import load_scorer
from weft.inference.shortlist_training import train_shortlist
from weft.inference.translation import Translation, format_line
from weft.inference.translator import Translator
from weft.metrics.corpus_metrics import evaluate_with_intervals
from weft.metrics.scores import Segments
from weft.text.lexical_shortlist import ShortlistSize
from weft.text.span_patterns import SpanKind
from weft.training.data_preparation import PreparedData, prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.progress import ProgressDisplay
from weft.training.training_run import start_training

Node = dict[str, Any]

LOSS_PARTS = {  # of a record in the log of a run
    "nll": "negative log-likelihood",
    "accuracy": "accuracy",
    "coverage": "coverage loss",
    "teacher": "distillation loss",
    "words": "word-level loss",
    "ctc": "ctc loss",
    "risk": "expected risk",
}
VALIDATION_SCORES = {
    "loss": "loss",
    "perplexity": "perplexity",
    "accuracy": "accuracy",
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "wer": "word error rate",
    "cer": "character error rate",
    "exact": "exact match",
}
METRICS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "meteor": "METEOR",
    "exact": "exact match",
    "wer": "word error rate",
    "cer": "character error rate",
    "per": "position-independent error rate",
    "repetition": "repetition",
    "copy": "copies of the source",
    "numbers": "numbers kept",
    "addresses": "addresses kept",
}
DROP_REASONS = {"empty": "empty", "duplicate": "duplicate", "too long": "length", "bad ratio": "length ratio"}
PROBLEMS = {
    "encoding": "invalid encoding",
    "malformed": "malformed row",
    "unpaired": "no partner",
    "control": "control characters",
    "bom": "byte order mark",
    "replacement": "replacement characters",
    "mojibake": "mojibake",
    "empty": "empty side",
    "identical": "identical sides",
    "script": "foreign script",
    "length": "extreme length",
    "ratio": "extreme length ratio",
    "duplicate": "duplicate",
    "leaked-source": "leaked source line",
    "leaked-pair": "leaked pair",
    "too-long": "over the length limit",
    "token-ratio": "over the ratio limit",
    "unknown": "unknown tokens",
    "many-targets": "many targets",
    "numbers": "different numbers",
    "markup": "markup",
}

LOG_MEAN: EnsembleMean = "log-probabilities"
PROTECTED: Sequence[SpanKind] = ("markup", "urls", "emails", "placeholders", "numbers")
SPECIAL_TOKENS = {"<unk>": "[unknown]", "<end>": "[end]", "<begin>": "[begin]", "<pad>": "[padding]"}


class Update(NamedTuple):
    """The numbers of one update of the weights."""

    loss: float
    gradient_norm: float
    learning_rate: float
    parts: dict[str, float]


class Scored(NamedTuple):
    """The log-probability of a target, and of each of its tokens, the end-of-sentence token last."""

    score: float
    token_scores: Sequence[float]


class Hypothesis(NamedTuple):
    """An output of a search; `rank` is the score after the length penalty. Tokens are without end-of-sentence."""

    text: str
    tokens: Sequence[str]
    score: float
    token_scores: Sequence[float]
    finished: bool
    rank: float | None


class Output(NamedTuple):
    """The n-best list of a line, and for each constraint whether it is met and whether it had to be forced."""

    hypotheses: Sequence[Hypothesis]
    constraints: Sequence[tuple[bool, bool]]
    truncated: bool
    alignment: Sequence[tuple[int, int]] | None
    attention: Sequence[Sequence[float]] | None
    alternatives: Sequence[Sequence[tuple[str, float]]]  # for each token


def neutral(text: str) -> str:
    """Replace the spelling of special tokens."""
    for spelling, label in SPECIAL_TOKENS.items():
        text = text.replace(spelling, label)
    return text


# Training.


def train(recipe: Node, out: Path) -> None:
    """Train a model as the command does, in this process."""
    start_training(recipe, out, ProgressDisplay(), device="cpu")


def updates(out: Path) -> list[Update]:
    """Read the numbers of each update from the log of a run."""
    return [
        Update(
            record["loss"],
            record["gradient_norm"],
            record["learning_rate"],
            {label: record[name] for name, label in LOSS_PARTS.items() if name in record},
        )
        for record in _log(out)
        if "learning_rate" in record
    ]


def validations(out: Path) -> list[tuple[dict[str, float], list[str]]]:
    """Read the scores of each validation, and the outputs shown with them."""
    return [
        (
            {label: scores[name] for name, label in VALIDATION_SCORES.items() if name in scores},
            [example["output"] for example in scores.get("examples", [])],
        )
        for scores in (record.get("validation") for record in _log(out))
        if scores
    ]


def _log(out: Path) -> list[Node]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]


# Scoring and searching.


def forced_scores(run: Path, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
    """Score targets by forced decoding."""
    return [Scored(pair.score, pair.token_scores) for pair in load_scorer(run, "cpu").score(pairs)]


def translator(
    run: Path,
    settings: Mapping[str, Any],
    others: Sequence[Path] = (),
    weights: Sequence[float] | None = None,
    mean: EnsembleMean = "probabilities",
    shortlist: bool = False,
    analysis: bool = False,
) -> Translator:
    """Load a model with some decoding settings changed; with other models, as an ensemble.

    analysis: whether outputs have an alignment, attention weights and alternatives of each token.
    """
    ensemble = None
    if others:
        ensemble = EnsembleOptions(tuple(others), None if weights is None else tuple(weights), mean)
    changes = [f"translate.{name}={json.dumps(value)}" for name, value in settings.items()]
    loaded = load_translator(run, device="cpu", overrides=changes, ensemble=ensemble, shortlist=shortlist)
    if not analysis:
        return loaded
    return replace(loaded, output_options=OutputOptions(alignment=True, attention=True, top_tokens=3))


def constrained(
    text: str,
    *,
    prefix: str = "",
    prefix_bias: float | None = None,
    include: Sequence[Sequence[str]] = (),
    ordered: bool = False,
    exclude: Sequence[str] = (),
    vocabulary: Sequence[str] | None = None,
    protect: Sequence[SpanKind] = (),
) -> Request:
    """Return a line with constraints on its translation."""
    return Request(
        text,
        prefix,
        prefix_bias,
        tuple(tuple(phrases) for phrases in include),
        len(include) if ordered else 0,
        tuple(exclude),
        None if vocabulary is None else tuple(vocabulary),
        tuple(protect),
    )


def with_glossary(file: Path, lines: Sequence[str]) -> list[Request]:
    glossary = read_glossary(file)
    return [glossary.apply(Request(line)) for line in lines]


def translate(model: Translator, lines: Iterable[str | Request]) -> list[Output]:
    return [_output(translation) for translation in model.translate(lines, split=False)]


def _output(translation: Translation) -> Output:
    return Output(
        [
            Hypothesis(
                neutral(found.text),
                [neutral(token) for token in found.tokens[:-1]],
                found.score,
                found.token_scores,
                found.finished,
                found.ranking_score,
            )
            for found in translation.alternatives
        ],
        [(check.met, check.forced) for check in translation.constraint_checks],
        translation.truncated,
        None if translation.alignment is None else translation.aligned_words,
        None if translation.attention is None else translation.attention.weights,
        [[(neutral(choice.token), choice.score) for choice in choices] for choices in translation.top_tokens],
    )


def translate_paragraphs(model: Translator, text: str) -> str:
    return model.translate_text(text, "en")


def learn_vocabulary_shortlist(run: Path, per_token: int, frequent: int) -> float:
    """Learn a shortlist from the training data, add it to the model, and return its mean size."""
    return train_shortlist(run, [], ShortlistSize(per_token, frequent), 1000).mean_size


def calibrate(run: Path, files: Sequence[Path], chrf: float) -> tuple[float, float, list[float | None]]:
    """Fit confidences: return the share of good lines, the calibration error, and the confidence of each line."""
    model = load_translator(run, device="cpu")
    found = calibrate_model(model, find_model(run), files, QualityCriterion(chrf))
    lines = files[0].read_text("utf-8").splitlines()[:8]
    translations = load_translator(run, device="cpu").translate(lines, split=False)
    return found.good, found.error, [translation.confidence for translation in translations]


def rerank(
    model: Translator, lines: Sequence[str], scorers: Sequence[Path], weights: Sequence[float] | None, alpha: float
) -> list[list[tuple[str, Sequence[float], float]]]:
    """Rerank the n-best lists of a model: for each hypothesis its text, the score of each model, and the sum."""
    lists = [format_line(translation, as_json=True) for translation in model.translate(lines, split=False)]
    reranker = make_reranker([load_scorer(path, "cpu") for path in scorers], weights, alpha)
    return [
        [(found.alternative["text"], found.scores, found.total) for found in line.ranked]
        for line in reranker.stream(lists)
    ]


def complete(
    run: Path, prompts: Sequence[str], count: int, *, temperature: float | None = None, seed: int = 1
) -> list[str]:
    """Complete each prompt with a language model: by sampling, or with the most probable lines without temperature."""
    language_model = load_language_model(run, "cpu")
    completer = (
        beam_completer(language_model, count)
        if temperature is None
        else sampling_completer(language_model, count, temperature, seed)
    )
    return list(completer.stream(prompts))


# Data.


class Data(NamedTuple):
    """Data as training has it, and the recipe it comes from."""

    recipe: Recipe
    ready: PreparedData


def prepared(node: Node) -> Data:
    recipe = load_recipe(node)
    return Data(recipe, prepare_data(recipe, None, ProgressDisplay(), CPU_RANK))


def batches(data: Data, epoch: int, *, max_tokens: int) -> Iterator[list[Any]]:
    """Return the rows of each batch of an epoch: the number of the pair, source ids, target ids."""
    settings = data.recipe.data
    loader = BatchLoader(
        data.ready.train.cache,
        max_tokens,
        data.recipe.train.seed,
        noise=data.ready.noise,
        max_length=settings.max_length,
        weights=settings.corpus_weights(),
    )
    for batch in loader.epoch(epoch):
        yield list(zip(batch.corpus_indices, _rows(batch.source), _rows(batch.target), strict=True))


def _rows(padded: Any) -> list[Any]:
    return [row[mask].tolist() for row, mask in zip(padded.data, padded.mask, strict=True)]


def data_report(data: Data) -> list[Node]:
    """Return the numbers of the table that is shown before training, for each split."""
    return [
        {
            "pairs read": split.pairs_read,
            "pairs kept": split.pairs_kept,
            "pairs dropped": {label: split.dropped[name] for name, label in DROP_REASONS.items()},
            "source lines also in training": split.train_overlap,
            **{
                f"{side} side": {
                    "tokens": numbers.tokens,
                    "mean length": numbers.mean_length,
                    "share of unknown tokens": numbers.unknown_share,
                    "share of byte tokens": numbers.byte_share,
                }
                for side, numbers in (("source", split.source), ("target", split.target))
            },
        }
        for split in data.ready.report.splits
    ]


def vocabulary_sizes(data: Data) -> tuple[int, int]:
    return len(data.ready.source.vocabulary()), len(data.ready.target.vocabulary())


def tokens_and_text(data: Data, lines: Sequence[str]) -> list[tuple[list[int], str]]:
    """Encode lines with the target tokenizer, and decode them again."""
    rows = data.ready.target.encode(lines)
    return [(row, neutral(text)) for row, text in zip(rows, data.ready.target.decode(rows), strict=True)]


def data_problems(
    files: Sequence[Path], held_out: Sequence[Path], folder: Path, tokenizer: Path | None
) -> tuple[list[Node], list[str]]:
    """Check corpora: for each split the kinds of problems found, how many, whether serious, and the first lines.

    Also return the lines of a cleaned copy.
    """
    folder.mkdir()
    inputs = read_check_inputs([*map(str, files)], [], {"valid": [*map(str, held_out)]}, tokenizer)
    checked = check_corpora(inputs, folder, lambda _name, _done: None)
    clean_training_data(inputs, checked, 0, folder / "copy", folder)
    cleaned = [line for file in files for line in (folder / "copy" / file.name).read_text("utf-8").split("\n")]
    found = [
        {
            PROBLEMS[problem.kind]: {
                "count": problem.count,
                "serious": problem.serious,
                "lines": [example.line for example in problem.examples],
            }
            for problem in report.problems
            if problem.count
        }
        for report in checked.corpora
    ]
    return found, cleaned


# Metrics.


def metric_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str]
) -> dict[str, tuple[float, float, float]]:
    """Return for each metric the score and its bootstrap interval."""
    found: dict[str, tuple[float, float, float]] = {}
    for score in evaluate_with_intervals(Segments(hypotheses, references, sources), list(METRICS)):
        if score.interval is None:
            raise ValueError(score.name)
        found[METRICS[score.name]] = (score.value, score.interval.low, score.interval.high)
    return found


# Server.

SERVING = r"serving at (\S+)\n"  # what the server prints when it is ready


def serve_arguments(models: Sequence[Path], languages: Sequence[str], limits: Mapping[str, int]) -> list[str]:
    """Return the command that serves models with these language pairs, at a free port, by torch alone."""
    pairs = [part for language_pair in languages for part in ("--languages", language_pair)]
    bounds = [part for name, value in limits.items() for part in ("--limit", f"{name}={value}")]
    return ["-m", "weft", "serve", *map(str, models), *pairs, *bounds, "--backend", "torch", "--port", "0"]
