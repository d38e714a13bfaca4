"""From files to batches: everything before the first step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from platform import node

from weft.check.warning import warnings
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.data.cache import TokenCache, build_or_open, build_or_open_whole
from weft.data.corpus import Corpus
from weft.data.report import Report, make_report, render
from weft.store.place import identity
from weft.text.dropout import Noise
from weft.text.reader import Reader
from weft.text.settings import reads, training_noise
from weft.text.tokenizer import Tokenizer
from weft.training.progress import Display
from weft.training.ranks import Ranks
from weft.training.telling import told_tokenizers
from weft.training.tokenizers import tokenizers_for


@dataclass(frozen=True)
class Split:
    """One of train, valid, test: its lines and its tokens."""

    corpus: Corpus
    cache: TokenCache


@dataclass(frozen=True)
class PreparedData:
    """Data as the loop needs it, and what was found out about it on the way."""

    source: Reader
    target: Tokenizer
    train: Split
    valid: Split | None
    noise: tuple[Noise | None, Noise | None]
    report: Report
    fingerprints: dict[str, str]  # of all files that training reads, by their place in the recipe


def prepare(
    recipe: Recipe, tokenizers: tuple[Reader, Tokenizer] | None, display: Display, ranks: Ranks
) -> PreparedData:
    """Read the files, learn the tokenizers (unless a run has them already), tokenize, and show the data table.

    The first rank learns, and the first of each machine tokenizes.
    """
    corpora = recipe.data.splits(reads(recipe.text))
    if tokenizers is None:
        tokenizers = told_tokenizers(ranks, lambda: tokenizers_for(recipe, corpora["train"], display))
    with ranks.in_turn():
        caches = {name: tokenized(name, corpus, tokenizers, recipe, display) for name, corpus in corpora.items()}
    report = make_report(caches["train"], {name: cache for name, cache in caches.items() if name != "train"})
    display.say("\n".join([render(report), *warnings(caches["train"].tally.looked)]))
    fingerprints = {f"data.{name}": corpus.fingerprint() for name, corpus in corpora.items()}
    fingerprints |= fingerprint_of_teacher(recipe)
    check_same_files(fingerprints, ranks)
    return PreparedData(
        source=tokenizers[0],
        target=tokenizers[1],
        train=Split(corpora["train"], caches["train"]),
        valid=Split(corpora["valid"], caches["valid"]) if "valid" in caches else None,
        noise=training_noise(recipe.text, tokenizers),
        report=report,
        fingerprints=fingerprints,
    )


def tokenized(
    name: str, corpus: Corpus, tokenizers: tuple[Reader, Tokenizer], recipe: Recipe, display: Display
) -> TokenCache:
    """The tokens of a split: only in training are pairs left out."""
    make = build_or_open if name == "train" else build_or_open_whole
    return make(corpus, *tokenizers, recipe.data, lambda done: display.count(f"tokenizing {name}", done))


def check_same_files(fingerprints: dict[str, str], ranks: Ranks) -> None:
    """All machines must read the same."""
    firsts = ranks.first(lambda: fingerprints)
    different = [place for place, value in fingerprints.items() if firsts[place] != value]
    if different:
        raise UserError(
            f"{different[0]}: the files on {node()} are not those on the machine of the first process: copy them there"
        )


def fingerprint_of_teacher(recipe: Recipe) -> dict[str, str]:
    """The fingerprint of the model that the objective learns from, if it does."""
    objective = describe(recipe.objective, REGISTRY)
    if objective["type"] != "distillation":
        return {}
    return {"objective.teacher": identity(Path(objective["teacher"]).expanduser())}
