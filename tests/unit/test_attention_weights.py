"""Attention maps and their figures."""

import struct
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import torch
from torch import Tensor

from unit import models
from unit.translators import SENTENCE, untrained_translator
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.core.state import Hypothesis, State, StepFunction
from weft.data.batches import Batch
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request
from weft.decoding.greedy import GreedySearch
from weft.decoding.sampling import Sampling
from weft.inference.mbr import MBRSelector
from weft.inference.translator import Translator
from weft.visualize.attention_weights import (
    AttentionMap,
    attention_map,
    cross_attention_layers,
    draw_attention,
    select_head,
)
from weft.visualize.figures import resolution, save_figure, shorten_label
from weft.visualize.heatmap import Heatmap, HeatmapLayout, draw_heatmap
from weft.visualize.translation_trace import TracedExample, trace_translation

UNUSUAL_TEXT = "a $\\frac{$ 猫 नमस्ते שלום 🐈 \x07\n\udce9 <&> the"


@pytest.fixture(scope="module")
def transformer() -> Translator:
    return untrained_translator("transformer", BeamSearch(size=3), decoder={"layers": 2})


@pytest.fixture(scope="module")
def bahdanau() -> Translator:
    return untrained_translator("bahdanau")


class EmptySearch:
    """A search that finds no hypothesis."""

    supports_constraints = False

    def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
        return [[]]

    def ranking_score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score


def random_heatmap(rows: int, columns: int, sentence: str = "a b", translation: str = "c d") -> Heatmap:
    weights = np.random.default_rng(1).dirichlet(np.ones(columns), size=rows)
    return AttentionMap(sentence, translation, ("piece",) * columns, ("word",) * rows, weights, [], ()).heatmap()


def test_default_map_is_the_attention_of_the_decoder(transformer: Translator) -> None:
    found = attention_map(transformer, SENTENCE, unit="tokens")
    trained = transformer.trained
    source = [*trained.target_tokenizer.encode([SENTENCE])[0], EOS]
    translation, _ = trace_translation(transformer, SENTENCE)
    assert translation.analysis is not None
    batch = Batch(Padded.from_rows([source]), Padded.from_rows([[*translation.analysis.tokens, EOS]]), (0,))
    with torch.inference_mode():
        expected = trained.model.features(batch).attention
    assert expected is not None
    np.testing.assert_allclose(found.weights, expected[0].numpy(), atol=1e-5)
    assert found.text == transformer.translate([SENTENCE])[0].text
    assert found.source == (*trained.target_tokenizer.tokens(source),)


def test_map_belongs_to_the_sample_that_minimum_bayes_risk_selects() -> None:
    trained = models.untrained_model(models.BAHDANAU)
    selector = MBRSelector("cer", trained.target_tokenizer)
    translator = Translator(trained, Sampling(n_best=8), trained.recipe.translate, mbr=selector)
    [samples] = translator.search_batch(translator.encode([Request("abcde")], [0]))
    [translation] = translator.translate(["abcde"])
    selected = attention_map(translator, "abcde", unit="tokens").target
    assert selected == translation.alternatives[0].tokens
    assert selected[:-1] != tuple(trained.target_tokenizer.tokens(samples[0].tokens))


def test_encoder_with_a_single_output_vector_is_rejected() -> None:
    trained = models.untrained_model(models.BAHDANAU | {"encoder": {"type": "kalchbrenner", "layers": 2}})
    with pytest.raises(UserError, match="reduces the 6 tokens of the sentence to 1"):
        attention_map(Translator(trained, GreedySearch()), "abcde")


def test_layer_attention_is_the_mean_of_its_heads(transformer: Translator) -> None:
    heads = [attention_map(transformer, SENTENCE, layer=2, head=head).weights for head in (1, 2)]
    assert np.abs(heads[0] - heads[1]).max() > 1e-3
    last = attention_map(transformer, SENTENCE, layer=2)
    np.testing.assert_allclose((heads[0] + heads[1]) / 2, last.weights, atol=1e-6)
    np.testing.assert_allclose(attention_map(transformer, SENTENCE).weights, last.weights, atol=1e-5)
    assert np.abs(attention_map(transformer, SENTENCE, layer=1).weights - last.weights).max() > 1e-3
    assert last.remarks == ("layer 2, mean of its heads",)
    assert attention_map(transformer, SENTENCE, layer=2, head=1).remarks == ("layer 2, head 1",)


def test_head_is_selected_by_number() -> None:
    layers = [torch.arange(12.0).view(2, 2, 3), torch.zeros(2, 2, 3)]
    assert torch.equal(select_head(layers, 1, 2), layers[0][1])


def test_attention_of_a_recurrent_decoder(bahdanau: Translator) -> None:
    found = attention_map(bahdanau, SENTENCE)
    assert found.source == ("the", "red", "cat", "sees", "a", "dog", "<end>")
    assert found.weights.shape == (len(found.target), 7)
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    [only] = cross_attention_layers(
        bahdanau.trained.model, TracedExample(Padded.from_rows([[5, EOS]]), [6, 7, EOS], (), ())
    )
    assert only.shape == (1, 3, 2)
    with pytest.raises(UserError, match="one attention with one head"):
        attention_map(bahdanau, SENTENCE, layer=1)


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (3, None, "--layer 3: this decoder has layers 1 to 2"),
        (0, None, "--layer 0"),
        (1, 3, "--head 3: this layer has heads 1 to 2"),
        (1, 0, "--head 0"),
        (None, 1, "--head 1: the layer is missing"),
    ],
)
def test_invalid_layer_or_head_is_rejected(
    transformer: Translator, layer: int | None, head: int | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        attention_map(transformer, SENTENCE, layer=layer, head=head)


def test_missing_output_or_attention_is_rejected(bahdanau: Translator) -> None:
    with pytest.raises(UserError, match="its weights are broken"):
        attention_map(Translator(bahdanau.trained, EmptySearch()), SENTENCE)
    with pytest.raises(UserError, match="has no attention to the source"):
        attention_map(Translator(models.untrained_model(models.SUTSKEVER), GreedySearch()), "abcde")


def test_truncated_sentence_is_noted(bahdanau: Translator) -> None:
    found = attention_map(bahdanau, " ".join(["cat"] * 99))
    assert found.remarks == ("truncated: the model reads at most 40 tokens",)
    assert found.source.count("cat") == 40


def test_tokens_of_a_word_are_merged_into_a_column(bahdanau: Translator) -> None:
    tokens, words = attention_map(bahdanau, "dogcat sees", unit="tokens"), attention_map(bahdanau, "dogcat sees")
    assert words.source == ("dogcat", "sees", "<end>")
    assert tokens.weights.shape[1] > words.weights.shape[1] == 3
    np.testing.assert_allclose(words.weights[-1, -1], tokens.weights[-1, -1])
    np.testing.assert_allclose(words.weights.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_suffix_selects_the_file_format(suffix: str, begin: bytes, transformer: Translator, tmp_path: Path) -> None:
    drawn = draw_attention(transformer, SENTENCE, tmp_path / f"one{suffix}")
    draw_attention(transformer, SENTENCE, str(tmp_path / f"two{suffix}"))
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
    assert first.startswith(begin)
    assert first == second
    assert drawn.sentence == SENTENCE
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize("name", ["picture.jpg", "picture", "png"])
def test_unknown_suffix_is_rejected_before_translating(name: str, tmp_path: Path, bahdanau: Translator) -> None:
    with pytest.raises(UserError, match=r"\.png, \.svg or \.pdf"):
        draw_attention(bahdanau, "", tmp_path / name)


def test_empty_sentence_writes_no_file(tmp_path: Path, bahdanau: Translator) -> None:
    with pytest.raises(UserError, match="the sentence is empty"):
        draw_attention(bahdanau, " \n", tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_unusual_characters_can_be_drawn(suffix: str, tmp_path: Path, transformer: Translator) -> None:
    draw_attention(transformer, UNUSUAL_TEXT, tmp_path / f"odd{suffix}")
    content = (tmp_path / f"odd{suffix}").read_bytes()
    assert content.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    if suffix == ".svg":
        assert ElementTree.fromstring(content).tag.endswith("svg")  # control characters are not valid XML


def test_text_is_not_parsed_as_math() -> None:
    axes = draw_heatmap(random_heatmap(1, 1, "costs $5$")._replace(columns=("$5$",))).axes[0]
    assert not axes.get_xticklabels()[0].get_parse_math()
    assert "costs $5$" in axes.get_title(loc="left")


def test_matplotlib_settings_are_ignored_and_restored(tmp_path: Path) -> None:
    draw = partial(draw_heatmap, random_heatmap(2, 3))
    save_figure(draw, tmp_path / "one.svg")
    with mpl.rc_context({"axes.grid": True, "axes.titlesize": 40, "savefig.dpi": 9, "font.family": "serif"}):
        save_figure(draw, tmp_path / "two.svg")
        assert mpl.rcParams["font.family"] == ["serif"]
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_figure_size_depends_on_lengths(tmp_path: Path) -> None:
    sizes = []
    for rows, columns in ((4, 4), (12, 4), (2, 60)):
        save_figure(partial(draw_heatmap, random_heatmap(rows, columns)), tmp_path / "picture.png")
        sizes.append(struct.unpack(">II", (tmp_path / "picture.png").read_bytes()[16:24]))
    assert sizes[0][0] == pytest.approx(sizes[1][0], abs=60)
    assert sizes[1][1] > sizes[0][1] + 500
    assert sizes[2][0] > 60 * 0.17 * 200
    huge = HeatmapLayout.of(random_heatmap(3, 700))
    assert huge.width == pytest.approx(700 * 0.17)
    assert resolution(huge.width, huge.height) * huge.width == pytest.approx(8000)


def test_wide_labels_are_rotated() -> None:
    letters = random_heatmap(3, 3)._replace(columns=("a", "b", "c"))
    assert [HeatmapLayout.of(heatmap).angle for heatmap in (letters, random_heatmap(3, 3), random_heatmap(60, 60))] == [
        0,
        45,
        90,
    ]


def test_labels_are_short_and_printable() -> None:
    assert shorten_label("▁a\x07") == "␣a\ufffd"
    assert shorten_label("w" * 99) == "w" * 27 + "…"
    assert shorten_label("w" * 28) == "w" * 28


def test_long_sentence_is_wrapped_in_title() -> None:
    title = draw_heatmap(random_heatmap(3, 3, "word " * 20, "Wort " * 300)).axes[0].get_title(loc="left").split("\n")
    assert max(map(len, title)) <= 56
    assert title[0].startswith("word word")
    assert [line for line in title if line.startswith("→ Wort")] == [title[2]]
    assert title[-1].endswith("…")
    assert len(title) == 6
