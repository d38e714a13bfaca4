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

PAD, BEGIN, END, FIRST_PIECE = range(4)  # the tokenizers' pieces come after the marks
AFTER = "after."  # what a step calls the new value of an input
BATCH = 32  # lines

State = dict[str, NDArray[Any]]


class Model:
    """The model in a folder: by default, that of this file.

    encoder.onnx makes of a source the state before the first step; step.onnx makes of a token and the state the
    log-probabilities of the next token, and the new values of what has changed in the state.
    """

    def __init__(self, folder: Path | str = Path(__file__).parent):
        folder = Path(folder)
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text("utf-8"))
        self.source, self.target = (Tokenizer.from_file(str(folder / f"{side}.json")) for side in ("source", "target"))
        self.encoder, self.decoder = (session(folder / f"{name}.onnx") for name in ("encoder", "step"))

    def translate(self, lines: Sequence[str]) -> list[str]:
        """A line for each line; a blank one becomes an empty one."""
        texts = [""] * len(lines)
        places = [place for place, line in enumerate(lines) if line.strip()]
        for first in range(0, len(places), BATCH):
            few = places[first : first + BATCH]
            for place, said in zip(few, self.greedy([self.encode(lines[place]) for place in few]), strict=True):
                texts[place] = self.decode(said)
        return texts

    def encode(self, line: str) -> list[int]:
        """The ids of a line, its end mark last."""
        pieces = self.source.encode(line, add_special_tokens=False).ids[: self.settings["source_limit"]]
        return [*(piece + FIRST_PIECE for piece in pieces), END]

    def decode(self, ids: Sequence[int]) -> str:
        ordered = ids[::-1] if self.settings["backward"] else ids
        pieces = [number - FIRST_PIECE for number in ordered if number >= FIRST_PIECE]
        text: str = self.target.decode(pieces, skip_special_tokens=False)
        return text.replace("\n", " ")

    def greedy(self, rows: Sequence[Sequence[int]]) -> list[list[int]]:
        """Always the most probable token, until all outputs have ended; the end marks are left out."""
        limits = np.array([self.limit(len(row)) for row in rows])
        said: list[list[int]] = [[] for _ in rows]
        going = np.ones(len(rows), bool)
        tokens, state = np.full(len(rows), BEGIN), self.start(rows)
        while going.any():
            scores, state = self.step(tokens, state)
            tokens = self.chosen(scores, limits <= max(map(len, said)))
            going &= tokens != END
            for place in going.nonzero()[0]:
                said[place].append(int(tokens[place]))
        return said

    def chosen(self, scores: NDArray[np.float32], at_limit: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The best tokens, which are no marks but END; at the limit there is nothing else."""
        scores[:, [PAD, BEGIN]] = -np.inf
        return np.where(at_limit, END, scores.argmax(1))

    def start(self, rows: Sequence[Sequence[int]]) -> State:
        """What is known before the first step."""
        padded = np.full((len(rows), max(map(len, rows))), PAD)
        for place, row in enumerate(rows):
            padded[place, : len(row)] = row
        return named(self.encoder, {"source": padded})

    def step(self, tokens: NDArray[np.int64], state: State) -> tuple[NDArray[np.float32], State]:
        """The log-probabilities of the next tokens [B,V], and what is known then."""
        made = named(self.decoder, {"token": tokens, **state})
        changed = {name.removeprefix(AFTER): value for name, value in made.items() if name.startswith(AFTER)}
        return made["log_probs"], {**state, **changed}

    def limit(self, length: int) -> int:
        """The most pieces of an output: what the source's length allows, and the model has positions for."""
        most = int(np.float32(length) * np.float32(self.settings["length_factor"])) + int(self.settings["length_extra"])
        return min(most, self.settings["target_limit"] or most)


def session(path: Path) -> Any:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def named(graph: Any, inputs: State) -> State:
    """What a graph makes of these inputs, each by its name."""
    names = [output.name for output in graph.get_outputs()]
    return dict(zip(names, graph.run(names, inputs), strict=True))
