"""Outputs made only of the words of a list: a trie of the words' tokens, and the constraint that follows it."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.core.errors import UserError
from weft.core.special_tokens import BOS, EOS
from weft.core.state import State, StepFunction, StepOutput, TensorTree
from weft.data.text_files import read_lines
from weft.decoding.constraints.step_constraints import wrap_step
from weft.decoding.search import NEG_INF

TrieNodes: TypeAlias = frozenset[int]
EncodeLines: TypeAlias = Callable[[Sequence[str]], list[list[int]]]  # lines to target ids
ROOT, NEXT_WORD = 0, 1  # the start of the first word, and of any other
UNREACHABLE = torch.iinfo(torch.int32).max
MAX_CACHED_NODES = 256  # node sets whose token requirements [V] are cached


class WordTrie:
    """A trie of the words' tokens, from whose word ends the tokens of a space lead to another word.

    A prefix may be at several nodes: after "New" and a space, both "York" of "New York" and another word can follow.
    space: None if the tokenizer cannot write one; then an output is a single word.
    """

    def __init__(self, words: Iterable[Sequence[int]], space: Sequence[int] | None, vocabulary: int):
        self.vocabulary = vocabulary
        self.edges: list[dict[int, set[int]]] = [{}, {}]
        self.word_ends = {self._add_word(word) for word in words}
        self.edges[NEXT_WORD] = self.edges[ROOT]
        self.needs_no_space = space is not None and not space
        ends = set(self.word_ends)
        for number, token in enumerate(space or (), 1):
            target = NEXT_WORD if number == len(space or ()) else self._new_node()
            for node in ends:
                self.edges[node].setdefault(token, set()).add(target)
            ends = {target}

    def start(self) -> TrieNodes:
        return frozenset([ROOT])

    def after(self, nodes: TrieNodes, token: int) -> TrieNodes:
        reached = {target for node in nodes for target in self.edges[node].get(token, ())}
        return frozenset(reached | {NEXT_WORD} if self.needs_no_space and reached & self.word_ends else reached)

    def allowed(self, nodes: TrieNodes) -> NDArray[np.bool_]:
        """[V], the tokens that may come next."""
        mask = np.zeros(self.vocabulary, bool)
        mask[[token for node in nodes for token in self.edges[node]]] = True
        return mask

    def can_end(self, nodes: TrieNodes) -> bool:
        """Whether an output may end here: after a word, or with no word at all."""
        return ROOT in nodes or not nodes.isdisjoint(self.word_ends)

    def distances_to_end(self) -> list[int]:
        """The fewest tokens from each node to one where an output may end."""
        sources: list[set[int]] = [set() for _ in self.edges]
        for node, edges in enumerate(self.edges):
            for target in set[int]().union(*edges.values()):
                sources[target].add(node)
        distances, reached = [0] * len(self.edges), {ROOT, *self.word_ends}
        known, steps = set(reached), 0
        while reached:
            steps += 1
            reached = {node for target in reached for node in sources[target]} - known
            known |= reached
            for node in reached:
                distances[node] = steps
        return distances

    def _add_word(self, word: Sequence[int]) -> int:
        """Add the tokens of a word; return its last node."""
        node = ROOT
        for token in word:
            if token not in self.edges[node]:
                self.edges[node][token] = {self._new_node()}
            (node,) = self.edges[node][token]
        return node

    def _new_node(self) -> int:
        self.edges.append({})
        return len(self.edges) - 1


def read_word_list(path: Path, encode: EncodeLines, vocabulary: int) -> WordTrie:
    """Read a file with a word per line; words that encode to no tokens are skipped. vocabulary: its size."""
    words = sorted({line.strip() for line in read_lines(path)} - {""})
    encoded, repeated = encode(words), encode([f"{word} {word}" for word in words])
    if not words:
        raise UserError(f"{path}: contains no words. Write one word per line")
    if not any(encoded):
        raise UserError(
            f"{path}: the model can write none of its words, such as {words[0]}: they have letters that it never saw "
            "(upper and lower case differ)"
        )
    pairs = [(word, both) for word, both in zip(encoded, repeated, strict=True) if word]
    # the tokens between the two words of "word word"; None if the tokenizer cannot write that
    spaces = {tuple(both[len(word) : len(both) - len(word)]) if both else None for word, both in pairs}
    space = spaces.pop()
    if spaces or any(both and both != [*word, *(space or ()), *word] for word, both in pairs):
        raise UserError(
            f"word_list: {path} cannot be used: the target tokenizer encodes a word differently after a space than at "
            "the start of a line. Word lists need a tokenizer of characters or of whole words"
        )
    return WordTrie([word for word, _ in pairs], space, vocabulary)


class WordListConstraint:
    """A word list as a constraint. Sets of trie nodes are numbered, so that tensors can carry them."""

    def __init__(self, words: WordTrie):
        self._words = words
        self._distances = words.distances_to_end()
        self._numbers: dict[TrieNodes, int] = {}
        self._nodes: list[TrieNodes] = []
        self._cached_requirements = lru_cache(MAX_CACHED_NODES)(self._requirements)
        self._first = torch.full((words.vocabulary,), UNREACHABLE, dtype=torch.int32)
        self._update_requirements([ROOT], self._first)
        self.start = self._number(words.start())

    def after(self, numbers: Tensor, tokens: Tensor) -> Tensor:
        """Return the position of each hypothesis [N] after its next token [N]; BOS does not move it."""
        reached = [
            number if token == BOS else self._number(self._words.after(self._nodes[number], token))
            for number, token in zip(numbers.tolist(), tokens.tolist(), strict=True)
        ]
        return torch.tensor(reached, device=numbers.device)

    def allowed(self, numbers: Tensor, remaining: Tensor) -> Tensor:
        """Return the tokens [N,V] after which a word can be completed with the remaining number of tokens [N]."""
        requirements = torch.stack([self._cached_requirements(number) for number in numbers.tolist()])
        return requirements.to(remaining.device) <= remaining[:, None]

    def _number(self, nodes: TrieNodes) -> int:
        if nodes not in self._numbers:
            self._numbers[nodes] = len(self._nodes)
            self._nodes.append(nodes)
        return self._numbers[nodes]

    def _requirements(self, number: int) -> Tensor:
        """[V], the fewest tokens to the end of a word if this token is next; 0 for EOS."""
        nodes = self._nodes[number]
        starts = {ROOT, NEXT_WORD} & nodes
        requirements = self._first.clone() if starts else torch.full_like(self._first, UNREACHABLE)
        self._update_requirements(nodes - starts, requirements)
        requirements[EOS] = 0 if self._words.can_end(nodes) else UNREACHABLE
        return requirements

    def _update_requirements(self, nodes: Iterable[int], requirements: Tensor) -> None:
        for node in nodes:
            for token, reached in self._words.edges[node].items():
                fewest = 1 + min(self._distances[target] for target in reached)
                requirements[token] = min(int(requirements[token]), fewest)


def restrict_to_words(
    step: StepFunction, state: State, words: WordListConstraint, limit: Tensor
) -> tuple[StepFunction, State]:
    """Wrap a step function so that outputs consist of words of the list, none of which exceeds the limit [B]."""

    def constrain(output: StepOutput, tokens: Tensor, own: State) -> tuple[StepOutput, TensorTree]:
        # the position of each hypothesis in the trie, and the number of tokens that it may still have: [N] each
        numbers, remaining = cast(tuple[Tensor, Tensor], own.carry)
        numbers, remaining = words.after(numbers, tokens), remaining - (tokens != BOS).to(remaining)
        log_probs = output.log_probs.masked_fill(~words.allowed(numbers, remaining), NEG_INF)
        return output._replace(log_probs=log_probs), (numbers, remaining)

    return wrap_step(step, state, State((), (torch.full_like(limit, words.start), limit)), constrain)
