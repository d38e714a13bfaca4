"""Law 4 for CTC: losses, decoders and alignments equal a sum or a maximum over all enumerated paths."""

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

from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
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
from weft.nn.encoder_memory import Memory, MemorySizes

A, B, BLANK = 3, 4, 5  # two tokens after the special tokens, and the blank
LENGTHS = (4, 2)  # real frames of two sentences
ANY = torch.tensor([10, 10])
Classes = tuple[int, ...]  # the classes of a path, or the tokens of an output


def frames() -> FrameOutput:
    generator = torch.Generator().manual_seed(11)
    log_probs = (1.5 * torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)).log_softmax(-1)
    special = torch.full((2, 4, NUM_SPECIAL_TOKENS), -math.inf, dtype=torch.float64)
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    return FrameOutput(torch.cat([special, log_probs], -1), mask)


def paths(row: int) -> Iterator[tuple[Classes, float]]:
    """Yield every path of a sentence with its probability."""
    for path in product((A, B, BLANK), repeat=LENGTHS[row]):
        yield (
            path,
            math.exp(sum(frames().log_probs[row, position, label].item() for position, label in enumerate(path))),
        )


def collapse(path: Classes) -> Classes:
    return tuple(label for label, _ in groupby(path) if label != BLANK)


def outputs(row: int) -> dict[Classes, float]:
    """Return the probability of every output that has a path."""
    sums: dict[Classes, float] = {}
    for path, probability in paths(row):
        sums[collapse(path)] = sums.get(collapse(path), 0.0) + probability
    return sums


def decoder_context(language: LanguageModel | None = None) -> FrameDecoderContext:
    def load(folder: str) -> LanguageModel:
        assert language is not None, folder
        return language

    def encode(lines: Sequence[str]) -> list[list[int]]:
        return [["ab".index(letter) + A for letter in line if letter != " "] for line in lines]

    return FrameDecoderContext(True, [*SPECIAL_TOKENS, "a", "b"], encode, load)


def bigrams() -> LanguageModel:
    """A bigram language model: it depends on the last token only."""
    table = torch.randn(6, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64).log_softmax(-1)

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        return StepOutput(table[tokens], None), state

    return LanguageModel(step, State((), ()))


def language_score(language: LanguageModel, output: Classes) -> list[float]:
    """Return log p of each token and of EOS."""
    pairs = zip((BOS, *output), (*output, EOS), strict=True)
    return [language.step(torch.tensor([last]), State((), ()))[0].log_probs[0, token].item() for last, token in pairs]


def test_output_probabilities_sum_to_one() -> None:
    assert sum(outputs(0).values()) == pytest.approx(1)


def test_loss_is_negative_log_of_sum_over_paths() -> None:
    class ConstantHead(CTCHead):
        def forward(self, memory: Memory) -> FrameOutput:
            return frames()._replace(mask=memory.mask)

    unused: Any = None  # the loss needs no other slot
    model = Model(unused, unused, unused, unused, unused, ConstantHead(MemorySizes(2, 2), 5))
    empty = torch.zeros(2, 4, 0)
    for first, second in product(outputs(0), outputs(1)):
        target = Padded.from_rows([[*first, EOS], [*second, EOS]])
        batch = Batch(target, target, (0, 1))
        output_frames, losses = frames_and_ctc_losses(model, Memory(empty, empty, frames().mask), batch)
        expected = [-math.log(outputs(0)[first]), -math.log(outputs(1)[second])]
        assert_close(losses, torch.tensor(expected, dtype=torch.float64))
        best = [max(paths(row), key=lambda pair: pair[1])[0] for row in range(2)]
        right = [collapse(path) == output for path, output in zip(best, (first, second), strict=True)]
        assert best_path_matches(output_frames, target).tolist() == right


def test_best_path_decoder_finds_most_probable_path() -> None:
    results = BestPathDecoder(decoder_context())(frames(), ANY)
    for row in range(2):
        path, probability = max(paths(row), key=lambda pair: pair[1])
        [hypothesis] = results[row]
        assert hypothesis.tokens == collapse(path)
        assert hypothesis.score == pytest.approx(math.log(probability))
        assert sum(hypothesis.token_scores) == pytest.approx(hypothesis.score)
        assert len(hypothesis.token_scores) == len(hypothesis.tokens) + 1


def test_wide_prefix_beam_finds_most_probable_outputs() -> None:
    results = PrefixBeamDecoder(decoder_context(), size=100, n_best=5)(frames(), ANY)
    for row in range(2):
        expected = sorted(outputs(row).items(), key=lambda pair: -pair[1])[:5]
        assert [hypothesis.tokens for hypothesis in results[row]] == [output for output, _ in expected]
        assert [hypothesis.score for hypothesis in results[row]] == pytest.approx([math.log(p) for _, p in expected])


def test_prefix_beam_of_size_one_returns_exact_score() -> None:
    for row, [hypothesis] in enumerate(PrefixBeamDecoder(decoder_context(), size=1)(frames(), ANY)):
        assert hypothesis.score == pytest.approx(math.log(outputs(row)[hypothesis.tokens]))


def test_language_model_and_token_bonus_are_weighted() -> None:
    language = bigrams()
    decoder = PrefixBeamDecoder(
        decoder_context(language), size=100, n_best=4, language_model="lm", language_model_weight=0.7, token_bonus=0.3
    )
    for row, hypotheses in enumerate(decoder(frames(), ANY)):
        scores = {
            output: math.log(probability) + 0.7 * sum(language_score(language, output)) + 0.3 * len(output)
            for output, probability in outputs(row).items()
        }
        expected = sorted(scores, key=lambda output: -scores[output])[:4]
        assert [hypothesis.tokens for hypothesis in hypotheses] == expected
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([scores[output] for output in expected])
        assert all(sum(hypothesis.token_scores) == pytest.approx(hypothesis.score) for hypothesis in hypotheses)


@pytest.mark.parametrize("words", ["a", "ab|b", "aa|b|ba", "a|ab|bb"])
def test_outputs_consist_of_words_in_word_list(words: str, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text(words.replace("|", "\n") + "\n", "utf-8")
    for row, hypotheses in enumerate(
        PrefixBeamDecoder(decoder_context(), size=100, n_best=100, word_list=str(file))(frames(), ANY)
    ):
        texts = {output: "".join("ab"[token - A] for token in output) for output in outputs(row)}
        allowed = {output for output, text in texts.items() if re.fullmatch(f"({words})*", text)}
        assert {hypothesis.tokens for hypothesis in hypotheses} == allowed


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("words", ["ab", "abab|b", "aab|bba"])
@pytest.mark.parametrize("limit", [1, 2, 10])
def test_narrow_beam_ends_with_complete_word(size: int, words: str, limit: int, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text(words.replace("|", "\n") + "\n", "utf-8")
    for [hypothesis] in PrefixBeamDecoder(decoder_context(), size=size, word_list=str(file))(
        frames(), torch.tensor([limit, limit])
    ):
        assert re.fullmatch(f"({words})*", "".join("ab"[token - A] for token in hypothesis.tokens))
        assert len(hypothesis.tokens) <= limit


def test_word_longer_than_beam_size_is_found(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("abab\n", "utf-8")
    log_probs = torch.full((1, 4, 6), math.log(0.01), dtype=torch.float64)
    log_probs[0, range(4), [A, B, A, B]] = math.log(0.9)
    confident_frames = FrameOutput(log_probs, torch.ones(1, 4, dtype=torch.bool))
    [[hypothesis]] = PrefixBeamDecoder(decoder_context(), size=1, word_list=str(file))(confident_frames, ANY[:1])
    assert hypothesis.tokens == (A, B, A, B)


def test_length_limit_is_respected() -> None:
    for decoder in (BestPathDecoder(decoder_context()), PrefixBeamDecoder(decoder_context(), size=100)):
        for [hypothesis] in decoder(frames(), torch.tensor([1, 0])):
            assert len(hypothesis.tokens) <= 1


def test_prefix_step_returns_next_token_distribution() -> None:
    """p(c | g): of the outputs with prefix g, the share that continues with c; for EOS, the share that equals g."""
    for prefix in [(), (A,), (A, A), (A, B), (B, A, B)]:
        state = initial_ctc_state(frames())
        for token in (BOS, *prefix):
            step_output, state = ctc_prefix_step(torch.tensor([token, token]), state)
        begins = {row: sum(p for y, p in outputs(row).items() if y[: len(prefix)] == prefix) for row in range(2)}
        for row in range(2):
            if begins[row] == 0:
                assert (step_output.log_probs[row] == -math.inf).all()
                continue
            for token in (A, B):
                longer = (*prefix, token)
                expected = sum(p for y, p in outputs(row).items() if y[: len(longer)] == longer) / begins[row]
                assert math.exp(step_output.log_probs[row, token]) == pytest.approx(expected)
            assert math.exp(step_output.log_probs[row, EOS]) == pytest.approx(
                outputs(row).get(prefix, 0.0) / begins[row]
            )


def test_search_with_prefix_steps_finds_most_probable_outputs() -> None:
    with torch.no_grad():
        results = ExhaustiveSearch(n_best=5, length_penalty=NoLengthPenalty)(
            ctc_prefix_step, initial_ctc_state(frames()), ANY, ANY
        )
    for row in range(2):
        expected = sorted(outputs(row).items(), key=lambda pair: -pair[1])[:5]
        assert [hypothesis.tokens for hypothesis in results[row]] == [output for output, _ in expected]
        assert [hypothesis.score for hypothesis in results[row]] == pytest.approx([math.log(p) for _, p in expected])


def test_prefix_steps_of_hypotheses_are_independent() -> None:
    state = initial_ctc_state(frames())
    wide = state.select(torch.arange(2), torch.tensor([0, 0, 1, 1]))
    _, wide = ctc_prefix_step(torch.full((4,), BOS), wide)
    step_output, _ = ctc_prefix_step(torch.tensor([A, B, B, A]), wide)
    for number, (row, token) in enumerate([(0, A), (0, B), (1, B), (1, A)]):
        alone = state.select(torch.tensor([row]), torch.tensor([row]))
        _, alone = ctc_prefix_step(torch.tensor([BOS]), alone)
        scores, _ = ctc_prefix_step(torch.tensor([token]), alone)
        assert_close(step_output.log_probs[number], scores.log_probs[0])


def test_combined_steps_are_weighted_sum() -> None:
    language = bigrams()
    step = combine_steps([WeightedStep(language.step, 0.7), WeightedStep(ctc_prefix_step, 0.3)], weighted_sum)
    state = join_states(language.start, initial_ctc_state(frames()))
    target = Padded.from_rows([[A, B, EOS], [B, EOS]])
    for row, hypothesis in enumerate(forced_scores(step, state, target)):
        output = ((A, B), (B,))[row]
        expected = 0.7 * sum(language_score(language, output)) + 0.3 * math.log(outputs(row)[output])
        assert hypothesis.score == pytest.approx(expected)


def test_forced_alignment_is_most_probable_path_of_output() -> None:
    for first, second in product(outputs(0), outputs(1)):
        results = forced_align(frames(), Padded.from_rows([[*first, EOS], [*second, EOS]]))
        for row, output in enumerate((first, second)):
            path, probability = max(
                (pair for pair in paths(row) if collapse(pair[0]) == output), key=lambda pair: pair[1]
            )
            assert results[row].path == path
            assert results[row].score == pytest.approx(math.log(probability))
            span_tokens = [{path[position] for position in span} for span in results[row].spans]
            assert span_tokens == [{token} for token in output]


@pytest.mark.parametrize("upsample", [1, 3])
def test_each_upsampled_frame_has_its_own_projection(upsample: int) -> None:
    frame_head = CTCHead(MemorySizes(4, 4), 6, upsample=upsample).double()
    keys = torch.randn(1, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    output_frames = frame_head(Memory(keys, keys, torch.tensor([[True, True]])))
    weight, bias = (part.detach().numpy() for part in (frame_head.output.weight, frame_head.output.bias))
    for frame in range(2 * upsample):
        hidden = keys[0, frame // upsample].numpy()
        if upsample > 1:
            split, shift = (tensor.numpy() for tensor in frame_head.split.state_dict().values())
            part = slice(frame % upsample * 4, (frame % upsample + 1) * 4)
            hidden = split[part] @ hidden + shift[part]
        logits = weight @ hidden + bias
        expected = logits - np.log(np.exp(logits).sum())
        np.testing.assert_allclose(
            output_frames.log_probs[0, frame, NUM_SPECIAL_TOKENS:].detach(), expected, atol=1e-12
        )
        assert (output_frames.log_probs[0, frame, :NUM_SPECIAL_TOKENS] == -math.inf).all()
