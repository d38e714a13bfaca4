"""Every recipe as plain data: one case for each family, objective, optimizer, schedule and kind of data.

A case has some sections of a recipe; the rest comes from `SHARED`. "@label" stands for the folder of the run with that
label, and "@/name" for a file of the generated corpora.
"""

from pathlib import Path
from typing import Any

Recipe = dict[str, Any]

PAIRS = {"train": ["train.src", "train.tgt"]}
VALIDATED = PAIRS | {"valid": ["valid.src", "valid.tgt"]}
ONE_SIDED = {"train": ["train.tgt"], "one_sided": True}
CASED = {"train": ["train.cased", "train.cased"], "max_length": 30}
PICTURES = {"train": ["pictures.tsv"]}

WORDS = {"source": "word"}
SUBWORDS = {"source": {"type": "bpe", "size": 90, "unknown": "token", "dropout": 0.1}}
LETTERS_TO_WORDS = {"source": "character", "target": "whitespace", "joint": False}
LOWERCASE_TO_CASED = {"source": {"type": "character", "lowercase": True}, "target": "character", "joint": False}

SHARED: Recipe = {
    "data": PAIRS,
    "text": WORDS,
    "objective": {"smoothing": 0.1},
    "train": {
        "seed": 3,
        "steps": 20,
        "precision": "float32",
        "batch_tokens": 160,
        "schedule": {"type": "inverse-square-root", "peak": 0.01, "warmup": 5},
        "log_every": 1,
    },
    "translate": {"search": "greedy"},
}

# Parts of models.
PLAIN = {"dim": 16, "scaled": False, "dropout": 0.1}
SINUSOIDAL = {"dim": 16, "positions": "sinusoidal", "dropout": 0.1}
LEARNED = {
    "dim": 16,
    "scaled": False,
    "deviation": 0.1,
    "positions": {"type": "learned", "limit": 64, "deviation": 0.1},
}
BLOCK = {"type": "transformer", "layers": 2, "heads": 2, "hidden": 32, "dropout": 0.1}
GRU, LSTM, ELMAN = {"type": "gru", "dim": 16}, {"type": "lstm", "dim": 16}, {"type": "plain", "dim": 16}
TWO_LSTM = {"type": "stacked", "cell": LSTM, "layers": 2, "dropout": 0.1}
BIDIRECTIONAL = {"type": "recurrent", "cell": GRU, "dropout": 0.1}
NARROW = {"type": "recurrent", "cell": {"type": "gru", "dim": 8}}  # both directions together are as wide as a decoder
REVERSED = {"type": "recurrent", "cell": LSTM, "layers": 2, "ways": "backward", "dropout": 0.1}
UNTRANSLATED = {"validation": {"lines": 0, "metrics": [], "choose": "perplexity"}}
POSITIONS = {"reading": "positions"}
NO_DECODER = {"target": "none", "decoder": "none"}


def recurrent(decoder: Recipe, encoder: Recipe | None = None, **others: Any) -> Recipe:
    """Return a model of a recurrent encoder and this decoder."""
    return {"source": PLAIN, "encoder": encoder or BIDIRECTIONAL, "target": PLAIN, "decoder": decoder, **others}


def luong(score: Any, window: Any = "global", **others: Any) -> Recipe:
    decoder = {"type": "luong", "cell": TWO_LSTM, "score": score, "window": window, "bridge": "copy", "dim": 16}
    return recurrent({**decoder, "dropout": 0.1, **others}, REVERSED)


def bahdanau(encoder: Recipe | None = None, **others: Any) -> Recipe:
    return recurrent({"type": "bahdanau", "cell": GRU, "maxout": 12, "dropout": 0.1, **others}, encoder)


def blocks(encoder: Recipe, decoder: Recipe | None = None, **others: Any) -> Recipe:
    """Return a Transformer with these settings in its layers."""
    model = {"source": SINUSOIDAL, "encoder": BLOCK | encoder, "target": SINUSOIDAL}
    return {**model, "decoder": BLOCK | (encoder if decoder is None else decoder), **others}


TRANSFORMER = blocks({}, tie="all")
BAHDANAU = bahdanau()
FRAMES = {"source": PLAIN, "encoder": BIDIRECTIONAL, **NO_DECODER}
READS_PICTURES = {
    "type": "chain",
    "encoders": [
        {"type": "picture", "layers": 3, "filters": 6, "shrink": 2, "dim": 16, "dropout": 0.1},
        {"type": "recurrent", "cell": LSTM, "ways": "both", "dropout": 0.1},
    ],
}
PICTURE_TEXT = {"source": {"type": "picture", "height": 16}, "target": "character", "joint": False}
LSTM_LANGUAGE_MODEL = {
    "source": "none",
    "encoder": "none",
    "target": PLAIN,
    "decoder": {"type": "sutskever", "cell": TWO_LSTM, "bridge": "zeros", "dropout": 0.1},
    "tie": "output",
}

FAMILIES: dict[str, Recipe] = {
    "transformer": {"model": TRANSFORMER, "text": SUBWORDS},
    "transformer, post-norm, gelu, attention dropout": {
        "model": blocks({"norm": "post", "activation": "gelu", "attention_dropout": 0.1})
    },
    "transformer, rotary, swiglu": {
        "model": blocks({"rotary": True, "activation": "swiglu"}, source={"dim": 16}, target={"dim": 16})
    },
    "transformer, window": {"model": blocks({"reach": 2})},
    "transformer, learned positions": {
        "model": blocks({}, source={**LEARNED, "merge": "mean"}, target={**LEARNED, "dropout": 0.1}, tie="embeddings")
    },
    "transformer, concatenated positions": {
        "model": blocks(
            {},
            source={"dim": 16, "positions": "sinusoidal", "merge": "concat"},
            target={"dim": 16, "positions": "sinusoidal", "merge": "concat"},
            head={"type": "linear", "bias": False},
        )
    },
    "transformer, right to left": {"model": TRANSFORMER, "text": {**WORDS, "target_order": "backward"}},
    "transformer, character embeddings": {
        "model": blocks(
            {},
            source={
                "type": "letters",
                "dim": 16,
                "letter_dim": 5,
                "widths": [1, 2, 3],
                "filters": 4,
                "longest": 8,
                "positions": "sinusoidal",
                "dropout": 0.1,
            },
        )
    },
    "sutskever": {
        "model": recurrent({"type": "sutskever", "cell": TWO_LSTM, "bridge": "copy", "dropout": 0.1}, REVERSED)
    },
    "sutskever, shared cell": {
        "model": recurrent(
            {"type": "sutskever", "cell": LSTM, "bridge": "copy", "shared": True, "dropout": 0.1},
            {"type": "recurrent", "cell": LSTM, "ways": "backward"},
            tie="embeddings",
        )
    },
    "cho": {
        "model": recurrent(
            {"type": "cho", "cell": GRU, "summary": 16, "maxout": 12, "dropout": 0.1},
            {"type": "recurrent", "cell": GRU, "ways": "forward"},
        )
    },
    "bahdanau": {"model": BAHDANAU, "text": SUBWORDS},
    "bahdanau, summed projections": {
        "model": bahdanau(NARROW, score={"type": "additive", "dim": 8, "form": "summed"}, bridge="learned")
    },
    "bahdanau, coverage": {"model": bahdanau(score={"type": "additive", "dim": 8, "coverage": True})},
    "bahdanau, scaled dot, projected heads": {
        "model": bahdanau(score="scaled-dot", heads=2, projected=True, bridge={"type": "linear", "of": "mean"})
    },
    "bahdanau, cosine": {
        "model": bahdanau(NARROW, score="cosine", bridge={"type": "linear", "of": "ends", "squash": False})
    },
    "bahdanau, location": {"model": bahdanau(score={"type": "location", "max_source": 40}, bridge="zeros")},
    "luong, dot": {"model": luong("dot")},
    "luong, general": {"model": luong("general")},
    "luong, concat": {"model": luong({"type": "concat", "dim": 16})},
    "luong, local-m": {"model": luong("general", {"type": "local-m", "reach": 2})},
    "luong, local-p": {"model": luong("general", {"type": "local-p", "reach": 2})},
    "luong, no input feeding": {"model": luong("general", feeding=False)},
    "gnmt": {
        "model": recurrent(
            {"type": "gnmt", "cell": LSTM, "layers": 3, "score": {"type": "additive", "dim": 16}, "dropout": 0.1},
            {"type": "recurrent", "cell": LSTM, "layers": 3, "ways": "both-first", "residual": True, "dropout": 0.1},
        ),
        "text": {"source": {"type": "wordpiece", "size": 90}},
    },
    "convs2s": {
        "model": {
            "source": {**LEARNED, "dropout": 0.1},
            "encoder": {"type": "convs2s", "layers": 2, "dim": 16, "kernel": 3, "attentions": 2, "dropout": 0.1},
            "target": {**LEARNED, "dropout": 0.1},
            "decoder": {"type": "convs2s", "layers": 2, "dim": 16, "kernel": 3, "dropout": 0.1},
        },
    },
    "convs2s, layers of different widths": {
        "model": {
            "source": LEARNED,
            "encoder": {
                "type": "convs2s",
                "layers": 1,
                "dim": 16,
                "above": [{"layers": 1, "dim": 24, "kernel": 1}],
                "attentions": 2,
            },
            "target": LEARNED,
            "decoder": {"type": "convs2s", "layers": 1, "dim": 16, "above": [{"layers": 1, "dim": 24, "kernel": 5}]},
        },
    },
    "convolutional encoder, recurrent decoder": {
        "model": recurrent(
            {
                "type": "luong",
                "cell": TWO_LSTM,
                "score": "additive",
                "bridge": {"type": "linear", "of": "mean"},
                "dim": 16,
                "dropout": 0.1,
            },
            {"type": "convolutional", "layers": 3, "dim": 16, "widths": [3], "value_layers": 1, "dropout": 0.1},
            source=LEARNED,
        )
    },
    "gated convolutional encoder, recurrent decoder": {
        "model": recurrent(
            {"type": "luong", "cell": GRU, "score": "general", "bridge": {"type": "linear", "of": "mean"}, "dim": 16},
            {"type": "convolutional", "layers": 2, "dim": 16, "widths": [3, 5], "activation": "gated"},
        )
    },
    "kalchbrenner-blunsom": {
        "model": recurrent(
            {"type": "kalchbrenner", "cell": ELMAN, "dropout": 0.1}, {"type": "kalchbrenner", "layers": 6}
        )
    },
    "recurrent encoder, sum of directions": {
        "model": recurrent(
            {"type": "luong", "cell": LSTM, "score": "general", "bridge": {"type": "linear", "of": "ends"}, "dim": 16},
            {"type": "recurrent", "cell": LSTM, "layers": 2, "ways": "both", "merge": "sum", "dropout": 0.1},
        )
    },
    "normalized gru, reset after, orthogonal": {
        "model": bahdanau(cell={**GRU, "reset": "after", "normalise": True, "keep": "orthogonal"})
    },
    "lstm with peepholes, coupled gates, projected directions": {
        "model": recurrent(
            {"type": "luong", "cell": {**LSTM, "coupled": True, "forget_bias": 0.0}, "dim": 16},
            {"type": "recurrent", "cell": {**LSTM, "peepholes": "diagonal"}, "merge": "project"},
        )
    },
    "lstm with full peepholes, mean of directions": {
        "model": recurrent(
            {"type": "luong", "cell": {**LSTM, "peepholes": "full", "normalise": True}, "dim": 16},
            {"type": "recurrent", "cell": LSTM, "merge": "mean"},
        )
    },
    "variational dropout, residual stack": {
        "model": recurrent(
            {
                "type": "luong",
                "cell": {
                    "type": "stacked",
                    "cell": {"type": "variational", "cell": LSTM, "dropout": 0.2},
                    "layers": 2,
                    "residual": True,
                    "extra": "all",
                },
                "bridge": "zeros",
                "dim": 16,
            },
            {"type": "recurrent", "cell": {"type": "variational", "cell": GRU, "dropout": 0.2}},
        )
    },
    "stack of different cells": {
        "model": recurrent(
            {
                "type": "luong",
                "cell": {"type": "stacked", "cell": LSTM, "layers": 1, "above": [{"type": "gru", "dim": 12}]},
                "bridge": "zeros",
                "dim": 16,
            },
            {"type": "recurrent", "cell": LSTM, "above": [{"type": "gru", "dim": 12}], "dropout": 0.1},
        )
    },
    "elman": {"model": recurrent({"type": "sutskever", "cell": ELMAN}, {"type": "recurrent", "cell": ELMAN})},
    "language model, transformer": {
        "data": ONE_SIDED,
        "model": {**blocks({}), "source": "none", "encoder": "none", "tie": "output"},
        "objective": {"smoothing": 0.0},
        "train": UNTRANSLATED,
    },
    "language model, lstm": {
        "data": ONE_SIDED,
        "model": LSTM_LANGUAGE_MODEL,
        "objective": {"smoothing": 0.0},
        "train": UNTRANSLATED,
    },
    "ctc": {"model": {**FRAMES, "lattice": "ctc"}, "text": LETTERS_TO_WORDS, "objective": "ctc"},
    "ctc, upsampling": {
        "model": {**FRAMES, "lattice": {"type": "ctc", "upsample": 2}},
        "text": LETTERS_TO_WORDS,
        "objective": "ctc",
    },
    "joint ctc": {
        "model": {**BAHDANAU, "lattice": {"type": "ctc", "upsample": 2}},
        "objective": {"type": "joint-ctc", "weight": 0.3, "smoothing": 0.1},
    },
    "instant, one token per position": {
        "data": CASED,
        "model": {**FRAMES, "lattice": {"type": "aligned", "length": "end"}},
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "positions", "smoothing": 0.1},
        "train": {"validation": POSITIONS},
        "translate": POSITIONS,
    },
    "instant, length head": {
        "data": CASED,
        "model": {**FRAMES, "lattice": {"type": "aligned", "length": "head", "widths": [16], "dropout": 0.1}},
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "positions", "smoothing": 0.0},
        "train": {"validation": POSITIONS},
        "translate": POSITIONS,
    },
    "instant, dense": {
        "data": CASED,
        "model": {
            "source": {"dim": 8, "scaled": False, "dropout": 0.1},
            "encoder": "embedded",
            **NO_DECODER,
            "lattice": {"type": "dense", "limit": 31, "widths": [24], "length": "head", "dropout": 0.1},
        },
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "positions", "smoothing": 0.0},
        "train": {"validation": POSITIONS},
        "translate": POSITIONS,
    },
    "pictures, ctc": {
        "data": PICTURES,
        "model": {"source": "pixels", "encoder": READS_PICTURES, **NO_DECODER, "lattice": "ctc"},
        "text": PICTURE_TEXT,
        "objective": "ctc",
    },
    "pictures, attention": {
        "data": PICTURES,
        "model": {
            "source": "pixels",
            "encoder": READS_PICTURES,
            "target": PLAIN,
            "decoder": {"type": "luong", "cell": LSTM, "dim": 16},
        },
        "text": {**PICTURE_TEXT, "source": {"type": "picture", "height": 16, "invert": True}},
    },
}


def objective(**settings: Any) -> Recipe:
    return {"model": BAHDANAU, "objective": settings}


def fed(**settings: Any) -> Recipe:
    """Return a case of cross-entropy with a decoder that is fed in this way."""
    return objective(type="cross-entropy", smoothing=0.1, feeding=settings)


OBJECTIVES: dict[str, Recipe] = {
    "cross-entropy, chunks of positions": objective(type="cross-entropy", smoothing=0.0, chunk=7),
    "scheduled sampling, constant": fed(type="scheduled", truth={"type": "constant", "probability": 0.5}),
    "scheduled sampling, linear, per sequence": fed(
        type="scheduled", truth={"type": "linear", "first": 0.9, "slope": 0.04, "floor": 0.1}, each="sequence"
    ),
    "scheduled sampling, exponential, best token": fed(
        type="scheduled", truth={"type": "exponential", "base": 0.95}, own="best"
    ),
    "scheduled sampling, inverse sigmoid, two passes": fed(
        type="scheduled", truth={"type": "inverse-sigmoid", "k": 8.0}, passes="two"
    ),
    "free running": fed(type="free", own="drawn"),
    "minimum risk, word error rate": {
        **objective(type="minimum-risk", cost="wer", samples=4, alpha=0.5, cross_entropy=0.2),
        "train": {"start": "@bahdanau, warm"},
    },
    "minimum risk, chrf, without reference": {
        **objective(type="minimum-risk", cost="chrf", samples=4, alpha=0.5, reference=False),
        "train": {"start": "@bahdanau, warm"},
    },
    "word loss": {**objective(type="word-loss", q=0.7, cross_entropy=0.5), "text": SUBWORDS},
    "coverage": objective(type="coverage", weight=0.5, price="again"),
    "coverage, total": objective(type="coverage", weight=0.5, price="total", smoothing=0.0),
    "distillation": objective(type="distillation", teacher="@bahdanau, warm", weight=0.6, temperature=2.0),
    "sampled softmax, unigram": objective(
        type="sampled-softmax", classes=12, proposal={"type": "unigram", "power": 0.75}
    ),
    "sampled softmax, log-uniform": objective(type="sampled-softmax", classes=12, proposal="log-uniform"),
    "bucketed vocabulary": objective(type="bucketed-vocabulary", classes=16, window=3),
    "negative sampling, uniform": objective(type="negative-sampling", negatives=5, proposal="uniform"),
}


def trained(**settings: Any) -> Recipe:
    return {"model": TRANSFORMER, "train": settings}


OPTIMIZERS: dict[str, Recipe] = {
    "sgd, halving": trained(
        optimiser={"type": "sgd", "momentum": 0.9, "decay": 0.001},
        schedule={"type": "halving", "peak": 0.5, "hold": 8, "every": 4},
    ),
    "adadelta": trained(optimiser={"type": "adadelta"}, schedule={"type": "halving", "peak": 1.0, "hold": 100}),
    "adam, linear, weight decay, no clipping": trained(
        optimiser={"type": "adam", "decay": 0.001, "beta2": 0.95},
        schedule={"type": "linear", "peak": 0.01, "warmup": 4, "floor": 0.1},
        clip=None,
    ),
    "adamw, cosine, gradient accumulation": trained(
        optimiser={"type": "adamw", "decay": 0.05},
        schedule={"type": "cosine", "peak": 0.01, "warmup": 4, "floor": 0.1},
        accumulate=2,
        clip=0.1,
    ),
    "lazy adam, sparse gradients": {
        "model": blocks(
            {},
            source={**SINUSOIDAL, "sparse": True},
            target={**SINUSOIDAL, "sparse": True},
            head={"type": "linear", "sparse": True},
        ),
        "objective": {"type": "sampled-softmax", "classes": 12},
        "train": {"optimiser": "lazy-adam"},
    },
    "warmup-stable-decay, average of weights": trained(
        schedule={"type": "warmup-stable-decay", "peak": 0.01, "warmup": 4, "decay": 0.5},
        average={"type": "last", "count": 3, "every": 4},
    ),
    "exponential average of weights": trained(average={"type": "exponential", "decay": 0.9}),
    "frozen encoder, warm start": {
        "model": BAHDANAU,
        "train": {"start": "@bahdanau, warm", "freeze": ["source", "encoder"], "keep_moments": True},
    },
    "mixed corpora": {
        "model": TRANSFORMER,
        "data": {
            "train": [],
            "mix": [{"files": ["train.src", "train.tgt"], "times": 0.5}, {"files": ["more.tsv"], "times": 2.0}],
        },
    },
    "validation": {
        "model": TRANSFORMER,
        "data": VALIDATED,
        "train": {
            "average": {"type": "exponential", "decay": 0.9},
            "validation": {"every": 10, "metrics": ["bleu", "chrf", "ter", "wer", "cer", "exact"], "search": "greedy"},
        },
    },
    "held-out validation": {
        "model": BAHDANAU,
        "data": {**PAIRS, "hold_out": 0.1},
        "train": {"validation": {"every": 20, "metrics": ["chrf"], "choose": "loss", "search": {"type": "beam"}}},
    },
}

HALF_PRECISION: dict[str, Recipe] = {
    "bfloat16, transformer": trained(precision="bfloat16"),
    "bfloat16, bahdanau": {"model": BAHDANAU, "train": {"precision": "bfloat16", "accumulate": 2}},
}

LONG = {"steps": 90, "batch_tokens": 300, "schedule": {"type": "inverse-square-root", "peak": 0.02, "warmup": 10}}
SMALL_LIMIT = {"search": "greedy", "length_factor": 1.0, "length_extra": 3}

# Trained for longer, so that there is something to search for. All of them have the same target vocabulary.
SEARCHED: dict[str, Recipe] = {
    "transformer, searched": {"model": TRANSFORMER, "train": LONG},
    "bahdanau, searched": {"model": BAHDANAU, "train": LONG, "translate": SMALL_LIMIT},
    "second transformer": {"model": TRANSFORMER, "train": {**LONG, "seed": 4}},
    "subword transformer": {"model": TRANSFORMER, "text": SUBWORDS, "train": LONG},
    "right-to-left bahdanau": {
        "model": BAHDANAU,
        "text": {**WORDS, "target_order": "backward"},
        "train": LONG,
    },
    "language model, searched": {
        "data": {"train": ["train.both"], "one_sided": True},
        "model": LSTM_LANGUAGE_MODEL,
        "objective": {"smoothing": 0.0},
        "train": {**LONG, **UNTRANSLATED},
    },
    "language model of targets": {
        "data": ONE_SIDED,
        "model": LSTM_LANGUAGE_MODEL,
        "text": {"source": "whitespace"},
        "objective": {"smoothing": 0.0},
        "train": {**LONG, **UNTRANSLATED},
    },
    "joint ctc, searched": {
        "model": {**BAHDANAU, "lattice": {"type": "ctc", "upsample": 2}},
        "objective": {"type": "joint-ctc", "weight": 0.3, "smoothing": 0.1},
        "train": LONG,
    },
    "ctc, searched": {
        "model": {**FRAMES, "lattice": "ctc"},
        "text": LETTERS_TO_WORDS,
        "objective": "ctc",
        "train": {**LONG, "batch_tokens": 700},
    },
    "instant, searched": {
        "data": CASED,
        "model": {**FRAMES, "lattice": {"type": "aligned", "length": "head"}},
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "positions", "smoothing": 0.0},
        "train": {**LONG, "validation": POSITIONS},
        "translate": POSITIONS,
    },
}

BEAM = {"type": "beam", "size": 4}
SAMPLES = {"type": "sampling", "best": 3, "seed": 5}
SHORT = {"length_factor": 0.1, "length_extra": 2}


def beam(**others: Any) -> Recipe:
    return {"search": {**BEAM, **others}}


# Settings of decoding, for models with a decoder.
SEARCHES: dict[str, Recipe] = {
    "greedy": {"search": "greedy"},
    "beam size=2": beam(size=2),
    "beam n_best=3": beam(best=3),
    "beam n_best=4, no length penalty": beam(best=4, length_penalty="none"),
    "beam, average length penalty alpha=0.5": beam(best=2, length_penalty={"type": "average", "alpha": 0.5}),
    "beam, gnmt length penalty": beam(best=2, length_penalty={"type": "gnmt", "alpha": 0.8}),
    "beam, word reward": beam(best=2, length_penalty={"type": "reward", "gamma": 0.7}),
    "beam, stop at limit": beam(best=2, stop="limit"),
    "beam, stop at first": beam(best=2, stop="first"),
    "beam, stop at top": beam(best=2, stop="top"),
    "beam, coverage penalty": beam(best=2, coverage_penalty=0.4),
    "beam, keep greedy": beam(best=2, keep_greedy=True),
    "diverse beam": {"search": {"type": "diverse", "size": 6, "groups": 3, "diversity": 0.5, "best": 3}},
    "diverse beam, two groups, gnmt": {
        "search": {
            "type": "diverse",
            "size": 4,
            "groups": 2,
            "diversity": 1.5,
            "best": 4,
            "length_penalty": "gnmt",
            "stop": "limit",
        }
    },
    "sampling": {"search": SAMPLES},
    "sampling, another seed": {"search": {**SAMPLES, "seed": 6}},
    "sampling, temperature": {"search": {**SAMPLES, "temperature": 0.6}},
    "sampling, top k": {"search": {**SAMPLES, "top_k": 3}},
    "sampling, nucleus": {"search": {**SAMPLES, "top_p": 0.6}},
    "sampling, min p": {"search": {**SAMPLES, "min_p": 0.2}},
    "exhaustive": {"search": {"type": "exhaustive", "best": 2}, **SHORT},
    "exhaustive, no length penalty": {"search": {"type": "exhaustive", "best": 2, "length_penalty": "none"}, **SHORT},
    "minimum Bayes risk, chrf": {"mbr": {"samples": 6, "cost": "chrf"}},
    "minimum Bayes risk, bleu": {"mbr": {"samples": 6, "cost": "bleu"}, "search": {**SAMPLES, "temperature": 1.5}},
    "minimum Bayes risk, word error rate": {"mbr": {"samples": 6, "cost": "wer"}},
    "short length limit": {**beam(best=2), **SHORT},
    "minimum length": {**beam(best=2), "least_factor": 1.0, "least_extra": 2, "length_factor": 2.0},
    "block repeated bigrams": {**beam(best=2), "block_repeats": 2},
    "block repeated tokens": {"search": "greedy", "block_repeats": 1},
    "block repeated tokens, minimum length": {
        **beam(best=2),
        "block_repeats": 1,
        "least_factor": 1.0,
        "least_extra": 4,
    },
    "block repeated bigrams, minimum length": {"search": "greedy", "block_repeats": 2, "least_extra": 16},
    "word list": {**beam(best=2), "words": "@/words.txt"},
    "shallow fusion": {**beam(best=2), "fusion": {"model": "@language model, searched", "weight": 0.3}},
    "small batches": {**beam(best=2), "batch_tokens": 8, "window": 2},
}
JOINT_SEARCHES: dict[str, Recipe] = {
    "greedy": {"search": "greedy"},
    "greedy with ctc": {"search": "greedy", "ctc_weight": 0.4},
    "beam with ctc": {**beam(best=3), "ctc_weight": 0.3},
}
CTC_SEARCHES: dict[str, Recipe] = {
    "best path": {"reading": "best-path"},
    "prefix beam": {"reading": {"type": "prefix-beam", "size": 4, "best": 3}},
    "prefix beam, language model": {
        "reading": {
            "type": "prefix-beam",
            "size": 4,
            "best": 2,
            "language_model": "@language model of targets",
            "language_weight": 0.3,
            "bonus": 0.5,
        }
    },
    "prefix beam, word list": {"reading": {"type": "prefix-beam", "size": 4, "best": 2, "words": "@/words.txt"}},
}
INSTANT_SEARCHES: dict[str, Recipe] = {"positions": {"reading": "positions"}}
CONSTRAINED_SEARCH, CONSTRAINED_GREEDY = beam(best=2), {"search": "greedy"}
CONSTRAINED_WITHOUT_REPEATS = {**beam(best=2), "block_repeats": 1}
N_BEST_TO_RERANK = beam(best=4)
LOG_MEAN = "log-probabilities"  # how an ensemble averages
PROTECTED = ["markup", "urls", "emails", "placeholders", "numbers"]

# What is tokenized in batches.
TOKENIZERS: dict[str, Recipe] = {
    "character": {"source": "character"},
    "character, bytes for unknown, lowercase": {
        "source": {"type": "character", "unknown": "bytes", "min_count": 30, "lowercase": True}
    },
    "byte": {"source": "byte"},
    "whitespace": {"source": {"type": "whitespace", "min_count": 3}},
    "word": {"source": {"type": "word", "size": 30, "normalise": "nfkc"}},
    "bpe": {"source": {"type": "bpe", "size": 300}},
    "bpe dropout": {"source": {"type": "bpe", "size": 90, "unknown": "token", "dropout": 0.2}},
    "wordpiece": {"source": {"type": "wordpiece", "size": 90}},
    "unigram": {"source": {"type": "unigram", "size": 80, "unknown": "token"}},
    "unigram, bytes for unknown": {"source": {"type": "unigram", "size": 330}},
    "separate bpe, right to left": {
        "source": {"type": "bpe", "size": 80, "unknown": "token"},
        "target": {"type": "bpe", "size": 70, "unknown": "token", "dropout": 0.1},
        "joint": False,
        "target_order": "backward",
    },
    "sample of lines": {"source": {"type": "word", "min_count": 1}, "sample": 20},
}
TOKENIZED = {"train": ["flawed.src", "flawed.tgt"], "valid": ["valid.src", "valid.tgt"], "max_length": 60}
DATA_CASES: dict[str, Recipe] = {
    "pairs": {"train": ["flawed.src", "flawed.tgt"], "valid": ["valid.src", "valid.tgt"], "max_length": 12},
    "length ratio, duplicates kept": {
        "train": ["flawed.src", "flawed.tgt"],
        "max_length": 40,
        "max_ratio": 2.0,
        "drop_duplicates": False,
    },
    "held out": {"train": ["train.src", "train.tgt"], "hold_out": 0.25},
    "one-sided": {"train": ["train.tgt"], "valid": ["valid.tgt"], "one_sided": True},
    "mixed": {
        "mix": [{"files": ["train.src", "train.tgt"], "times": 0.5}, {"files": ["more.tsv"], "times": 2.0}],
        "test": ["more.tsv"],
    },
}

# Runs that others start from or learn from.
WARM: dict[str, Recipe] = {"bahdanau, warm": {"model": BAHDANAU, "train": {"seed": 7}}}

RUNS: dict[str, Recipe] = {**WARM, **FAMILIES, **OBJECTIVES, **OPTIMIZERS, **HALF_PRECISION, **SEARCHED}


def recipe(label: str, corpora: Path, runs: Path) -> Recipe:
    """Return the whole recipe of a case."""
    node = {name: RUNS[label].get(name, value) for name, value in {**SHARED, "model": {}}.items()}
    node["train"] = {**SHARED["train"], **RUNS[label].get("train", {})}
    node["data"] = {"folder": str(corpora), "cache": str(runs / "cache"), "max_length": 60, **node["data"]}
    filled: Recipe = fill(node, corpora, runs)
    return filled


def fill(node: Any, corpora: Path, runs: Path) -> Any:
    """Replace what stands for folders."""
    match node:
        case dict():
            return {key: fill(value, corpora, runs) for key, value in node.items()}
        case list():
            return [fill(value, corpora, runs) for value in node]
        case str() if node.startswith("@/"):
            return str(corpora / node[2:])
        case str() if node.startswith("@"):
            return str(runs / folder_name(node[1:]))
    return node


def folder_name(label: str) -> str:
    return label.replace(" ", "-").replace(",", "")


def runs_before(label: str) -> list[str]:
    """Return the labels of the runs that a case needs."""
    return [one for one in RUNS if one != label and f"'@{one}'" in str(RUNS[label])]


def data_recipe(text: Recipe, data: Recipe, corpora: Path, runs: Path) -> Recipe:
    """Return a recipe for data alone."""
    return {"data": {"folder": str(corpora), "cache": str(runs / "cache"), **data}, "text": text, "train": {"seed": 3}}
