"""A model for CTranslate2. From Python: from model import Model; Model().translate(["A line.", "Another line."])"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from tokenizers import Tokenizer

MARKS = 3  # names before those of the tokenizers' pieces
BATCH = 32  # lines


class Model:
    """The model in a folder: by default, that of this file."""

    def __init__(self, folder: Path | str = Path(__file__).parent):
        folder = Path(folder)
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text("utf-8"))
        self.source, self.target = (Tokenizer.from_file(str(folder / f"{side}.json")) for side in ("source", "target"))
        self.source_names, self.target_names = (vocabulary(folder, side) for side in ("source", "target"))
        self.numbers = {name: number for number, name in enumerate(self.target_names)}
        self.library = ctranslate2.Translator(str(folder), device="cpu")

    def translate(self, lines: Sequence[str]) -> list[str]:
        """A line for each line; a blank one becomes an empty one.

        Those of one length go together, since they have one limit: so no line depends on those beside it.
        """
        texts, alike = [""] * len(lines), defaultdict[int, dict[int, list[str]]](dict)
        for place, line in enumerate(lines):
            if line.strip():
                row = self.encode(line)
                alike[len(row)][place] = row
        for length, rows in alike.items():
            for place, said in zip(rows, self.search(list(rows.values()), self.limit(length + 1)), strict=True):
                texts[place] = self.decode(said)
        return texts

    def encode(self, line: str) -> list[str]:
        """The names of the pieces of a line."""
        pieces = self.source.encode(line, add_special_tokens=False).ids[: self.settings["source_limit"]]
        return [self.source_names[piece + MARKS] for piece in pieces]

    def search(self, rows: Sequence[Sequence[str]], limit: int) -> list[list[str]]:
        """The best output for each row; with a shortlist one at a time, since rows that go together share theirs."""
        found = self.library.translate_batch(
            rows,
            max_batch_size=1 if self.settings["shortlist"] else BATCH,
            beam_size=self.settings["beam"],
            length_penalty=self.settings["length_penalty"],
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            use_vmap=self.settings["shortlist"],
        )
        return [one.hypotheses[0] for one in found]

    def decode(self, names: Sequence[str]) -> str:
        said = [self.numbers[name] - MARKS for name in names]
        ordered = said[::-1] if self.settings["backward"] else said
        text: str = self.target.decode([piece for piece in ordered if piece >= 0], skip_special_tokens=False)
        return text.replace("\n", " ")

    def limit(self, length: int) -> int:
        """The most pieces of an output: what the source's length allows, and the model has positions for."""
        most = int(np.float32(length) * np.float32(self.settings["length_factor"])) + int(self.settings["length_extra"])
        return min(most, self.settings["target_limit"] or most)


def vocabulary(folder: Path, side: str) -> list[str]:
    """The names of the tokens of a side."""
    own, shared = folder / f"{side}_vocabulary.json", folder / "shared_vocabulary.json"
    names: list[str] = json.loads((own if own.exists() else shared).read_text("utf-8"))
    return names
