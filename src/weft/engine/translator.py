"""Lines in, lines out: what translate, evaluate and validation share."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import torch

from weft.config.recipe import Translate
from weft.core.errors import UserError
from weft.core.marks import END
from weft.core.state import Hypothesis, State, Step
from weft.data.padding import Row, pad
from weft.engine.paragraphs import translate_lines
from weft.nn.memory import Memory
from weft.search.mixing import mixed, together
from weft.search.paths import start_paths, step_paths
from weft.search.role import Reading, Search
from weft.store.model_folder import Trained
from weft.text.reader import LineError, at_once
from weft.text.sentences import Splitter


class Alternative(NamedTuple):
    """One output for a line: its text, its log-probability, its pieces (the end mark last) with theirs.

    finished: False if the length limit ended it, or if the model could say nothing at all.
    """

    text: str
    score: float
    pieces: tuple[str, ...]
    piece_scores: tuple[float, ...]
    finished: bool


NOTHING = Alternative("", 0.0, (), (), finished=True)
FAILED = Alternative("", float("-inf"), (), (), finished=False)  # no output has a probability: broken weights


@dataclass(frozen=True)
class Translation:
    """What a line became, with the alternatives that the search returned (the first is the text itself)."""

    source: str
    alternatives: tuple[Alternative, ...]
    cut: bool = False  # the line was longer than the model can read, and its end was left out

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        return self.alternatives[0].score


@dataclass(frozen=True)
class Translator:
    """A trained model with a search; or with a reading, if it has no decoder whose steps could be searched."""

    trained: Trained
    search: Search
    settings: Translate = field(default_factory=Translate)
    reading: Reading | None = None

    def translate(self, lines: Iterable[str]) -> list[Translation]:
        """One translation per line, in order, whatever the lines hold."""
        return list(self.stream(lines))

    def stream(self, lines: Iterable[str]) -> Iterator[Translation]:
        """The same as they come: memory does not grow with the number of lines."""
        remaining, done = iter(lines), 0
        size = at_once(self.trained.source_tokenizer, self.settings.window)
        while window := list(islice(remaining, size)):
            try:
                yield from self._window(window)
            except LineError as error:
                raise UserError(f"line {done + error.row + 1}: {error}") from error
            done += len(window)

    def translate_text(self, text: str, language: str = "en") -> str:
        """A text of any number of lines and sentences, sentence by sentence; its lines and white space stay.

        language: a code, such as en or pt-BR, of the language by whose rules sentences are found.
        """
        lines = translate_lines(self.stream, text.split("\n"), Splitter(language))
        return "\n".join(line.text for line in lines)

    def _window(self, lines: list[str]) -> list[Translation]:
        rows = self.trained.source_tokenizer.encode_rows(lines).split()
        limit = self.source_limit()
        done = {number: blank(line) for number, line in enumerate(lines) if not line.strip()}
        order = sorted((number for number in range(len(lines)) if number not in done), key=lambda n: -len(rows[n]))
        for batch in cut_batches(order, rows, limit, self.settings.batch_tokens):
            for number, hypotheses in zip(batch, self._find([rows[n][:limit] for n in batch]), strict=True):
                alternatives = tuple(self._alternative(hypothesis) for hypothesis in hypotheses) or (FAILED,)
                done[number] = Translation(lines[number], alternatives, cut=len(rows[number]) > limit)
        return [done[number] for number in range(len(lines))]

    def source_limit(self) -> int:
        """The most pieces of a line that the model reads: what it was trained on, if its positions reach so far."""
        model, trained = self.trained.model, self.trained.recipe.data.max_length
        placed = [model.source.limit, None if model.lattice is None else model.lattice.limit]
        return min([trained, *(limit - 1 for limit in placed if limit is not None)])

    @torch.inference_mode()
    def _find(self, rows: Sequence[Row]) -> list[list[Hypothesis]]:
        model = self.trained.model
        device = next(model.parameters()).device
        source = pad(rows).to(device)
        limit = (source.lengths() * self.settings.length_factor).long() + self.settings.length_extra
        if model.target.limit is not None:
            limit = limit.clamp(max=model.target.limit - 1)
        if self.reading is not None:
            return self.reading(model.frames(source), limit)
        return self.search(*self._steps(model.encode(source)), limit)

    def _steps(self, memory: Memory) -> tuple[Step, State]:
        """The step function to search, and its first state."""
        model, weight = self.trained.model, self.settings.ctc_weight
        if not weight:
            return model.step, model.start(memory)
        paths = start_paths(model.frames_of(memory))
        return mixed(model.step, step_paths, weight), together(model.start(memory), paths)

    def _alternative(self, hypothesis: Hypothesis) -> Alternative:
        target = self.trained.target_tokenizer
        return Alternative(
            one_line(target.decode([hypothesis.tokens])[0]),
            hypothesis.score,
            tuple(target.pieces([*hypothesis.tokens, END])),
            hypothesis.token_scores,
            hypothesis.finished,
        )


def one_line(text: str) -> str:
    """A byte piece can spell a line end; an output is one line all the same."""
    return text.replace("\n", " ")


def blank(line: str) -> Translation:
    """Nothing becomes nothing: the model is not asked."""
    return Translation(line, (NOTHING,))


def cut_batches(order: Sequence[int], rows: Sequence[Sized], limit: int, budget: int) -> Iterator[list[int]]:
    """Runs of line numbers, longest first, each with at most `budget` positions (or a single line)."""
    batch: list[int] = []
    for number in order:
        longest = min(len(rows[batch[0] if batch else number]), limit) + 1
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
