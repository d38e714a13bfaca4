"""The rules for pictures of writing: convolutions, a recurrent encoder, and connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from weft.choosing.rules import Choice, Situation, data_choices, metrics_of, rounded
from weft.config.document import Plain
from weft.core.errors import UserError
from weft.core.numbers import spoken_minutes
from weft.data.corpus import Corpus
from weft.picture.names import is_picture
from weft.picture.reader import PictureReader
from weft.text.reader import LineError
from weft.text.settings import draw_sample

HEIGHT = 32
LOOKED_AT = 20  # lines, to tell whether they name pictures
SAMPLE = 200  # pictures that are opened
OPERATIONS = 2e6  # a column, forward and back: 0.3 million multiplications, each with an addition, three times
EFFICIENCY = 0.25  # of the rate of matrix products
PICTURES_A_BATCH = 48
SMALLEST_BATCH, LARGEST_BATCH = 1024, 8192  # columns


def name_pictures(corpus: Corpus) -> bool:
    """Do the first lines of the source name pictures?"""
    named = [source for source, _ in islice(corpus.pairs(), LOOKED_AT) if source.strip()]
    return bool(named) and all(map(is_picture, named))


def widest(corpus: Corpus, seed: int) -> int:
    """The columns of the widest among some pictures."""
    named = ((number, source) for number, (source, _) in enumerate(corpus.pairs()) if source.strip())
    sample = draw_sample(named, SAMPLE, seed)
    try:
        rows = PictureReader(HEIGHT, invert=False).encode_rows(source for _, source in sample)
    except LineError as error:
        raise UserError(f"{corpus.place(sample[error.row][0])}: {error}") from error
    return int(rows.lengths.max(initial=1))


def choose_for_pictures(situation: Situation, columns: int) -> list[Choice]:
    """A whole recipe for pictures of up to about so many columns."""
    batch = max(SMALLEST_BATCH, min(LARGEST_BATCH, 256 * round(PICTURES_A_BATCH * columns / 256)))
    seconds = 60 * situation.minutes
    updates = situation.steps or max(50, round(seconds * situation.rate * EFFICIENCY / (OPERATIONS * batch)))
    return [
        *data_choices(situation),
        *_lengths(columns),
        *_text(situation),
        *_model(),
        *_training(situation, updates, batch),
    ]


def _lengths(columns: int) -> Iterator[Choice]:
    longest = 64 * -(-columns * 3 // 128)
    told = f"the widest of some pictures has {columns} columns at a height of {HEIGHT}: up to {longest} are read"
    yield Choice("data.max_length", longest, told)


def _text(situation: Situation) -> Iterator[Choice]:
    told = f"the source names pictures: they are scaled to {HEIGHT} rows, and read column by column"
    yield Choice("text.source", {"type": "picture", "height": HEIGHT}, told)
    symbols = situation.facts.target.kind == "symbols"
    target, reason = ("whitespace", "symbols as they are given") if symbols else ("character", "letters")
    yield Choice("text.target", {"type": target}, f"{reason}, since that is what a picture shows")
    yield Choice("text.joint", False)


def _model() -> Iterator[Choice]:
    encoders: list[Plain] = [
        {"type": "picture", "layers": 4, "filters": 16, "shrink": 2, "dim": 128, "dropout": 0.1},
        {"type": "recurrent", "cell": {"type": "lstm", "dim": 128}, "layers": 1, "ways": "both", "dropout": 0.1},
    ]
    yield Choice("model.source", "pixels")
    told = "convolutions see the strokes, and an LSTM both ways sees what stands around them"
    yield Choice("model.encoder", {"type": "chain", "encoders": encoders}, told)
    yield Choice("model.target", "none")
    yield Choice("model.decoder", "none")
    told = "connectionist temporal classification: letters stand in the order of the columns, wherever they are"
    yield Choice("model.lattice", "ctc", told)
    yield Choice("objective.type", "ctc")


def _training(situation: Situation, updates: int, batch: int) -> Iterator[Choice]:
    minutes = situation.minutes
    if situation.steps is None:
        yield Choice("train.steps", None)
        about = f"{spoken_minutes(minutes)}, about {rounded(updates, 2):,} updates on this machine"
        yield Choice("train.minutes", minutes, about)
    yield Choice("train.batch_tokens", batch, f"{batch:,} columns a batch, some {PICTURES_A_BATCH} pictures")
    warmup = max(10, min(300, round(updates / 10)))
    schedule: dict[str, Plain] = {"type": "warmup-stable-decay", "peak": 2e-3, "warmup": warmup, "decay": 0.6}
    yield Choice("train.schedule", schedule, f"{warmup} steps of warm-up, a tenth of the run, but 10 to 300")
    decay = min(0.998, max(0.9, float(f"{1 - 20 / updates:.3f}")))
    yield Choice("train.average", {"type": "exponential", "decay": decay}, "an average of the last weights is kept")
    yield _validation(situation, updates)
    yield Choice("train.checkpoint_minutes", max(1.0, min(10.0, minutes / 10)))


def _validation(situation: Situation, updates: int) -> Choice:
    every = rounded(max(10, updates // max(4, min(10, round(situation.minutes)))), 1)
    lines = max(100, min(1000, 50 * round(situation.minutes)))
    lines_of_text = situation.facts.target.kind == "sentences"
    metrics: list[Plain] = ["cer", "exact"] if lines_of_text else metrics_of(situation.facts.target)
    validation: dict[str, Plain] = {"every": every, "lines": lines, "metrics": metrics, "choose": metrics[0]}
    return Choice("train.validation", validation, f"every {every} steps, by reading at most {lines} pictures")
