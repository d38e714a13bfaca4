"""Law 4 for connectionist temporal classification: everything equals a sum or a maximum over all paths, one by one."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from weft.core.codec import BOS, EOS, NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
from weft.core.padded import Padded
from weft.core.state import FrameOutput, State, StepOutput
from weft.data.batches import Batch
from weft.decoding.ctc_alignment import forced_align
from weft.decoding.ctc_decoder import BestPathDecoder, PrefixBeamDecoder
from weft.decoding.ctc_prefix_score import ctc_prefix_step, initial_ctc_state
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.fusion import WeightedStep, combine_steps, join_states, weighted_sum
from weft.decoding.length_penalty import NoLengthPenalty
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.losses.frame_losses import best_path_matches, frames_and_ctc_losses
from weft.models.heads import CTCHead
from weft.models.model import Model
from weft.nn.memory import Memory, MemorySizes

A, B, BLANK = 3, 4, 5  # two pieces after the marks, and the blank
LENGTHS = (4, 2)  # real frames of two sentences
ANY = torch.tensor([10, 10])
Classes = tuple[int, ...]  # of a path, or the tokens of an output


def frames() -> FrameOutput:
    draws = torch.Generator().manual_seed(11)
    log_probs = (1.5 * torch.randn(2, 4, 3, generator=draws, dtype=torch.float64)).log_softmax(-1)
    marks = torch.full((2, 4, NUM_SPECIAL_TOKENS), -math.inf, dtype=torch.float64)
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    return FrameOutput(torch.cat([marks, log_probs], -1), mask)


def paths(row: int) -> Iterator[tuple[Classes, float]]:
    """Every path of a sentence, with its probability."""
    for path in product((A, B, BLANK), repeat=LENGTHS[row]):
        yield path, math.exp(sum(frames().log_probs[row, place, kind].item() for place, kind in enumerate(path)))


def spelled(path: Classes) -> Classes:
    return tuple(kind for kind, _ in groupby(path) if kind != BLANK)


def outputs(row: int) -> dict[Classes, float]:
    """The probability of every output that has a path."""
    sums: dict[Classes, float] = {}
    for path, probability in paths(row):
        sums[spelled(path)] = sums.get(spelled(path), 0.0) + probability
    return sums


def given(language: LanguageModel | None = None) -> FrameDecoderContext:
    def load(folder: str) -> LanguageModel:
        assert language is not None, folder
        return language

    def encode(lines: Sequence[str]) -> list[list[int]]:
        return [["ab".index(letter) + A for letter in line if letter != " "] for line in lines]

    return FrameDecoderContext(True, [*SPECIAL_TOKENS, "a", "b"], encode, load)


def bigrams() -> LanguageModel:
    """A language model whose state is nothing but its last token."""
    table = torch.randn(6, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64).log_softmax(-1)

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        return StepOutput(table[tokens], None), state

    return LanguageModel(step, State((), ()))


def language_score(language: LanguageModel, output: Classes) -> list[float]:
    """log p of each token and of END."""
    pairs = zip((BOS, *output), (*output, EOS), strict=True)
    return [language.step(torch.tensor([last]), State((), ()))[0].log_probs[0, token].item() for last, token in pairs]


def test_outputs_are_a_distribution() -> None:
    assert sum(outputs(0).values()) == pytest.approx(1)


def test_the_loss_is_minus_the_logarithm_of_the_sum_over_paths() -> None:
    class Fixed(CTCHead):
        def forward(self, memory: Memory) -> FrameOutput:
            return frames()._replace(mask=memory.mask)

    nobody: Any = None  # whoever else is in a model is not asked
    model = Model(nobody, nobody, nobody, nobody, nobody, Fixed(MemorySizes(2, 2), 5))
    nothing = torch.zeros(2, 4, 0)
    for first, second in product(outputs(0), outputs(1)):
        target = Padded.from_rows([[*first, EOS], [*second, EOS]])
        batch = Batch(target, target, (0, 1))
        said, losses = frames_and_ctc_losses(model, Memory(nothing, nothing, frames().mask), batch)
        wanted = [-math.log(outputs(0)[first]), -math.log(outputs(1)[second])]
        assert_close(losses, torch.tensor(wanted, dtype=torch.float64))
        best = [max(paths(row), key=lambda pair: pair[1])[0] for row in range(2)]
        right = [spelled(path) == output for path, output in zip(best, (first, second), strict=True)]
        assert best_path_matches(said, target).tolist() == right


def test_the_best_path_is_the_best_of_all() -> None:
    found = BestPathDecoder(given())(frames(), ANY)
    for row in range(2):
        path, probability = max(paths(row), key=lambda pair: pair[1])
        [hypothesis] = found[row]
        assert hypothesis.tokens == spelled(path)
        assert hypothesis.score == pytest.approx(math.log(probability))
        assert sum(hypothesis.token_scores) == pytest.approx(hypothesis.score)
        assert len(hypothesis.token_scores) == len(hypothesis.tokens) + 1


def test_a_wide_prefix_beam_finds_the_largest_sums() -> None:
    found = PrefixBeamDecoder(given(), size=100, n_best=5)(frames(), ANY)
    for row in range(2):
        wanted = sorted(outputs(row).items(), key=lambda pair: -pair[1])[:5]
        assert [one.tokens for one in found[row]] == [output for output, _ in wanted]
        assert [one.score for one in found[row]] == pytest.approx([math.log(p) for _, p in wanted])


def test_a_beam_of_one_gives_an_exact_score_too() -> None:
    for row, [hypothesis] in enumerate(PrefixBeamDecoder(given(), size=1)(frames(), ANY)):
        assert hypothesis.score == pytest.approx(math.log(outputs(row)[hypothesis.tokens]))


def test_a_language_model_and_a_bonus_count_with_their_weights() -> None:
    language = bigrams()
    reading = PrefixBeamDecoder(
        given(language), size=100, n_best=4, language_model="lm", language_model_weight=0.7, token_bonus=0.3
    )
    for row, hypotheses in enumerate(reading(frames(), ANY)):
        scores = {
            output: math.log(probability) + 0.7 * sum(language_score(language, output)) + 0.3 * len(output)
            for output, probability in outputs(row).items()
        }
        wanted = sorted(scores, key=lambda output: -scores[output])[:4]
        assert [one.tokens for one in hypotheses] == wanted
        assert [one.score for one in hypotheses] == pytest.approx([scores[output] for output in wanted])
        assert all(sum(one.token_scores) == pytest.approx(one.score) for one in hypotheses)


@pytest.mark.parametrize("words", ["a", "ab|b", "aa|b|ba", "a|ab|bb"])
def test_only_words_of_the_list_are_found(words: str, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text(words.replace("|", "\n") + "\n", "utf-8")
    for row, hypotheses in enumerate(
        PrefixBeamDecoder(given(), size=100, n_best=100, word_list=str(file))(frames(), ANY)
    ):
        texts = {output: "".join("ab"[token - A] for token in output) for output in outputs(row)}
        allowed = {output for output, text in texts.items() if re.fullmatch(f"({words})*", text)}
        assert {one.tokens for one in hypotheses} == allowed


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("words", ["ab", "abab|b", "aab|bba"])
@pytest.mark.parametrize("limit", [1, 2, 10])
def test_a_narrow_beam_ends_with_a_whole_word(size: int, words: str, limit: int, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text(words.replace("|", "\n") + "\n", "utf-8")
    for [hypothesis] in PrefixBeamDecoder(given(), size=size, word_list=str(file))(
        frames(), torch.tensor([limit, limit])
    ):
        assert re.fullmatch(f"({words})*", "".join("ab"[token - A] for token in hypothesis.tokens))
        assert len(hypothesis.tokens) <= limit


def test_a_word_is_found_though_it_is_longer_than_the_beam_is_wide(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("abab\n", "utf-8")
    likely = torch.full((1, 4, 6), math.log(0.01), dtype=torch.float64)
    likely[0, range(4), [A, B, A, B]] = math.log(0.9)
    everything = FrameOutput(likely, torch.ones(1, 4, dtype=torch.bool))
    [[hypothesis]] = PrefixBeamDecoder(given(), size=1, word_list=str(file))(everything, ANY[:1])
    assert hypothesis.tokens == (A, B, A, B)


def test_a_limit_is_kept() -> None:
    for reading in (BestPathDecoder(given()), PrefixBeamDecoder(given(), size=100)):
        for [hypothesis] in reading(frames(), torch.tensor([1, 0])):
            assert len(hypothesis.tokens) <= 1


def test_a_step_says_what_may_follow_a_prefix() -> None:
    """p(c | g) is the share of outputs beginning with g that go on with c, and that of END those that are g."""
    for prefix in [(), (A,), (A, A), (A, B), (B, A, B)]:
        state = initial_ctc_state(frames())
        for token in (BOS, *prefix):
            said, state = ctc_prefix_step(torch.tensor([token, token]), state)
        begins = {row: sum(p for y, p in outputs(row).items() if y[: len(prefix)] == prefix) for row in range(2)}
        for row in range(2):
            if begins[row] == 0:
                assert (said.log_probs[row] == -math.inf).all()
                continue
            for token in (A, B):
                longer = (*prefix, token)
                wanted = sum(p for y, p in outputs(row).items() if y[: len(longer)] == longer) / begins[row]
                assert math.exp(said.log_probs[row, token]) == pytest.approx(wanted)
            assert math.exp(said.log_probs[row, EOS]) == pytest.approx(outputs(row).get(prefix, 0.0) / begins[row])


def test_a_search_of_these_steps_is_a_prefix_search() -> None:
    with torch.no_grad():
        found = ExhaustiveSearch(n_best=5, length_penalty=NoLengthPenalty)(
            ctc_prefix_step, initial_ctc_state(frames()), ANY, ANY
        )
    for row in range(2):
        wanted = sorted(outputs(row).items(), key=lambda pair: -pair[1])[:5]
        assert [one.tokens for one in found[row]] == [output for output, _ in wanted]
        assert [one.score for one in found[row]] == pytest.approx([math.log(p) for _, p in wanted])


def test_several_hypotheses_of_a_sentence_are_steps_of_their_own() -> None:
    state = initial_ctc_state(frames())
    wide = state.select(torch.arange(2), torch.tensor([0, 0, 1, 1]))
    _, wide = ctc_prefix_step(torch.full((4,), BOS), wide)
    said, _ = ctc_prefix_step(torch.tensor([A, B, B, A]), wide)
    for number, (row, token) in enumerate([(0, A), (0, B), (1, B), (1, A)]):
        alone = state.select(torch.tensor([row]), torch.tensor([row]))
        _, alone = ctc_prefix_step(torch.tensor([BOS]), alone)
        scores, _ = ctc_prefix_step(torch.tensor([token]), alone)
        assert_close(said.log_probs[number], scores.log_probs[0])


def test_mixed_steps_are_a_weighted_sum() -> None:
    language = bigrams()
    step = combine_steps([WeightedStep(language.step, 0.7), WeightedStep(ctc_prefix_step, 0.3)], weighted_sum)
    state = join_states(language.start, initial_ctc_state(frames()))
    target = Padded.from_rows([[A, B, EOS], [B, EOS]])
    for row, hypothesis in enumerate(forced_scores(step, state, target)):
        output = ((A, B), (B,))[row]
        wanted = 0.7 * sum(language_score(language, output)) + 0.3 * math.log(outputs(row)[output])
        assert hypothesis.score == pytest.approx(wanted)


def test_an_alignment_is_the_best_path_of_its_output() -> None:
    for first, second in product(outputs(0), outputs(1)):
        found = forced_align(frames(), Padded.from_rows([[*first, EOS], [*second, EOS]]))
        for row, output in enumerate((first, second)):
            path, probability = max((one for one in paths(row) if spelled(one[0]) == output), key=lambda one: one[1])
            assert found[row].path == path
            assert found[row].score == pytest.approx(math.log(probability))
            told = [{path[place] for place in span} for span in found[row].spans]
            assert told == [{token} for token in output]


@pytest.mark.parametrize("upsample", [1, 3])
def test_each_position_becomes_frames_with_projections_of_their_own(upsample: int) -> None:
    frame_head = CTCHead(MemorySizes(4, 4), 6, upsample=upsample).double()
    keys = torch.randn(1, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    said = frame_head(Memory(keys, keys, torch.tensor([[True, True]])))
    weight, bias = (part.detach().numpy() for part in (frame_head.output.weight, frame_head.output.bias))
    for frame in range(2 * upsample):
        hidden = keys[0, frame // upsample].numpy()
        if upsample > 1:
            split, shift = (array.numpy() for array in frame_head.split.state_dict().values())
            part = slice(frame % upsample * 4, (frame % upsample + 1) * 4)
            hidden = split[part] @ hidden + shift[part]
        logits = weight @ hidden + bias
        wanted = logits - np.log(np.exp(logits).sum())
        np.testing.assert_allclose(said.log_probs[0, frame, NUM_SPECIAL_TOKENS:].detach(), wanted, atol=1e-12)
        assert (said.log_probs[0, frame, :NUM_SPECIAL_TOKENS] == -math.inf).all()
