"""A model for onnxruntime. From Python: from model import Model; Model().translate(["A line.", "Another line."])"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

PAD, BOS, EOS, NUM_SPECIAL_TOKENS = range(4)  # the ids of the tokenizers follow
UPDATE_PREFIX = "after."  # before the name of a changed part of the state
BATCH_SIZE = 32  # lines

DecoderState = dict[str, NDArray[Any]]


class OnnxModel:
    """The model in a folder, by default that of this file.

    encoder.onnx maps a source to the initial state; step.onnx maps the last token and the state to the
    log-probabilities of the next token and the changed parts of the state.
    """

    def __init__(self, folder: Path | str = Path(__file__).parent):
        folder = Path(folder)
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text("utf-8"))
        self.source, self.target = (Tokenizer.from_file(str(folder / f"{side}.json")) for side in ("source", "target"))
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
            for name in ("encoder", "step")
        )

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Translate lines; a blank line becomes an empty one."""
        texts = [""] * len(lines)
        numbers = [number for number, line in enumerate(lines) if line.strip()]
        for first in range(0, len(numbers), BATCH_SIZE):
            batch = numbers[first : first + BATCH_SIZE]
            outputs = self.greedy([self.encode(lines[number]) for number in batch])
            for number, output in zip(batch, outputs, strict=True):
                texts[number] = self.decode(output)
        return texts

    def encode(self, line: str) -> list[int]:
        """The source ids of a line, EOS last."""
        ids = self.source.encode(line, add_special_tokens=False).ids[: self.settings["max_source_length"]]
        return [*(number + NUM_SPECIAL_TOKENS for number in ids), EOS]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        ordered = ids[::-1] if self.settings["backward"] else ids  # some models write from right to left
        numbers = [number - NUM_SPECIAL_TOKENS for number in ordered if number >= NUM_SPECIAL_TOKENS]
        text: str = self.target.decode(numbers, skip_special_tokens=False)
        return text.replace("\n", " ")

    def greedy(self, rows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Take the most probable token, never PAD or BOS, until EOS or the length limit; outputs without EOS."""
        limits = np.array([self.max_output_length(len(row)) for row in rows])
        outputs: list[list[int]] = [[] for _ in rows]
        active = np.ones(len(rows), bool)
        tokens, state, length = np.full(len(rows), BOS), self.start(rows), 0
        while active.any():
            scores, state = self.step(tokens, state)
            scores[:, [PAD, BOS]] = -np.inf
            tokens = np.where(limits <= length, EOS, scores.argmax(1))
            active &= tokens != EOS
            for number in active.nonzero()[0]:
                outputs[number].append(int(tokens[number]))
            length += 1
        return outputs

    def start(self, rows: Sequence[Sequence[int]]) -> DecoderState:
        """The initial state for a batch of sources."""
        padded = np.full((len(rows), max(map(len, rows))), PAD)
        for number, row in enumerate(rows):
            padded[number, : len(row)] = row
        return run_session(self.encoder, {"source": padded})

    def step(self, tokens: NDArray[np.int64], state: DecoderState) -> tuple[NDArray[np.float32], DecoderState]:
        """The log-probabilities of the next tokens [B,V], and the new state."""
        results = run_session(self.decoder, {"token": tokens, **state})
        log_probs = results.pop("log_probs")
        return log_probs, {**state, **{name.removeprefix(UPDATE_PREFIX): value for name, value in results.items()}}

    def max_output_length(self, source_length: int) -> int:
        """The most tokens of an output; computed in float32, as in training."""
        factor, extra = np.float32(self.settings["max_length_factor"]), int(self.settings["max_length_extra"])
        limit = int(np.float32(source_length) * factor) + extra
        return min(limit, self.settings["max_target_length"] or limit)


def run_session(session: Any, inputs: DecoderState) -> DecoderState:
    """The outputs of a graph by name."""
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


Model = OnnxModel  # the name that programs import, whatever the library
