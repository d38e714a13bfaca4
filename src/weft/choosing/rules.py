"""The rules: from what is known of the data, the machine and the time to a recipe, each choice with its reason.

They are rules of thumb for one machine and at most some hours, found with the benchmarks of this project, and meant to
be read: a recipe that is worth tuning is worth writing down, and starts from what these give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from weft.choosing.look import Facts, Side
from weft.config.document import Plain
from weft.core.numbers import spoken_minutes

EFFICIENCY = 0.45  # of the rate of matrix products, training reaches about this
WANTED_UPDATES = 1500
LARGEST_BATCH, SMALLEST_BATCH = 4096, 1024  # tokens
HELD_OUT = 1000  # pairs for validation, where there are many
FEW = 200  # pairs: of less, none are held out


class Choice(NamedTuple):
    """A setting and the reason for it, a sentence that begins with what was chosen; None: it follows from another."""

    place: str  # section.setting
    value: Plain
    reason: str | None = None


class Size(NamedTuple):
    """A Transformer. pairs, and tokens seen in training a weight: what it needs at least to be worth its time.

    pieces: of BPE at most, since the head's part of the work grows with them.
    """

    name: str
    layers: int
    dim: int
    heads: int
    hidden: int
    pairs: int
    tokens_a_weight: float
    pieces: int


SIZES = (
    Size("mini", 3, 128, 4, 256, 0, 0.0, 4000),
    Size("tiny", 4, 128, 4, 256, 0, 3.0, 8000),
    Size("small", 4, 256, 4, 1024, 50_000, 3.0, 16_000),
    Size("base", 6, 512, 8, 2048, 1_000_000, 3.0, 32_000),
)


@dataclass(frozen=True)
class Situation:
    """What the rules look at. rate: floating-point operations a second in matrix products.

    steps, joint: what a person has set already (None: nothing).
    """

    facts: Facts
    minutes: float
    rate: float
    files: tuple[str, ...]
    has_validation: bool
    steps: int | None = None
    joint: bool | None = None

    def tokens(self, weights: int) -> float:
        """Target tokens that can be trained on in the time: 6 operations a weight and token (2 forward, 4 back)."""
        if self.steps is not None:
            return self.steps * LARGEST_BATCH
        return self.minutes * 60 * self.rate * EFFICIENCY / (6 * weights)


def choose(situation: Situation) -> list[Choice]:
    """A whole recipe."""
    size, weights = pick_size(situation)
    joint = _is_joint(situation.facts) if situation.joint is None else situation.joint
    updates, batch = (situation.steps, LARGEST_BATCH) if situation.steps else _updates(situation.tokens(weights))
    return [
        *data_choices(situation),
        *_text(situation.facts, size, joint=joint),
        *_model(situation, size, weights, joint=joint),
        *_training(situation, updates, batch),
    ]


def pick_size(situation: Situation) -> tuple[Size, int]:
    """The largest size that has enough data and time, and its number of weights, about."""
    fitting = []
    for size in SIZES:
        weights = _weights(size, _vocabulary(situation.facts, size))
        enough_time = situation.tokens(weights) >= size.tokens_a_weight * weights
        if situation.facts.pairs >= size.pairs and enough_time:
            fitting.append((size, weights))
    return fitting[-1]


def _weights(size: Size, vocabulary: int) -> int:
    """Of products: attention 4 D² (twice in the decoder), feed-forward 2 D H, and the head V D."""
    encoder, decoder = (n * 4 * size.dim**2 + 2 * size.dim * size.hidden for n in (1, 2))
    return size.layers * (encoder + decoder) + vocabulary * size.dim


def _updates(tokens: float) -> tuple[int, int]:
    """How many updates can be made, and of how many tokens: smaller batches where time is short."""
    batch = max(SMALLEST_BATCH, min(LARGEST_BATCH, 256 * round(tokens / WANTED_UPDATES / 256)))
    return max(50, round(tokens / batch)), batch


def data_choices(situation: Situation) -> Iterator[Choice]:
    yield Choice("data.train", list(situation.files))
    if situation.facts.pairs < FEW and not situation.has_validation:
        yield Choice(
            "data.hold_out", 0.0, f"no pairs are kept for validation: there are only {situation.facts.pairs:,}"
        )
    elif not situation.has_validation:
        share = float(f"{min(0.1, HELD_OUT / situation.facts.pairs):.2g}")
        count = round(share * situation.facts.pairs)
        yield Choice("data.hold_out", share, f"about {count:,} pairs are kept for validation: no data.valid was given")


def _is_joint(facts: Facts) -> bool:
    return facts.source.kind == facts.target.kind != "symbols" and facts.shared_letters >= 0.5


def _text(facts: Facts, size: Size, *, joint: bool) -> Iterator[Choice]:
    pieces = _pieces(facts.pairs, size)
    source, target = _learner(facts.source, pieces), _learner(facts.target, pieces)
    yield Choice("text.source", source, f"{_told(source)}, since a source {_line(facts.source)}")
    told = f"{_told(target)}, since a target {_line(facts.target)}"
    yield Choice("text.target", None if joint else target, None if joint else told)
    reason = f"{facts.shared_letters:.0%} of the letters of one side are used on the other too"
    if facts.source.kind != facts.target.kind:
        reason = "the sides are written in different ways"
    yield Choice("text.joint", joint, f"{'one vocabulary' if joint else 'a vocabulary a side'}: {reason}")


def _learner(side: Side, pieces: int) -> dict[str, Plain]:
    match side.kind:
        case "symbols":
            return {"type": "whitespace"}
        case "words":
            return {"type": "character"}
        case "sentences":
            return {"type": "bpe", "size": pieces}


def _pieces(pairs: int, size: Size) -> int:
    for limit, pieces in ((5_000, 1000), (10_000, 2000), (20_000, 4000), (500_000, 8000), (5_000_000, 16_000)):
        if pairs < limit:
            return min(pieces, size.pieces)
    return size.pieces


def _vocabulary(facts: Facts, size: Size) -> int:
    """The classes of the head, about."""
    return _pieces(facts.pairs, size) if facts.target.kind == "sentences" else 300


def _told(learner: dict[str, Plain]) -> str:
    match learner["type"]:
        case "whitespace":
            return "symbols as they are given"
        case "character":
            return "letters"
        case _:
            return f"BPE of {learner['size']:,} pieces"


def _line(side: Side) -> str:
    match side.kind:
        case "symbols":
            return f"line holds {side.words:.1f} symbols of {side.kinds}"
        case "words":
            return f"line is a word ({side.letters:.1f} letters)"
        case "sentences":
            return f"line is a sentence ({side.words:.1f} words, {side.letters:.0f} letters)"


def _model(situation: Situation, size: Size, weights: int, *, joint: bool) -> Iterator[Choice]:
    dropout, seen = _dropout(situation, weights)
    millions = f"{weights / 1e6:.1f} million weights"
    kept: dict[str, Plain] = {"dropout": dropout}
    embedding: dict[str, Plain] = {"type": "tokens", "dim": size.dim, "positions": "sinusoidal", **kept}
    part: dict[str, Plain] = {
        "type": "transformer",
        "layers": size.layers,
        "heads": size.heads,
        "hidden": size.hidden,
        **kept,
    }
    reason = f"a {size.name} Transformer, {millions}: {_why(situation, size)}"
    yield Choice("model.source", embedding, f"dropout {dropout:g}: each pair is seen about {seen:.2g} times")
    yield Choice("model.encoder", part, reason)
    yield Choice("model.target", embedding)
    yield Choice("model.decoder", part)
    yield Choice("model.tie", "all" if joint else "output")


def _dropout(situation: Situation, weights: int) -> tuple[float, float]:
    """More of it the more often a pair is seen."""
    facts = situation.facts
    seen = situation.tokens(weights) / (facts.pairs * (_tokens_a_line(facts.target) + 1))
    for limit, dropout in ((4, 0.05), (12, 0.1), (25, 0.2)):
        if seen < limit:
            return dropout, seen
    return 0.3, seen


def _tokens_a_line(side: Side) -> float:
    match side.kind:
        case "symbols":
            return side.words
        case "words":
            return side.letters
        case "sentences":
            return side.letters / 1.5 if side.spaceless > 0.5 else 1.2 * side.words


def metrics_of(side: Side) -> list[Plain]:
    """The first is what chooses. BLEU counts words, so it says nothing of a script that does not part them."""
    match side.kind:
        case "symbols":
            return ["exact", "wer"]
        case "words":
            return ["exact", "cer"]
        case "sentences":
            return ["chrf"] if side.spaceless > 0.5 else ["bleu", "chrf"]


def _why(situation: Situation, size: Size) -> str:
    larger = SIZES[SIZES.index(size) + 1 :]
    if not larger:
        return "there is enough data and time for it"
    if situation.facts.pairs < larger[0].pairs:
        return f"{situation.facts.pairs:,} pairs are too few for a larger one"
    return f"the time, {spoken_minutes(situation.minutes)}, is too short for a larger one on this machine"


def _training(situation: Situation, updates: int, batch: int) -> Iterator[Choice]:
    minutes = situation.minutes
    if situation.steps is None:
        yield Choice("train.steps", None)
        about = f"{spoken_minutes(minutes)}, about {rounded(updates, 2):,} updates on this machine"
        yield Choice("train.minutes", minutes, about)
    yield Choice(
        "train.batch_tokens", batch, f"{batch:,} tokens a batch: smaller ones where time is short, for more updates"
    )
    warmup = max(10, min(500, round(updates / 8)))
    schedule: dict[str, Plain] = {"type": "warmup-stable-decay", "peak": 4e-3, "warmup": warmup, "decay": 0.6}
    yield Choice("train.schedule", schedule, f"{warmup} steps of warm-up, an eighth of the run, but 10 to 500")
    decay = min(0.998, max(0.9, float(f"{1 - 20 / updates:.3f}")))
    yield Choice("train.average", {"type": "exponential", "decay": decay}, "an average of the last weights is kept")
    validations = max(4, min(10, round(minutes)))
    lines = max(100, min(1000, 50 * round(minutes)))
    metrics = metrics_of(situation.facts.target)
    every = rounded(max(10, updates // validations), 1)
    validation: dict[str, Plain] = {
        "every": every,
        "lines": lines,
        "metrics": metrics,
        "choose": metrics[0],
        "search": "greedy",
    }
    yield Choice("train.validation", validation, f"every {every} steps, by translating at most {lines} lines")
    yield Choice("train.checkpoint_minutes", max(1.0, min(10.0, minutes / 10)))
    yield _search(situation.facts.target)


def _search(target: Side) -> Choice:
    """A model that is sure of the next letter finds every other one about as improbable, the end of the output too.

    A beam that stops when it is full of ended outputs may then be full of those before the best has ended.
    """
    if target.kind == "sentences":
        return Choice("translate.search", {"type": "beam", "size": 5})
    told = "a beam of 5, which goes on until the best output has ended"
    return Choice("translate.search", {"type": "beam", "size": 5, "stop": "top"}, told)


def rounded(number: int, digits: int) -> int:
    return int(float(f"{number:.{digits}g}"))
