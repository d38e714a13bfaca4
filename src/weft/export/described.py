"""A model folder as plain data: what is needed to use it elsewhere. Nothing here needs torch, which takes seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from weft.store.formats import migrated
from weft.store.json_files import read_object
from weft.store.manifest import check_manifest
from weft.store.place import CONFIG, WEIGHTS, find_model
from weft.store.readers import load_tokenizers
from weft.store.tensors import loading
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer

Node = dict[str, Any]
Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Described:
    """config: the recipe that made the model, every default written out. source: or what reads pictures."""

    folder: Path
    config: Node
    source: Reader
    target: Tokenizer

    @property
    def model(self) -> Node:
        """What fills the slots."""
        slots: Node = self.config["model"]
        return slots

    @property
    def source_tokenizer(self) -> Tokenizer:
        """Of a model that reads text."""
        return cast(Tokenizer, self.source)

    @property
    def uses_shortlist(self) -> bool:
        """Does the recipe itself ask for a shortlist? (Models of development versions do not say.)"""
        return bool(self.config["translate"].get("shortlist", False))

    def source_limit(self) -> int:
        """The most pieces of a line that the model reads: what it was trained on, if its positions reach so far."""
        known, placed = self.config["data"]["max_length"], position_limit(self.model["source"])
        return int(known if placed is None else min(known, placed - 1))

    def target_limit(self) -> int | None:
        """The most pieces of an output that the model has positions for (None: any number)."""
        placed = position_limit(self.model["target"])
        return None if placed is None else placed - 1

    def output_limit(self, length: int) -> int:
        """The most pieces of the output of a source of this length, END counted: as engine/finding.py has it."""
        translate = self.config["translate"]
        limit = int(np.float32(length) * np.float32(translate["length_factor"])) + int(translate["length_extra"])
        placed = self.target_limit()
        return limit if placed is None else min(limit, placed)

    def weights(self) -> Weights:
        """Every weight by its name; one that is shared stands under each of its names."""
        with loading(self.folder / WEIGHTS):
            found = load_file(self.folder / WEIGHTS)
        if self.model["tie"] in ("embeddings", "all"):
            found["target.weight"] = found["source.weight"]
        if self.model["tie"] in ("output", "all"):
            found["head.weight"] = found["target.weight"]
        return found


def read_described(path: Path) -> Described:
    """The model in a run or model folder, every file checked against the manifest."""
    folder = find_model(path)
    written = check_manifest(folder).format
    config = migrated(read_object(folder / CONFIG), "config", written)
    return Described(folder, config, *load_tokenizers(folder))


def position_limit(embedding: Node) -> int | None:
    """How many positions an embedding has vectors for (None: any number)."""
    match embedding:
        case {"positions": {"type": "learned", "limit": int(limit)}}:
            return limit
        case _:
            return None
