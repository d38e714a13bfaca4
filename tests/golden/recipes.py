"""Every recipe as plain data: one case for each family, objective, optimizer, schedule and kind of data.

A case has some sections of a recipe; the rest comes from `SHARED`. "@label" stands for the folder of the run with that
label, and "@/name" for a file of the generated corpora.
"""

from pathlib import Path
from typing import Any

Recipe = dict[str, Any]

PAIRS = {"train": ["train.src", "train.tgt"]}
VALIDATED = PAIRS | {"valid": ["valid.src", "valid.tgt"]}
ONE_SIDED = {"train": ["train.tgt"], "monolingual": True}
CASED = {"train": ["train.cased", "train.cased"], "max_length": 30}
PICTURES = {"train": ["pictures.tsv"]}

WORDS = {"source": "word"}
SUBWORDS = {"source": {"type": "bpe", "vocab_size": 90, "byte_fallback": False, "dropout": 0.1}}
LETTERS_TO_WORDS = {"source": "character", "target": "whitespace", "joint": False}
LOWERCASE_TO_CASED = {"source": {"type": "character", "lowercase": True}, "target": "character", "joint": False}

SHARED: Recipe = {
    "data": PAIRS,
    "text": WORDS,
    "objective": {"label_smoothing": 0.1},
    "train": {
        "seed": 3,
        "steps": 20,
        "precision": "float32",
        "batch_tokens": 160,
        "schedule": {"type": "inverse-square-root", "learning_rate": 0.01, "warmup_steps": 5},
        "log_every": 1,
    },
    "translate": {"search": "greedy"},
}

# Parts of models.
PLAIN = {"dim": 16, "scale": False, "dropout": 0.1}
SINUSOIDAL = {"dim": 16, "positions": "sinusoidal", "dropout": 0.1}
LEARNED = {
    "dim": 16,
    "scale": False,
    "init_std": 0.1,
    "positions": {"type": "learned", "max_length": 64, "init_std": 0.1},
}
BLOCK = {"type": "transformer", "layers": 2, "heads": 2, "ffn_dim": 32, "dropout": 0.1}
GRU, LSTM, ELMAN = {"type": "gru", "dim": 16}, {"type": "lstm", "dim": 16}, {"type": "elman", "dim": 16}
TWO_LSTM = {"type": "stacked", "cell": LSTM, "layers": 2, "dropout": 0.1}
BIDIRECTIONAL = {"type": "recurrent", "cell": GRU, "dropout": 0.1}
NARROW = {"type": "recurrent", "cell": {"type": "gru", "dim": 8}}  # both directions together are as wide as a decoder
REVERSED = {"type": "recurrent", "cell": LSTM, "layers": 2, "directions": "backward", "dropout": 0.1}
UNTRANSLATED = {"validation": {"lines": 0, "metrics": [], "best_metric": "perplexity"}}
POSITIONS = {"frame_decoder": "position-wise"}
NO_DECODER = {"target": "none", "decoder": "none"}


def recurrent(decoder: Recipe, encoder: Recipe | None = None, **others: Any) -> Recipe:
    """Return a model of a recurrent encoder and this decoder."""
    return {"source": PLAIN, "encoder": encoder or BIDIRECTIONAL, "target": PLAIN, "decoder": decoder, **others}


def luong(score: Any, window: Any = "global", **others: Any) -> Recipe:
    decoder = {"type": "luong", "cell": TWO_LSTM, "score": score, "window": window, "bridge": "copy", "dim": 16}
    return recurrent({**decoder, "dropout": 0.1, **others}, REVERSED)


def bahdanau(encoder: Recipe | None = None, **others: Any) -> Recipe:
    return recurrent({"type": "bahdanau", "cell": GRU, "maxout_dim": 12, "dropout": 0.1, **others}, encoder)


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
        {"type": "image", "layers": 3, "channels": 6, "subsampling": 2, "dim": 16, "dropout": 0.1},
        {"type": "recurrent", "cell": LSTM, "directions": "both", "dropout": 0.1},
    ],
}
PICTURE_TEXT = {"source": {"type": "image", "height": 16}, "target": "character", "joint": False}
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
    "transformer, window": {"model": blocks({"attention_window": 2})},
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
                "type": "char-cnn",
                "dim": 16,
                "char_dim": 5,
                "kernel_sizes": [1, 2, 3],
                "filters": 4,
                "max_word_length": 8,
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
            {"type": "sutskever", "cell": LSTM, "bridge": "copy", "share_weights": True, "dropout": 0.1},
            {"type": "recurrent", "cell": LSTM, "directions": "backward"},
            tie="embeddings",
        )
    },
    "cho": {
        "model": recurrent(
            {"type": "cho", "cell": GRU, "summary_dim": 16, "maxout_dim": 12, "dropout": 0.1},
            {"type": "recurrent", "cell": GRU, "directions": "forward"},
        )
    },
    "bahdanau": {"model": BAHDANAU, "text": SUBWORDS},
    "bahdanau, summed projections": {
        "model": bahdanau(NARROW, score={"type": "additive", "dim": 8, "shared_projection": True}, bridge="learned")
    },
    "bahdanau, coverage": {"model": bahdanau(score={"type": "additive", "dim": 8, "coverage": True})},
    "bahdanau, scaled dot, projected heads": {
        "model": bahdanau(score="scaled-dot", heads=2, projected=True, bridge={"type": "linear", "summary": "mean"})
    },
    "bahdanau, cosine": {
        "model": bahdanau(NARROW, score="cosine", bridge={"type": "linear", "summary": "final-states", "tanh": False})
    },
    "bahdanau, location": {"model": bahdanau(score={"type": "location", "max_source_length": 40}, bridge="zeros")},
    "luong, dot": {"model": luong("dot")},
    "luong, general": {"model": luong("general")},
    "luong, concat": {"model": luong({"type": "concat", "dim": 16})},
    "luong, local-m": {"model": luong("general", {"type": "local-m", "half_width": 2})},
    "luong, local-p": {"model": luong("general", {"type": "local-p", "half_width": 2})},
    "luong, no input feeding": {"model": luong("general", input_feeding=False)},
    "gnmt": {
        "model": recurrent(
            {"type": "gnmt", "cell": LSTM, "layers": 3, "score": {"type": "additive", "dim": 16}, "dropout": 0.1},
            {
                "type": "recurrent",
                "cell": LSTM,
                "layers": 3,
                "directions": "both-first",
                "residual": True,
                "dropout": 0.1,
            },
        ),
        "text": {"source": {"type": "wordpiece", "vocab_size": 90}},
    },
    "convs2s": {
        "model": {
            "source": {**LEARNED, "dropout": 0.1},
            "encoder": {
                "type": "convs2s",
                "layers": 2,
                "dim": 16,
                "kernel_size": 3,
                "attention_layers": 2,
                "dropout": 0.1,
            },
            "target": {**LEARNED, "dropout": 0.1},
            "decoder": {"type": "convs2s", "layers": 2, "dim": 16, "kernel_size": 3, "dropout": 0.1},
        },
    },
    "convs2s, layers of different widths": {
        "model": {
            "source": LEARNED,
            "encoder": {
                "type": "convs2s",
                "layers": 1,
                "dim": 16,
                "upper_layers": [{"layers": 1, "dim": 24, "kernel_size": 1}],
                "attention_layers": 2,
            },
            "target": LEARNED,
            "decoder": {
                "type": "convs2s",
                "layers": 1,
                "dim": 16,
                "upper_layers": [{"layers": 1, "dim": 24, "kernel_size": 5}],
            },
        },
    },
    "convolutional encoder, recurrent decoder": {
        "model": recurrent(
            {
                "type": "luong",
                "cell": TWO_LSTM,
                "score": "additive",
                "bridge": {"type": "linear", "summary": "mean"},
                "dim": 16,
                "dropout": 0.1,
            },
            {"type": "convolutional", "layers": 3, "dim": 16, "kernel_sizes": [3], "value_layers": 1, "dropout": 0.1},
            source=LEARNED,
        )
    },
    "gated convolutional encoder, recurrent decoder": {
        "model": recurrent(
            {
                "type": "luong",
                "cell": GRU,
                "score": "general",
                "bridge": {"type": "linear", "summary": "mean"},
                "dim": 16,
            },
            {"type": "convolutional", "layers": 2, "dim": 16, "kernel_sizes": [3, 5], "activation": "gated"},
        )
    },
    "kalchbrenner-blunsom": {
        "model": recurrent(
            {"type": "kalchbrenner", "cell": ELMAN, "dropout": 0.1}, {"type": "kalchbrenner", "layers": 6}
        )
    },
    "recurrent encoder, sum of directions": {
        "model": recurrent(
            {
                "type": "luong",
                "cell": LSTM,
                "score": "general",
                "bridge": {"type": "linear", "summary": "final-states"},
                "dim": 16,
            },
            {"type": "recurrent", "cell": LSTM, "layers": 2, "directions": "both", "merge": "sum", "dropout": 0.1},
        )
    },
    "normalized gru, reset after, orthogonal": {
        "model": bahdanau(cell={**GRU, "reset_after": True, "layer_norm": True, "orthogonal": True})
    },
    "lstm with peepholes, coupled gates, projected directions": {
        "model": recurrent(
            {"type": "luong", "cell": {**LSTM, "coupled": True, "forget_bias": 0.0}, "dim": 16},
            {"type": "recurrent", "cell": {**LSTM, "peepholes": "diagonal"}, "merge": "project"},
        )
    },
    "lstm with full peepholes, mean of directions": {
        "model": recurrent(
            {"type": "luong", "cell": {**LSTM, "peepholes": "full", "layer_norm": True}, "dim": 16},
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
                    "extra_input": "all",
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
                "cell": {"type": "stacked", "cell": LSTM, "layers": 1, "upper_cells": [{"type": "gru", "dim": 12}]},
                "bridge": "zeros",
                "dim": 16,
            },
            {"type": "recurrent", "cell": LSTM, "upper_cells": [{"type": "gru", "dim": 12}], "dropout": 0.1},
        )
    },
    "elman": {"model": recurrent({"type": "sutskever", "cell": ELMAN}, {"type": "recurrent", "cell": ELMAN})},
    "language model, transformer": {
        "data": ONE_SIDED,
        "model": {**blocks({}), "source": "none", "encoder": "none", "tie": "output"},
        "objective": {"label_smoothing": 0.0},
        "train": UNTRANSLATED,
    },
    "language model, lstm": {
        "data": ONE_SIDED,
        "model": LSTM_LANGUAGE_MODEL,
        "objective": {"label_smoothing": 0.0},
        "train": UNTRANSLATED,
    },
    "ctc": {"model": {**FRAMES, "frame_head": "ctc"}, "text": LETTERS_TO_WORDS, "objective": "ctc"},
    "ctc, upsampling": {
        "model": {**FRAMES, "frame_head": {"type": "ctc", "upsample": 2}},
        "text": LETTERS_TO_WORDS,
        "objective": "ctc",
    },
    "joint ctc": {
        "model": {**BAHDANAU, "frame_head": {"type": "ctc", "upsample": 2}},
        "objective": {"type": "joint-ctc", "ctc_weight": 0.3, "label_smoothing": 0.1},
    },
    "instant, one token per position": {
        "data": CASED,
        "model": {**FRAMES, "frame_head": {"type": "aligned", "length_prediction": "eos"}},
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.1},
        "train": {"validation": POSITIONS},
        "translate": POSITIONS,
    },
    "instant, length head": {
        "data": CASED,
        "model": {
            **FRAMES,
            "frame_head": {"type": "aligned", "length_prediction": "classifier", "hidden_dims": [16], "dropout": 0.1},
        },
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.0},
        "train": {"validation": POSITIONS},
        "translate": POSITIONS,
    },
    "instant, dense": {
        "data": CASED,
        "model": {
            "source": {"dim": 8, "scale": False, "dropout": 0.1},
            "encoder": "identity",
            **NO_DECODER,
            "frame_head": {
                "type": "dense",
                "max_length": 31,
                "hidden_dims": [24],
                "length_prediction": "classifier",
                "dropout": 0.1,
            },
        },
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.0},
        "train": {"validation": POSITIONS},
        "translate": POSITIONS,
    },
    "pictures, ctc": {
        "data": PICTURES,
        "model": {"source": "pixels", "encoder": READS_PICTURES, **NO_DECODER, "frame_head": "ctc"},
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
        "text": {**PICTURE_TEXT, "source": {"type": "image", "height": 16, "invert": True}},
    },
}


def objective(**settings: Any) -> Recipe:
    return {"model": BAHDANAU, "objective": settings}


def decoder_inputs(**settings: Any) -> Recipe:
    """Return a case of cross-entropy with these decoder inputs."""
    return objective(type="cross-entropy", label_smoothing=0.1, decoder_input=settings)


OBJECTIVES: dict[str, Recipe] = {
    "cross-entropy, chunks of positions": objective(type="cross-entropy", label_smoothing=0.0, chunk_size=7),
    "scheduled sampling, constant": decoder_inputs(
        type="scheduled-sampling", schedule={"type": "constant", "probability": 0.5}
    ),
    "scheduled sampling, linear, per sequence": decoder_inputs(
        type="scheduled-sampling",
        schedule={"type": "linear", "initial": 0.9, "slope": 0.04, "minimum": 0.1},
        sample_per="sequence",
    ),
    "scheduled sampling, exponential, best token": decoder_inputs(
        type="scheduled-sampling", schedule={"type": "exponential", "base": 0.95}, prediction="argmax"
    ),
    "scheduled sampling, inverse sigmoid, two passes": decoder_inputs(
        type="scheduled-sampling", schedule={"type": "inverse-sigmoid", "k": 8.0}, method="two-pass"
    ),
    "free running": decoder_inputs(type="free-running", prediction="sample"),
    "minimum risk, word error rate": {
        **objective(type="minimum-risk", cost="wer", samples=4, alpha=0.5, cross_entropy_weight=0.2),
        "train": {"initial_model": "@bahdanau, warm"},
    },
    "minimum risk, chrf, without reference": {
        **objective(type="minimum-risk", cost="chrf", samples=4, alpha=0.5, include_reference=False),
        "train": {"initial_model": "@bahdanau, warm"},
    },
    "word loss": {**objective(type="word-loss", q=0.7, cross_entropy_weight=0.5), "text": SUBWORDS},
    "coverage": objective(type="coverage", weight=0.5, penalty="overlap"),
    "coverage, total": objective(type="coverage", weight=0.5, penalty="total", label_smoothing=0.0),
    "distillation": objective(type="distillation", teacher="@bahdanau, warm", weight=0.6, temperature=2.0),
    "sampled softmax, unigram": objective(
        type="sampled-softmax", sample_size=12, proposal={"type": "unigram", "power": 0.75}
    ),
    "sampled softmax, log-uniform": objective(type="sampled-softmax", sample_size=12, proposal="log-uniform"),
    "bucketed vocabulary": objective(type="bucketed-vocabulary", sample_size=16, bucket_steps=3),
    "negative sampling, uniform": objective(type="negative-sampling", negatives=5, proposal="uniform"),
}


def trained(**settings: Any) -> Recipe:
    return {"model": TRANSFORMER, "train": settings}


OPTIMIZERS: dict[str, Recipe] = {
    "sgd, halving": trained(
        optimizer={"type": "sgd", "momentum": 0.9, "weight_decay": 0.001},
        schedule={"type": "halving", "learning_rate": 0.5, "start_decay_steps": 8, "decay_steps": 4},
    ),
    "adadelta": trained(
        optimizer={"type": "adadelta"}, schedule={"type": "halving", "learning_rate": 1.0, "start_decay_steps": 100}
    ),
    "adam, linear, weight decay, no clipping": trained(
        optimizer={"type": "adam", "weight_decay": 0.001, "beta2": 0.95},
        schedule={"type": "linear", "learning_rate": 0.01, "warmup_steps": 4, "min_lr_ratio": 0.1},
        clip_norm=None,
    ),
    "adamw, cosine, gradient accumulation": trained(
        optimizer={"type": "adamw", "weight_decay": 0.05},
        schedule={"type": "cosine", "learning_rate": 0.01, "warmup_steps": 4, "min_lr_ratio": 0.1},
        gradient_accumulation=2,
        clip_norm=0.1,
    ),
    "lazy adam, sparse gradients": {
        "model": blocks(
            {},
            source={**SINUSOIDAL, "sparse": True},
            target={**SINUSOIDAL, "sparse": True},
            head={"type": "linear", "sparse": True},
        ),
        "objective": {"type": "sampled-softmax", "sample_size": 12},
        "train": {"optimizer": "lazy-adam"},
    },
    "warmup-stable-decay, average of weights": trained(
        schedule={"type": "warmup-stable-decay", "learning_rate": 0.01, "warmup_steps": 4, "decay_ratio": 0.5},
        average={"type": "snapshots", "count": 3, "every": 4},
    ),
    "exponential average of weights": trained(average={"type": "exponential", "decay": 0.9}),
    "frozen encoder, warm start": {
        "model": BAHDANAU,
        "train": {"initial_model": "@bahdanau, warm", "freeze": ["source", "encoder"], "keep_optimizer": True},
    },
    "mixed corpora": {
        "model": TRANSFORMER,
        "data": {
            "train": [],
            "mix": [{"files": ["train.src", "train.tgt"], "weight": 0.5}, {"files": ["more.tsv"], "weight": 2.0}],
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
        "data": {**PAIRS, "validation_fraction": 0.1},
        "train": {"validation": {"every": 20, "metrics": ["chrf"], "best_metric": "loss", "search": {"type": "beam"}}},
    },
}

HALF_PRECISION: dict[str, Recipe] = {
    "bfloat16, transformer": trained(precision="bfloat16"),
    "bfloat16, bahdanau": {"model": BAHDANAU, "train": {"precision": "bfloat16", "gradient_accumulation": 2}},
}

LONG = {
    "steps": 90,
    "batch_tokens": 300,
    "schedule": {"type": "inverse-square-root", "learning_rate": 0.02, "warmup_steps": 10},
}
SMALL_LIMIT = {"search": "greedy", "max_length_factor": 1.0, "max_length_extra": 3}

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
        "data": {"train": ["train.both"], "monolingual": True},
        "model": LSTM_LANGUAGE_MODEL,
        "objective": {"label_smoothing": 0.0},
        "train": {**LONG, **UNTRANSLATED},
    },
    "language model of targets": {
        "data": ONE_SIDED,
        "model": LSTM_LANGUAGE_MODEL,
        "text": {"source": "whitespace"},
        "objective": {"label_smoothing": 0.0},
        "train": {**LONG, **UNTRANSLATED},
    },
    "joint ctc, searched": {
        "model": {**BAHDANAU, "frame_head": {"type": "ctc", "upsample": 2}},
        "objective": {"type": "joint-ctc", "ctc_weight": 0.3, "label_smoothing": 0.1},
        "train": LONG,
    },
    "ctc, searched": {
        "model": {**FRAMES, "frame_head": "ctc"},
        "text": LETTERS_TO_WORDS,
        "objective": "ctc",
        "train": {**LONG, "batch_tokens": 700},
    },
    "instant, searched": {
        "data": CASED,
        "model": {**FRAMES, "frame_head": {"type": "aligned", "length_prediction": "classifier"}},
        "text": LOWERCASE_TO_CASED,
        "objective": {"type": "position-cross-entropy", "label_smoothing": 0.0},
        "train": {**LONG, "validation": POSITIONS},
        "translate": POSITIONS,
    },
}

BEAM = {"type": "beam", "size": 4}
SAMPLES = {"type": "sampling", "n_best": 3, "seed": 5}
SHORT = {"max_length_factor": 0.1, "max_length_extra": 2}


def beam(**others: Any) -> Recipe:
    return {"search": {**BEAM, **others}}


# Settings of decoding, for models with a decoder.
SEARCHES: dict[str, Recipe] = {
    "greedy": {"search": "greedy"},
    "beam size=2": beam(size=2),
    "beam n_best=3": beam(n_best=3),
    "beam n_best=4, no length penalty": beam(n_best=4, length_penalty="none"),
    "beam, average length penalty alpha=0.5": beam(n_best=2, length_penalty={"type": "average", "alpha": 0.5}),
    "beam, gnmt length penalty": beam(n_best=2, length_penalty={"type": "gnmt", "alpha": 0.8}),
    "beam, word reward": beam(n_best=2, length_penalty={"type": "reward", "gamma": 0.7}),
    "beam, stop at limit": beam(n_best=2, stop_rule="limit"),
    "beam, stop at first": beam(n_best=2, stop_rule="first"),
    "beam, stop at top": beam(n_best=2, stop_rule="top"),
    "beam, coverage penalty": beam(n_best=2, coverage_penalty=0.4),
    "beam, keep greedy": beam(n_best=2, keep_greedy=True),
    "diverse beam": {"search": {"type": "diverse", "size": 6, "groups": 3, "diversity": 0.5, "n_best": 3}},
    "diverse beam, two groups, gnmt": {
        "search": {
            "type": "diverse",
            "size": 4,
            "groups": 2,
            "diversity": 1.5,
            "n_best": 4,
            "length_penalty": "gnmt",
            "stop_rule": "limit",
        }
    },
    "sampling": {"search": SAMPLES},
    "sampling, another seed": {"search": {**SAMPLES, "seed": 6}},
    "sampling, temperature": {"search": {**SAMPLES, "temperature": 0.6}},
    "sampling, top k": {"search": {**SAMPLES, "top_k": 3}},
    "sampling, nucleus": {"search": {**SAMPLES, "top_p": 0.6}},
    "sampling, min p": {"search": {**SAMPLES, "min_p": 0.2}},
    "exhaustive": {"search": {"type": "exhaustive", "n_best": 2}, **SHORT},
    "exhaustive, no length penalty": {"search": {"type": "exhaustive", "n_best": 2, "length_penalty": "none"}, **SHORT},
    "minimum Bayes risk, chrf": {"mbr": {"samples": 6, "cost": "chrf"}},
    "minimum Bayes risk, bleu": {"mbr": {"samples": 6, "cost": "bleu"}, "search": {**SAMPLES, "temperature": 1.5}},
    "minimum Bayes risk, word error rate": {"mbr": {"samples": 6, "cost": "wer"}},
    "short length limit": {**beam(n_best=2), **SHORT},
    "minimum length": {**beam(n_best=2), "min_length_factor": 1.0, "min_length_extra": 2, "max_length_factor": 2.0},
    "block repeated bigrams": {**beam(n_best=2), "no_repeat_ngram_size": 2},
    "block repeated tokens": {"search": "greedy", "no_repeat_ngram_size": 1},
    "block repeated tokens, minimum length": {
        **beam(n_best=2),
        "no_repeat_ngram_size": 1,
        "min_length_factor": 1.0,
        "min_length_extra": 4,
    },
    "block repeated bigrams, minimum length": {"search": "greedy", "no_repeat_ngram_size": 2, "min_length_extra": 16},
    "word list": {**beam(n_best=2), "word_list": "@/words.txt"},
    "shallow fusion": {**beam(n_best=2), "fusion": {"model": "@language model, searched", "weight": 0.3}},
    "small batches": {**beam(n_best=2), "batch_tokens": 8, "buffer_size": 2},
}
JOINT_SEARCHES: dict[str, Recipe] = {
    "greedy": {"search": "greedy"},
    "greedy with ctc": {"search": "greedy", "ctc_weight": 0.4},
    "beam with ctc": {**beam(n_best=3), "ctc_weight": 0.3},
}
CTC_SEARCHES: dict[str, Recipe] = {
    "best path": {"frame_decoder": "best-path"},
    "prefix beam": {"frame_decoder": {"type": "prefix-beam", "size": 4, "n_best": 3}},
    "prefix beam, language model": {
        "frame_decoder": {
            "type": "prefix-beam",
            "size": 4,
            "n_best": 2,
            "language_model": "@language model of targets",
            "language_model_weight": 0.3,
            "token_bonus": 0.5,
        }
    },
    "prefix beam, word list": {
        "frame_decoder": {"type": "prefix-beam", "size": 4, "n_best": 2, "word_list": "@/words.txt"}
    },
}
INSTANT_SEARCHES: dict[str, Recipe] = {"positions": {"frame_decoder": "position-wise"}}
CONSTRAINED_SEARCH, CONSTRAINED_GREEDY = beam(n_best=2), {"search": "greedy"}
CONSTRAINED_WITHOUT_REPEATS = {**beam(n_best=2), "no_repeat_ngram_size": 1}
N_BEST_TO_RERANK = beam(n_best=4)

# Tokenizers whose batches are compared.
TOKENIZERS: dict[str, Recipe] = {
    "character": {"source": "character"},
    "character, bytes for unknown, lowercase": {
        "source": {"type": "character", "byte_fallback": True, "min_frequency": 30, "lowercase": True}
    },
    "byte": {"source": "byte"},
    "whitespace": {"source": {"type": "whitespace", "min_frequency": 3}},
    "word": {"source": {"type": "word", "vocab_size": 30, "normalization": "nfkc"}},
    "bpe": {"source": {"type": "bpe", "vocab_size": 300}},
    "bpe dropout": {"source": {"type": "bpe", "vocab_size": 90, "byte_fallback": False, "dropout": 0.2}},
    "wordpiece": {"source": {"type": "wordpiece", "vocab_size": 90}},
    "unigram": {"source": {"type": "unigram", "vocab_size": 80, "byte_fallback": False}},
    "unigram, bytes for unknown": {"source": {"type": "unigram", "vocab_size": 330}},
    "separate bpe, right to left": {
        "source": {"type": "bpe", "vocab_size": 80, "byte_fallback": False},
        "target": {"type": "bpe", "vocab_size": 70, "byte_fallback": False, "dropout": 0.1},
        "joint": False,
        "target_order": "backward",
    },
    "sample of lines": {"source": {"type": "word", "min_frequency": 1}, "sample_size": 20},
}
TOKENIZED = {"train": ["flawed.src", "flawed.tgt"], "valid": ["valid.src", "valid.tgt"], "max_length": 60}
DATA_CASES: dict[str, Recipe] = {
    "pairs": {"train": ["flawed.src", "flawed.tgt"], "valid": ["valid.src", "valid.tgt"], "max_length": 12},
    "length ratio, duplicates kept": {
        "train": ["flawed.src", "flawed.tgt"],
        "max_length": 40,
        "max_length_ratio": 2.0,
        "drop_duplicates": False,
    },
    "held out": {"train": ["train.src", "train.tgt"], "validation_fraction": 0.25},
    "one-sided": {"train": ["train.tgt"], "valid": ["valid.tgt"], "monolingual": True},
    "mixed": {
        "mix": [{"files": ["train.src", "train.tgt"], "weight": 0.5}, {"files": ["more.tsv"], "weight": 2.0}],
        "test": ["more.tsv"],
    },
}

# Runs that others start from or learn from.
WARM: dict[str, Recipe] = {"bahdanau, warm": {"model": BAHDANAU, "train": {"seed": 7}}}

RUNS: dict[str, Recipe] = {**WARM, **FAMILIES, **OBJECTIVES, **OPTIMIZERS, **HALF_PRECISION, **SEARCHED}


def recipe(label: str, corpora: Path, runs: Path) -> Recipe:
    """Return the complete recipe of a case."""
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
    return [other for other in RUNS if other != label and f"'@{other}'" in str(RUNS[label])]


def data_recipe(text: Recipe, data: Recipe, corpora: Path, runs: Path) -> Recipe:
    """Return a recipe for data alone."""
    return {"data": {"folder": str(corpora), "cache": str(runs / "cache"), **data}, "text": text, "train": {"seed": 3}}
