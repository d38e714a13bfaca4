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

NUM_SPECIAL_TOKENS = 3  # in the vocabularies, before the tokens of the tokenizers
BATCH_SIZE = 32  # lines


class CTranslate2Model:
    """The model in a folder, by default that of this file."""

    def __init__(self, folder: Path | str = Path(__file__).parent):
        folder = Path(folder)
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text("utf-8"))
        self.source, self.target = (Tokenizer.from_file(str(folder / f"{side}.json")) for side in ("source", "target"))
        self.source_tokens, self.target_tokens = (read_vocabulary(folder, side) for side in ("source", "target"))
        self.target_ids = {token: number for number, token in enumerate(self.target_tokens)}
        self.library = ctranslate2.Translator(str(folder), device="cpu")

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Translate lines; a blank line becomes an empty one.

        Lines of one length have one length limit, so they are searched together.
        """
        texts, by_length = [""] * len(lines), defaultdict[int, dict[int, list[str]]](dict)
        for number, line in enumerate(lines):
            if line.strip():
                row = self.encode(line)
                by_length[len(row)][number] = row
        for length, rows in by_length.items():
            outputs = self.search(list(rows.values()), self.max_output_length(length + 1))  # with EOS
            for number, output in zip(rows, outputs, strict=True):
                texts[number] = self.decode(output)
        return texts

    def encode(self, line: str) -> list[str]:
        """The source tokens of a line."""
        ids = self.source.encode(line, add_special_tokens=False).ids[: self.settings["max_source_length"]]
        return [self.source_tokens[number + NUM_SPECIAL_TOKENS] for number in ids]

    def search(self, rows: Sequence[Sequence[str]], limit: int) -> list[list[str]]:
        """The best output for each row. Rows of one batch share their shortlists, so with them a batch has one row."""
        results = self.library.translate_batch(
            rows,
            max_batch_size=1 if self.settings["shortlist"] else BATCH_SIZE,
            beam_size=self.settings["beam"],
            length_penalty=self.settings["length_penalty"],
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            use_vmap=self.settings["shortlist"],
        )
        return [result.hypotheses[0] for result in results]

    def decode(self, tokens: Sequence[str]) -> str:
        """The text of an output."""
        ids = [self.target_ids[token] - NUM_SPECIAL_TOKENS for token in tokens]
        ordered = ids[::-1] if self.settings["backward"] else ids  # some models write from right to left
        text: str = self.target.decode([number for number in ordered if number >= 0], skip_special_tokens=False)
        return text.replace("\n", " ")

    def max_output_length(self, source_length: int) -> int:
        """The most tokens of an output; computed in float32, as in training."""
        factor, extra = np.float32(self.settings["max_length_factor"]), int(self.settings["max_length_extra"])
        limit = int(np.float32(source_length) * factor) + extra
        return min(limit, self.settings["max_target_length"] or limit)


def read_vocabulary(folder: Path, side: str) -> list[str]:
    """The tokens of a side, in the order of their ids."""
    own, shared = folder / f"{side}_vocabulary.json", folder / "shared_vocabulary.json"
    tokens: list[str] = json.loads((own if own.exists() else shared).read_text("utf-8"))
    return tokens


Model = CTranslate2Model  # the name that programs import, whatever the library
