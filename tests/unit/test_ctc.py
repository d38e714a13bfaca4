"""CTC models: recipe checks, loss, alignment, decoding with word lists."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import FRAME_HEADS, VOCABULARY, batch
from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.core.state import FrameOutput
from weft.decoding.constraints.word_trie import WordTrie, read_word_list
from weft.decoding.ctc_alignment import forced_align
from weft.decoding.ctc_decoder import BestPathDecoder, PrefixBeamDecoder
from weft.decoding.ctc_prefix_score import ctc_prefix_step, initial_ctc_state
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.losses.frame_losses import CTCLoss
from weft.models.build import build_model
from weft.models.model import Model, count_parameters
from weft.training.recipe_checks import check_recipe

CTC_MODEL = {
    "source": {"dim": 4, "scale": False},
    "encoder": {"type": "recurrent", "cell": {"dim": 4}},
    "target": "none",
    "decoder": "none",
    "frame_head": {"type": "ctc", "upsample": 2},
}
DECODER = {"target": {"dim": 4}, "decoder": {"type": "luong", "cell": {"dim": 4}, "dim": 4}}


def recipe_dict(**changes: Any) -> dict[str, Any]:
    plain = {"data": {"train": ["train.tsv"]}, "text": {"source": "character"}, "model": CTC_MODEL, "objective": "ctc"}
    return plain | changes


def problems(**changes: Any) -> list[str]:
    try:
        check_recipe(load_recipe(recipe_dict(**changes)))
    except ConfigError as error:
        return [str(problem) for problem in error.problems]
    return []


def no_language_model(folder: str) -> LanguageModel:
    raise FileNotFoundError(folder)


def encode(lines: Sequence[str]) -> list[list[int]]:
    """Encode characters, including the space."""
    return [["ab ".index(letter) + 3 for letter in line] for line in lines]


DECODER_CONTEXT = FrameDecoderContext(True, ["<pad>", "<begin>", "<end>", "a", "b", "▁"], encode, no_language_model)


def ctc_model() -> Model:
    model: Model = FRAME_HEADS["ctc"]()
    return model


def test_valid_recipe_has_no_problems() -> None:
    assert problems() == []
    assert problems(model=CTC_MODEL | DECODER, objective="joint-ctc", translate={"ctc_weight": 0.3}) == []


def test_ctc_model_has_no_decoder_parameters() -> None:
    model = ctc_model()
    assert not model.has_decoder
    assert count_parameters(model.head) == count_parameters(model.target) == count_parameters(model.decoder) == 0  # type: ignore[arg-type]
    assert not any(name.startswith(("head", "target", "decoder")) for name in model.state_dict())
    with pytest.raises(UserError, match="this model has no decoder"):
        model.features(batch((3, 3)))
    with pytest.raises(UserError, match="this model has no decoder"):
        model.head(torch.ones(2))
    with pytest.raises(UserError, match="this model has no decoder"):
        model.head.rows(torch.tensor([3]))


INVALID_RECIPES: list[tuple[dict[str, Any], str]] = [
    (
        {"objective": "cross-entropy"},
        "objective: trains a decoder alone, but this model has a frame head of the type ctc alone",
    ),
    (
        {"model": CTC_MODEL | DECODER},
        "objective: trains a frame head of the type ctc alone, but this model has a decoder and",
    ),
    (
        {"model": {}},
        "objective: trains a frame head of the type ctc alone, but this model has a decoder alone: take cross-",
    ),
    ({"model": CTC_MODEL | {"frame_head": None}}, "model.decoder: none, and there is no model.frame_head"),
    ({"model": CTC_MODEL | {"tie": "output"}}, "model.tie: output shares the weight of the head, but without a deco"),
    ({"model": CTC_MODEL | {"target": {"dim": 4}}}, "model.decoder: reads no tokens, so there must be no embedding"),
    ({"model": {"target": "none"}}, "model.decoder: reads the tokens it has written, but model.target is none"),
    (
        {"model": CTC_MODEL | {"source": "none", "encoder": "none"}},
        "model.frame_head: needs a source, but model.encoder is",
    ),
    ({"translate": {"ctc_weight": 0.2}}, "translate.ctc_weight: is 0.2, but this model does not have both"),
    ({"translate": {"frame_decoder": "position-wise"}}, "translate.frame_decoder: "),
    (
        {"translate": {"frame_decoder": {"type": "prefix-beam", "size": 2, "n_best": 3}}},
        "translate.frame_decoder: n_best is 3 but the",
    ),
    (
        {"translate": {"frame_decoder": {"type": "prefix-beam", "language_model": "no/lm"}}},
        "no/lm: there is no such folder",
    ),
    (
        {"train": {"validation": {"frame_decoder": {"type": "prefix-beam", "word_list": "no.txt"}}}},
        "train.validation.frame_decoder: no.t",
    ),
    ({"text": {"source": {"type": "bpe", "dropout": 0.1}}}, "text.source.dropout: segments targets anew in each epoch"),
]


@pytest.mark.parametrize(("changes", "message"), INVALID_RECIPES, ids=[message[:60] for _, message in INVALID_RECIPES])
def test_invalid_recipe_is_reported(changes: dict[str, Any], message: str) -> None:
    assert any(message in problem for problem in problems(**changes)), problems(**changes)


def test_target_longer_than_its_frames_is_reported() -> None:
    pairs = batch((2, 6), (4, 3))  # 2 positions, 4 frames, for 5 tokens
    with pytest.raises(UserError, match=r"pair 1 has too few frames: its target needs \d, and its source gives 4"):
        CTCLoss(OBJECTIVE_CONTEXT)(ctc_model(), pairs)


def test_loss_of_an_empty_target_is_that_of_blanks() -> None:
    model, pairs = ctc_model(), batch((3, 1), (2, 1))
    frames = model.frames(pairs.source)
    expected = -frames.log_probs[..., -1][frames.mask].sum()
    loss = CTCLoss(OBJECTIVE_CONTEXT)(model, pairs)
    torch.testing.assert_close(loss.total, expected)
    assert loss.count.item() == 2


def test_gradients_are_finite_with_impossible_special_tokens() -> None:
    model = ctc_model()
    torch.autograd.backward(CTCLoss(OBJECTIVE_CONTEXT)(model, batch((5, 4), (3, 3))).total)
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.any(), name


def test_impossible_alignment_is_reported() -> None:
    frames = FrameOutput(torch.zeros(1, 2, len(VOCABULARY) + 1), torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(UserError, match="2 tokens have no path through 2 frames"):
        forced_align(frames, Padded.from_rows([[4, 4, EOS]]))


def test_nan_frames_give_no_output() -> None:
    frames = FrameOutput(torch.full((1, 2, 7), float("nan")), torch.ones(1, 2, dtype=torch.bool))
    assert BestPathDecoder(DECODER_CONTEXT)(frames, torch.tensor([5])) == [[]]
    assert PrefixBeamDecoder(DECODER_CONTEXT)(frames, torch.tensor([5])) == [[]]


def test_words_can_be_prefixes_of_other_words() -> None:
    words = WordTrie(encode(["a", "a b", "bb"]), encode([" "])[0], 6)
    assert all(is_accepted(words, text) for text in ("a b", "a a b a", "bb a b bb", ""))
    assert not any(is_accepted(words, text) for text in ("b", "a b b", "a  a", " a", "a ", "ab"))


def is_accepted(words: WordTrie, text: str) -> bool:
    nodes = words.start()
    for token in encode([text])[0]:
        if not words.allowed(nodes)[token]:
            return False
        nodes = words.after(nodes, token)
    return words.can_end(nodes)


def test_unusable_word_list_is_reported(tmp_path: Path) -> None:
    empty, file = tmp_path / "empty.txt", tmp_path / "words.txt"
    empty.write_text("\n \n", "utf-8")
    file.write_text("ab\nb\n", "utf-8")
    with pytest.raises(UserError, match=r"empty.txt: contains no words"):
        read_word_list(empty, encode, 6)
    with pytest.raises(UserError, match="encodes a word differently after a space"):
        read_word_list(file, lambda lines: [[len(line)] for line in lines], 6)


def test_every_word_of_a_list_is_checked(tmp_path: Path) -> None:
    """A tokenizer may encode some words the same after a space and others differently."""
    file = tmp_path / "words.txt"
    file.write_text("a\nab\n", "utf-8")

    def spell(lines: Sequence[str]) -> list[list[int]]:
        return encode([line.replace(" ab", "b") for line in lines])

    with pytest.raises(UserError, match="encodes a word differently after a space"):
        read_word_list(file, spell, 6)


def test_word_without_tokens_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("a\n?\n", "utf-8")
    words = read_word_list(file, lambda lines: encode([line.strip("? ") for line in lines]), 6)
    assert is_accepted(words, "a a")
    assert not is_accepted(words, " a")


def test_without_a_space_token_the_output_is_a_single_word(tmp_path: Path) -> None:
    """A model trained on single words has no space in its vocabulary."""
    file = tmp_path / "words.txt"
    file.write_text("a\nab\n", "utf-8")
    words = read_word_list(file, lambda lines: [[] if " " in line else encode([line])[0] for line in lines], 6)
    assert is_accepted(words, "a")
    assert is_accepted(words, "ab")
    assert not any(is_accepted(words, text) for text in ("a a", "aa", "b", "ab a"))


def test_scores_of_many_frames_are_exact() -> None:
    """In float32 throughout, sums of log-probabilities are wrong in the second decimal, and log p exceeds 0."""
    draws = torch.Generator().manual_seed(0)
    tokens = torch.randint(3, 10, (60,), generator=draws)
    frame_indices = torch.randperm(400, generator=draws)[:60].sort().values
    logits = torch.randn(400, 8, generator=draws)
    logits[:, -1] += 15.0
    logits[frame_indices, -1] -= 15.0
    logits[frame_indices, tokens - 3] += 15.0
    log_probs = logits.log_softmax(-1)
    frames = FrameOutput(F.pad(log_probs, (3, 0), value=float("-inf"))[None], torch.ones(1, 400, dtype=torch.bool))
    [result] = forced_scores(ctc_prefix_step, initial_ctc_state(frames), Padded.from_rows([[*tokens.tolist(), EOS]]))
    lengths = torch.tensor([400]), torch.tensor([60])
    expected = -F.ctc_loss(log_probs.double()[:, None], tokens[None] - 3, *lengths, blank=7, reduction="sum")
    assert result.score == pytest.approx(expected.item(), abs=1e-5)
    assert max(result.token_scores) <= 0


def test_state_dict_of_models_without_frame_head_is_unchanged() -> None:
    with torch.device("meta"):
        model = build_model(load_recipe({"data": {"train": ["a.tsv"]}}).model, VOCABULARY, VOCABULARY, joint=True)
    assert {name.split(".")[0] for name in model.state_dict()} == {"source", "encoder", "target", "decoder", "head"}
