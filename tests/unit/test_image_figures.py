"""Figures of models that read images: frames and attention are drawn below the image columns."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from unit.images import write_bars
from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.data.image_codec import ImageCodec
from weft.decoding.greedy import GreedySearch
from weft.inference.loader import make_frame_decoder
from weft.inference.translator import Translator
from weft.models.build import build_model
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.text.word_alignment import TokenSpan
from weft.visualize import attention_weights, frame_posteriors
from weft.visualize.figures import resolution
from weft.visualize.gate_activations import gate_activations
from weft.visualize.heatmap import Heatmap, HeatmapLayout, SourceImage, read_source_image

HEIGHT = 8
CTC = {"target": "none", "decoder": "none", "frame_head": "ctc"}
TRANSFORMER = {"target": {"dim": 8}, "decoder": {"type": "transformer", "layers": 2, "heads": 2, "ffn_dim": 8}}
Subsampling = Literal[1, 2, 4]


def image_translator(
    subsampling: Subsampling = 2,
    parts: dict[str, Any] | None = None,
    *,
    max_length: int = 200,
    frame_decoder: str = "best-path",
) -> Translator:
    """Return an untrained model without recurrence: each frame depends only on nearby columns."""
    encoder = {"type": "image", "layers": 2, "channels": 2, "subsampling": subsampling, "dim": 8}
    node: dict[str, Any] = {
        "data": {"train": ["t.tsv"], "valid": ["t.tsv"], "max_length": max_length},
        "text": {"source": {"type": "image", "height": HEIGHT}, "target": "character", "joint": False},
        "model": {"source": "pixels", "encoder": encoder, **(parts or CTC)},
        "translate": {"max_length_factor": 0.01, "max_length_extra": 4, "frame_decoder": frame_decoder},
    }
    recipe = load_recipe(node)
    source, target = ImageCodec(HEIGHT, invert=False), CharacterTokenizerTrainer().train(["abc"])
    torch.manual_seed(2)
    model = build_model(recipe.model, source.vocabulary(), target.vocabulary(), joint=False).eval()
    trained = TrainedModel(model, source, target, recipe, {})
    decoder = make_frame_decoder(trained, recipe.translate.frame_decoder, "translate.frame_decoder")
    return Translator(trained, GreedySearch(), recipe.translate, decoder)


@pytest.fixture
def image_file(tmp_path: Path) -> Path:
    """Write an image of 21 columns; only the sixth is black."""
    return write_bars(tmp_path / "one.png", *[255] * 5, 0, *[255] * 15, height=HEIGHT)


def heatmap_columns(figure: Figure, columns: int) -> list[int]:
    """Return the heatmap column below each image column."""
    image, grid = figure.axes[:2]
    assert image.get_xlim() == grid.get_xlim()
    assert image.get_position().intervalx.tolist() == grid.get_position().intervalx.tolist()
    assert image.get_position().y0 > grid.get_position().y1
    left, right, _, _ = image.images[0].get_extent()
    return [round(left + (column + 0.5) * (right - left) / columns) for column in range(columns)]


@pytest.mark.parametrize(("subsampling", "count"), [(1, 22), (2, 11), (4, 6)])
def test_frame_is_drawn_below_its_columns(subsampling: Subsampling, count: int, image_file: Path) -> None:
    result = frame_posteriors.frame_posteriors(image_translator(subsampling), str(image_file))
    assert result.image is not None
    assert result.image.stride == subsampling
    assert result.probabilities.shape[1] == len(result.symbols) == count
    assert (
        result.image.pixels.tolist() == [[0] * 5 + [255] + [0] * 16] * HEIGHT
    )  # includes the empty column appended at the end
    assert heatmap_columns(result.figure(), 22) == [column // subsampling for column in range(22)]


def test_upsampling_draws_several_frames_per_column(image_file: Path) -> None:
    result = frame_posteriors.frame_posteriors(
        image_translator(4, CTC | {"frame_head": {"type": "ctc", "upsample": 3}}), str(image_file)
    )
    assert result.image is not None
    assert (result.image.stride, len(result.symbols)) == (4 / 3, 18)


@pytest.mark.parametrize("subsampling", [1, 2, 4])
def test_frames_that_depend_on_a_column_are_centered_below_it(subsampling: Subsampling, tmp_path: Path) -> None:
    """The frame drawn below a column is the middle of the frames that depend on it."""
    translator = image_translator(subsampling)
    for column in (8, 17, 30):
        levels = [[255] * 40, [0 if index == column else 255 for index in range(40)]]
        paths = [write_bars(tmp_path / f"{number}.png", *row, height=HEIGHT) for number, row in enumerate(levels)]
        sources = [
            torch.from_numpy(translator.trained.source_tokenizer.encode_rows([str(path)]).values) for path in paths
        ]
        outputs = [translator.trained.model.frames(Padded.unpadded(source[None])).log_probs[0] for source in sources]
        changed = torch.nonzero((outputs[0] - outputs[1]).nan_to_num().abs().amax(-1) > 1e-6).flatten().tolist()
        result = frame_posteriors.frame_posteriors(translator, str(paths[1]))
        assert abs(heatmap_columns(result.figure(), 41)[column] - np.mean(changed)) <= 0.5


def test_target_tokens_are_labeled_along_the_alignment(image_file: Path) -> None:
    result = frame_posteriors.frame_posteriors(image_translator(), str(image_file), "abba")
    assert "".join(span.name for span in result.spans) == "abba"
    for span in result.spans:
        assert set(result.symbols[span.first : span.end]) == {span.name}
    image, grid = result.figure().axes[:2]
    assert [label.get_text() for label in grid.get_xticklabels()] == [*"abba"]
    bands = [patch.get_extents().transformed(image.transData.inverted()) for patch in image.patches]
    np.testing.assert_allclose(
        [(band.x0, band.x1) for band in bands], [(span.first - 0.5, span.end - 0.5) for span in result.spans]
    )


def test_target_tokens_outside_the_vocabulary_are_reported(image_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match='--target: "X", "Y" is not in the vocabulary'):
        frame_posteriors.draw_frames(image_translator(), str(image_file), tmp_path / "frames.png", target="aXYbX")
    assert not (tmp_path / "frames.png").exists()


def test_blank_separates_equal_tokens() -> None:
    names = ["a", "b", "∅"]
    assert frame_posteriors.emitted_spans([2, 0, 0, 2, 0, 1, 2], names) == (
        TokenSpan("a", 1, 3),
        TokenSpan("a", 4, 5),
        TokenSpan("b", 5, 6),
    )
    assert frame_posteriors.emitted_spans([2, 2], names) == ()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figure_is_written(suffix: str, image_file: Path, tmp_path: Path) -> None:
    output = tmp_path / f"frames{suffix}"
    result = frame_posteriors.draw_frames(image_translator(), str(image_file), output)
    assert output.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert result.text == image_translator().translate([str(image_file)])[0].text


def test_truncated_image_is_reported(image_file: Path) -> None:
    result = frame_posteriors.frame_posteriors(image_translator(max_length=9), str(image_file))
    assert result.remarks == ("truncated: the model reads at most 9 columns",)
    assert result.image is not None
    assert result.image.pixels.shape == (HEIGHT, 10)
    assert frame_posteriors.frame_posteriors(image_translator(max_length=21), str(image_file)).remarks == ()


def test_frames_without_alignment_are_drawn_without_the_image(image_file: Path) -> None:
    result = frame_posteriors.frame_posteriors(
        image_translator(parts=CTC | {"frame_head": "aligned"}, frame_decoder="position-wise"), str(image_file)
    )
    assert result.image is None
    assert [label.get_text() for label in result.figure().axes[0].get_xticklabels()] == [*result.symbols]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (" ", "this model reads images, and none is named: give the path of one"),
        ("A man sleeps.", r"^A man sleeps\.: there is no such file"),
    ],
)
def test_missing_image_is_reported(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        frame_posteriors.draw_frames(image_translator(), line, tmp_path / "frames.png")
    with pytest.raises(UserError, match=message):
        attention_weights.draw_attention(image_translator(parts=TRANSFORMER), line, tmp_path / "attention.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("layer", "head"), [(None, None), (1, None), (2, 1)])
def test_attention_is_drawn_below_its_columns(layer: int | None, head: int | None, image_file: Path) -> None:
    attention = attention_weights.attention_map(
        image_translator(2, TRANSFORMER), str(image_file), layer=layer, head=head
    )
    assert attention.weights.shape == (len(attention.target), 11)
    np.testing.assert_allclose(attention.weights.sum(1), 1, atol=1e-5)
    assert attention.target[-1] == "<end>"
    assert heatmap_columns(attention.figure(), 22) == [column // 2 for column in range(22)]


def test_gates_of_an_image_model_are_refused(image_file: Path) -> None:
    with pytest.raises(UserError, match=r"reads images, and this figure is about text.*weft inspect frames"):
        gate_activations(image_translator(), str(image_file))


def test_memory_of_constant_length_is_refused() -> None:
    source = Padded.unpadded(torch.zeros(1, 9, HEIGHT, dtype=torch.uint8))
    with pytest.raises(UserError, match="64 columns give 1 positions, and 128 give 1"):
        read_source_image(source, lambda _: torch.ones(1, 1, dtype=torch.bool))


def test_layout_follows_the_image_size() -> None:
    """Short images are not enlarged, long ones fit into memory, and pixels are square."""

    def layout(columns: int, *names: str) -> HeatmapLayout:
        grid = Heatmap(("a",), (), ("a", "∅"), ("∅",) * columns, np.zeros((2, columns)), "probability")
        spans = [TokenSpan(name, number, number + 1) for number, name in enumerate(names)]
        image = SourceImage(np.zeros((32, 2 * columns), np.uint8), 2.0)
        return HeatmapLayout.of(grid, image, spans)

    short, usual, long = layout(3, "a"), layout(40, "a"), layout(2000, "a")
    assert (short.width, usual.width, long.width) == pytest.approx((3 * 0.4, 12, 2000 * 0.14))
    assert all(
        shape.image_height / 32 == pytest.approx(shape.width / (2 * columns))
        for shape, columns in ((short, 3), (long, 2000))
    )
    assert resolution(long.width, long.height) * long.width == pytest.approx(8000)
    assert (usual.angle, layout(40, "whole").angle) == (0, 90)
    assert layout(40, "whole").gap > usual.gap > layout(40).gap
