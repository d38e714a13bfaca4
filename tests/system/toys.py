"""A toy language pair, and recipes so small that a run takes a second or two.

Sentences are made of phrases, article + adjective + noun, joined by verbs. Every word has one translation, and in the
target the adjective stands after its noun: "the red cat sees a dog" -> "li kato ruja videt un hundo".
"""

from pathlib import Path
from random import Random
from typing import Any

from weft.config.yaml_files import dump_yaml

LANGUAGES = ("en", "art")  # ISO 639-2: art stands for artificial languages
ARTICLES = {"the": "li", "a": "un", "this": "cist"}
ADJECTIVES = {"red": "ruja", "small": "pika", "old": "alta", "wet": "mola", "loud": "brava"}
NOUNS = {"cat": "kato", "dog": "hundo", "tree": "arbo", "house": "kaso", "river": "flumo", "child": "ninjo"}
VERBS = {"sees": "videt", "hears": "audet", "finds": "trovet", "has": "havet"}


def sentence(rng: Random) -> tuple[str, str]:
    """Draw a sentence pair."""
    verb = rng.choice(list(VERBS))
    (source_subject, target_subject), (source_object, target_object) = phrase(rng), phrase(rng)
    return f"{source_subject} {verb} {source_object}", f"{target_subject} {VERBS[verb]} {target_object}"


def phrase(rng: Random) -> tuple[str, str]:
    article, noun = rng.choice(list(ARTICLES)), rng.choice(list(NOUNS))
    if rng.random() < 0.5:
        return f"{article} {noun}", f"{ARTICLES[article]} {NOUNS[noun]}"
    adjective = rng.choice(list(ADJECTIVES))
    return f"{article} {adjective} {noun}", f"{ARTICLES[article]} {NOUNS[noun]} {ADJECTIVES[adjective]}"


def write_corpus(folder: Path, seed: int = 1) -> Path:
    """Write train (400 pairs), valid and test (20 each), as two files each."""
    rng = Random(seed)
    for name, count in (("train", 400), ("valid", 20), ("test", 20)):
        write_pairs(folder / name, [sentence(rng) for _ in range(count)])
    return folder


def write_pairs(stem: Path, pairs: list[tuple[str, str]]) -> None:
    for side, ending in enumerate(("src", "tgt")):
        lines = "".join(pair[side] + "\n" for pair in pairs)
        stem.with_suffix(f".{ending}").write_text(lines, "utf-8", newline="\n")


def files(name: str) -> list[str]:
    """Return the names of the two files of a split."""
    return [f"{name}.src", f"{name}.tgt"]


TRANSFORMER = {
    "source": {"dim": 16, "positions": "sinusoidal", "dropout": 0.1},
    "encoder": {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 32, "dropout": 0.1},
    "target": {"dim": 16, "positions": "sinusoidal", "dropout": 0.1},
    "decoder": {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 32, "dropout": 0.1},
    "tie": "all",
}
BAHDANAU = {
    "source": {"dim": 16, "scale": False, "dropout": 0.1},
    "encoder": {"type": "recurrent", "cell": {"dim": 12}},
    "target": {"dim": 16, "scale": False, "dropout": 0.1},
    "decoder": {"type": "bahdanau", "cell": {"dim": 16}, "maxout_dim": 16, "dropout": 0.1},
    "tie": "all",
}
FAMILIES: dict[str, dict[str, Any]] = {"transformer": TRANSFORMER, "bahdanau": BAHDANAU}


def recipe(folder: Path, family: str = "transformer", steps: int = 24) -> dict[str, Any]:
    """A short run that uses all sources of randomness and state: dropout, BPE dropout, accumulation, averaging."""
    return {
        "data": {
            "languages": list(LANGUAGES),
            "folder": str(folder),
            "train": files("train"),
            "valid": files("valid"),
            "test": files("test"),
            "max_length": 40,
        },
        "text": {"source": {"type": "bpe", "vocab_size": 90, "byte_fallback": False, "dropout": 0.1}},
        "model": FAMILIES[family],
        "train": {
            "steps": steps,
            "batch_tokens": 300,
            "gradient_accumulation": 2,
            "schedule": {"learning_rate": 0.01, "warmup_steps": 5},
            "average": {"type": "exponential", "decay": 0.9},
            "validation": {"every": 8, "lines": 10, "search": "greedy"},
            "checkpoint_steps": 10,
            "log_every": 3,
        },
        "translate": {"search": "greedy"},
    }


def learning_recipe(folder: Path, family: str) -> dict[str, Any]:
    """A run long enough to learn some of the language."""
    node = recipe(folder, family, steps=80)
    node["text"] = {"source": "word"}
    node["train"] |= {
        "gradient_accumulation": 1,
        "schedule": {"learning_rate": 0.03, "warmup_steps": 10},
        "validation": {"every": 40, "search": "greedy"},
        "checkpoint_steps": 50,
        "log_every": 20,
    }
    return node


LANGUAGE_MODELS: dict[str, dict[str, Any]] = {
    "transformer": TRANSFORMER | {"source": "none", "encoder": "none", "tie": "output"},
    "lstm": {
        "source": "none",
        "encoder": "none",
        "target": {"dim": 16, "scale": False, "dropout": 0.1},
        "decoder": {"type": "sutskever", "cell": {"type": "lstm", "dim": 16}, "bridge": "zeros"},
        "tie": "output",
    },
}


def language_recipe(folder: Path, family: str = "transformer") -> dict[str, Any]:
    """A language model of the source language."""
    node = learning_recipe(folder, "transformer")
    node["data"] |= {
        "monolingual": True,
        "languages": [],
        "train": ["train.src"],
        "valid": ["valid.src"],
        "test": ["test.src"],
    }
    node["model"] = LANGUAGE_MODELS[family]
    node["objective"] = {"label_smoothing": 0.0}
    node["train"]["validation"] = {"every": 40, "lines": 0, "metrics": [], "best_metric": "perplexity"}
    return node


def write_recipe(path: Path, node: dict[str, Any]) -> Path:
    path.write_text(dump_yaml(node), "utf-8")
    return path
