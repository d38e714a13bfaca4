"""What a model says of the columns of a picture, below the picture itself."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from unit.drawn import write_bars
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
from weft.visualize import attention_maps, frame_posteriors
from weft.visualize.figures import resolution
from weft.visualize.gate_activations import gate_activations
from weft.visualize.heatmap import Heatmap, HeatmapLayout, SourceImage, read_source_image

HEIGHT = 8
CTC = {"target": "none", "decoder": "none", "frame_head": "ctc"}
TRANSFORMER = {"target": {"dim": 8}, "decoder": {"type": "transformer", "layers": 2, "heads": 2, "ffn_dim": 8}}
Shrink = Literal[1, 2, 4]


def reader_of_pictures(
    subsampling: Shrink = 2, parts: dict[str, Any] | None = None, *, longest: int = 200, reading: str = "best-path"
) -> Translator:
    """A model that has learned nothing; without anything recurrent, so that a column is seen around its place only."""
    encoder = {"type": "image", "layers": 2, "channels": 2, "subsampling": subsampling, "dim": 8}
    node: dict[str, Any] = {
        "data": {"train": ["t.tsv"], "valid": ["t.tsv"], "max_length": longest},
        "text": {"source": {"type": "image", "height": HEIGHT}, "target": "character", "joint": False},
        "model": {"source": "pixels", "encoder": encoder, **(parts or CTC)},
        "translate": {"max_length_factor": 0.01, "max_length_extra": 4, "frame_decoder": reading},
    }
    recipe = load_recipe(node)
    source, target = ImageCodec(HEIGHT, invert=False), CharacterTokenizerTrainer().train(["abc"])
    torch.manual_seed(2)
    model = build_model(recipe.model, source.vocabulary(), target.vocabulary(), joint=False).eval()
    trained = TrainedModel(model, source, target, recipe, {})
    reads = make_frame_decoder(trained, recipe.translate.frame_decoder, "translate.frame_decoder")
    return Translator(trained, GreedySearch(), recipe.translate, reads)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """21 columns, of which the sixth is ink."""
    return write_bars(tmp_path / "one.png", *[255] * 5, 0, *[255] * 15, height=HEIGHT)


def above_and_below(figure: Figure, columns: int) -> list[int]:
    """The column of the grid that each of the columns of the picture stands above."""
    picture, grid = figure.axes[:2]
    assert picture.get_xlim() == grid.get_xlim()
    assert picture.get_position().intervalx.tolist() == grid.get_position().intervalx.tolist()
    assert picture.get_position().y0 > grid.get_position().y1
    left, right, _, _ = picture.images[0].get_extent()
    return [round(left + (column + 0.5) * (right - left) / columns) for column in range(columns)]


@pytest.mark.parametrize(("subsampling", "count"), [(1, 22), (2, 11), (4, 6)])
def test_each_frame_is_below_its_columns(subsampling: Shrink, count: int, picture: Path) -> None:
    told = frame_posteriors.frame_posteriors(reader_of_pictures(subsampling), str(picture))
    assert told.image is not None
    assert told.image.stride == subsampling
    assert told.probabilities.shape[1] == len(told.symbols) == count
    assert told.image.pixels.tolist() == [[0] * 5 + [255] + [0] * 16] * HEIGHT  # with the empty column at its end
    assert above_and_below(told.figure(), 22) == [column // subsampling for column in range(22)]


def test_several_frames_can_be_below_a_column(picture: Path) -> None:
    told = frame_posteriors.frame_posteriors(
        reader_of_pictures(4, CTC | {"frame_head": {"type": "ctc", "upsample": 3}}), str(picture)
    )
    assert told.image is not None
    assert (told.image.stride, len(told.symbols)) == (4 / 3, 18)


@pytest.mark.parametrize("subsampling", [1, 2, 4])
def test_what_changes_with_a_column_is_below_it(subsampling: Shrink, tmp_path: Path) -> None:
    """Of the frames that see a column, the one below it is in the middle."""
    translator = reader_of_pictures(subsampling)
    for column in (8, 17, 30):
        levels = [[255] * 40, [0 if place == column else 255 for place in range(40)]]
        paths = [write_bars(tmp_path / f"{number}.png", *row, height=HEIGHT) for number, row in enumerate(levels)]
        sources = [torch.from_numpy(translator.trained.source_tokenizer.encode_rows([str(path)]).ids) for path in paths]
        said = [translator.trained.model.frames(Padded.unpadded(source[None])).log_probs[0] for source in sources]
        changed = torch.nonzero((said[0] - said[1]).nan_to_num().abs().amax(-1) > 1e-6).flatten().tolist()
        told = frame_posteriors.frame_posteriors(translator, str(paths[1]))
        assert abs(above_and_below(told.figure(), 41)[column] - np.mean(changed)) <= 0.5


def test_pieces_are_named_where_the_path_tells_them(picture: Path) -> None:
    told = frame_posteriors.frame_posteriors(reader_of_pictures(), str(picture), "abba")
    assert "".join(span.name for span in told.spans) == "abba"
    for span in told.spans:
        assert set(told.symbols[span.first : span.end]) == {span.name}
    drawn, grid = told.figure().axes[:2]
    assert [label.get_text() for label in grid.get_xticklabels()] == [*"abba"]
    bands = [patch.get_extents().transformed(drawn.transData.inverted()) for patch in drawn.patches]
    np.testing.assert_allclose(
        [(band.x0, band.x1) for band in bands], [(span.first - 0.5, span.end - 0.5) for span in told.spans]
    )


def test_pieces_that_the_model_lacks_have_no_path(picture: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match='--target: "X", "Y" is not in the vocabulary'):
        frame_posteriors.draw_frames(reader_of_pictures(), str(picture), tmp_path / "frames.png", target="aXYbX")
    assert not (tmp_path / "frames.png").exists()


def test_a_blank_between_equal_pieces_divides_them() -> None:
    names = ["a", "b", "∅"]
    assert frame_posteriors.emitted_spans([2, 0, 0, 2, 0, 1, 2], names) == (
        TokenSpan("a", 1, 3),
        TokenSpan("a", 4, 5),
        TokenSpan("b", 5, 6),
    )
    assert frame_posteriors.emitted_spans([2, 2], names) == ()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_it_is_written(suffix: str, picture: Path, tmp_path: Path) -> None:
    output = tmp_path / f"frames{suffix}"
    told = frame_posteriors.draw_frames(reader_of_pictures(), str(picture), output)
    assert output.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert told.text == reader_of_pictures().translate([str(picture)])[0].text


def test_a_picture_that_was_cut_says_so(picture: Path) -> None:
    told = frame_posteriors.frame_posteriors(reader_of_pictures(longest=9), str(picture))
    assert told.remarks == ("truncated: the model reads at most 9 columns",)
    assert told.image is not None
    assert told.image.pixels.shape == (HEIGHT, 10)
    assert frame_posteriors.frame_posteriors(reader_of_pictures(longest=21), str(picture)).remarks == ()


def test_a_lattice_without_places_is_drawn_by_itself(picture: Path) -> None:
    told = frame_posteriors.frame_posteriors(
        reader_of_pictures(parts=CTC | {"frame_head": "aligned"}, reading="position-wise"), str(picture)
    )
    assert told.image is None
    assert [label.get_text() for label in told.figure().axes[0].get_xticklabels()] == [*told.symbols]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (" ", "this model reads images, and none is named: give the path of one"),
        ("A man sleeps.", r"^A man sleeps\.: there is no such file"),
    ],
)
def test_no_picture(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        frame_posteriors.draw_frames(reader_of_pictures(), line, tmp_path / "frames.png")
    with pytest.raises(UserError, match=message):
        attention_maps.draw_attention(reader_of_pictures(parts=TRANSFORMER), line, tmp_path / "attention.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("layer", "head"), [(None, None), (1, None), (2, 1)])
def test_attention_is_below_the_columns_it_is_about(layer: int | None, head: int | None, picture: Path) -> None:
    found = attention_maps.attention_map(reader_of_pictures(2, TRANSFORMER), str(picture), layer=layer, head=head)
    assert found.weights.shape == (len(found.target), 11)
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    assert found.target[-1] == "<end>"
    assert above_and_below(found.figure(), 22) == [column // 2 for column in range(22)]


def test_gates_are_of_sentences(picture: Path) -> None:
    with pytest.raises(UserError, match=r"reads images, and this figure is about text.*weft inspect frames"):
        gate_activations(reader_of_pictures(), str(picture))


def test_a_memory_that_does_not_grow_has_no_columns() -> None:
    source = Padded.unpadded(torch.zeros(1, 9, HEIGHT, dtype=torch.uint8))
    with pytest.raises(UserError, match="64 columns give 1 positions, and 128 give 1"):
        read_source_image(source, lambda _: torch.ones(1, 1, dtype=torch.bool))


def test_sizes_follow_the_picture() -> None:
    """A short picture is not blown up, a long one fits into memory, and pixels are squares."""

    def layout(parts: int, *names: str) -> HeatmapLayout:
        grid = Heatmap(("a",), (), ("a", "∅"), ("∅",) * parts, np.zeros((2, parts)), "probability")
        spans = [TokenSpan(name, number, number + 1) for number, name in enumerate(names)]
        image = SourceImage(np.zeros((32, 2 * parts), np.uint8), 2.0)
        return HeatmapLayout.of(grid, image, spans)

    short, usual, long = layout(3, "a"), layout(40, "a"), layout(2000, "a")
    assert (short.cell_width, usual.width, long.cell_width) == (0.4, 12, 0.14)
    assert all(
        one.image_height / 32 == pytest.approx(one.width / (2 * parts)) for one, parts in ((short, 3), (long, 2000))
    )
    assert resolution(long.width, long.height) * long.width == pytest.approx(8000)
    assert (usual.angle, layout(40, "whole").angle) == (0, 90)
    assert layout(40, "whole").gap > usual.gap > layout(40).gap
