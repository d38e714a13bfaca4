"""What a model says of the columns of a picture, below the picture itself."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from unit.drawn import write_bars
from weft.config.load import load_recipe
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.engine.reading import reading_of
from weft.engine.translator import Translator
from weft.inspect import attention, frames
from weft.inspect.below import Layout
from weft.inspect.columns import Seen, see
from weft.inspect.gates import gates
from weft.inspect.grid import Grid
from weft.model.build import build
from weft.picture.reader import PictureReader
from weft.search.greedy import Greedy
from weft.store.model_folder import Trained
from weft.text.learners import Character
from weft.text.words import Span

HEIGHT = 8
CTC = {"target": "none", "decoder": "none", "lattice": "ctc"}
TRANSFORMER = {"target": {"dim": 8}, "decoder": {"type": "transformer", "layers": 2, "heads": 2, "hidden": 8}}
Shrink = Literal[1, 2, 4]


def reader_of_pictures(
    shrink: Shrink = 2, parts: dict[str, Any] | None = None, *, longest: int = 200, reading: str = "best-path"
) -> Translator:
    """A model that has learned nothing; without anything recurrent, so that a column is seen around its place only."""
    encoder = {"type": "picture", "layers": 2, "filters": 2, "shrink": shrink, "dim": 8}
    node: dict[str, Any] = {
        "data": {"train": ["t.tsv"], "valid": ["t.tsv"], "max_length": longest},
        "text": {"source": {"type": "picture", "height": HEIGHT}, "target": "character", "joint": False},
        "model": {"source": "pixels", "encoder": encoder, **(parts or CTC)},
        "translate": {"length_factor": 0.01, "length_extra": 4, "reading": reading},
    }
    recipe = load_recipe(node)
    source, target = PictureReader(HEIGHT, invert=False), Character().learn(["abc"])
    torch.manual_seed(2)
    model = build(recipe.model, source.vocabulary(), target.vocabulary(), joint=False).eval()
    trained = Trained(model, source, target, recipe, {})
    reads = reading_of(trained, recipe.translate.reading, "translate.reading")
    return Translator(trained, Greedy(), recipe.translate, reads)


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


@pytest.mark.parametrize(("shrink", "count"), [(1, 22), (2, 11), (4, 6)])
def test_each_frame_is_below_its_columns(shrink: Shrink, count: int, picture: Path) -> None:
    told = frames.look(reader_of_pictures(shrink), str(picture))
    assert told.seen is not None
    assert told.seen.columns == shrink
    assert told.probabilities.shape[1] == len(told.symbols) == count
    assert told.seen.ink.tolist() == [[0] * 5 + [255] + [0] * 16] * HEIGHT  # with the empty column at its end
    assert above_and_below(told.figure(), 22) == [column // shrink for column in range(22)]


def test_several_frames_can_be_below_a_column(picture: Path) -> None:
    told = frames.look(reader_of_pictures(4, CTC | {"lattice": {"type": "ctc", "upsample": 3}}), str(picture))
    assert told.seen is not None
    assert (told.seen.columns, len(told.symbols)) == (4 / 3, 18)


@pytest.mark.parametrize("shrink", [1, 2, 4])
def test_what_changes_with_a_column_is_below_it(shrink: Shrink, tmp_path: Path) -> None:
    """Of the frames that see a column, the one below it is in the middle."""
    translator = reader_of_pictures(shrink)
    for column in (8, 17, 30):
        levels = [[255] * 40, [0 if place == column else 255 for place in range(40)]]
        paths = [write_bars(tmp_path / f"{number}.png", *row, height=HEIGHT) for number, row in enumerate(levels)]
        sources = [torch.from_numpy(translator.trained.source_tokenizer.encode_rows([str(path)]).ids) for path in paths]
        said = [translator.trained.model.frames(Padded.whole(source[None])).log_probs[0] for source in sources]
        changed = torch.nonzero((said[0] - said[1]).nan_to_num().abs().amax(-1) > 1e-6).flatten().tolist()
        told = frames.look(translator, str(paths[1]))
        assert abs(above_and_below(told.figure(), 41)[column] - np.mean(changed)) <= 0.5


def test_pieces_are_named_where_the_path_tells_them(picture: Path) -> None:
    told = frames.look(reader_of_pictures(), str(picture), "abba")
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
    with pytest.raises(UserError, match='--target: this model never learned to say "X", "Y", so no frames can spell'):
        frames.draw(reader_of_pictures(), str(picture), tmp_path / "frames.png", target="aXYbX")
    assert not (tmp_path / "frames.png").exists()


def test_a_blank_between_equal_pieces_divides_them() -> None:
    names = ["a", "b", "∅"]
    assert frames.spans_of([2, 0, 0, 2, 0, 1, 2], names) == (Span("a", 1, 3), Span("a", 4, 5), Span("b", 5, 6))
    assert frames.spans_of([2, 2], names) == ()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_it_is_written(suffix: str, picture: Path, tmp_path: Path) -> None:
    output = tmp_path / f"frames{suffix}"
    told = frames.draw(reader_of_pictures(), str(picture), output)
    assert output.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert told.text == reader_of_pictures().translate([str(picture)])[0].text


def test_a_picture_that_was_cut_says_so(picture: Path) -> None:
    told = frames.look(reader_of_pictures(longest=9), str(picture))
    assert told.remarks == ("the model reads 9 columns at most: the rest was left out",)
    assert told.seen is not None
    assert told.seen.ink.shape == (HEIGHT, 10)
    assert frames.look(reader_of_pictures(longest=21), str(picture)).remarks == ()


def test_a_lattice_without_places_is_drawn_by_itself(picture: Path) -> None:
    told = frames.look(reader_of_pictures(parts=CTC | {"lattice": "aligned"}, reading="positions"), str(picture))
    assert told.seen is None
    assert [label.get_text() for label in told.figure().axes[0].get_xticklabels()] == [*told.symbols]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (" ", "this model reads pictures, and none is named: give the path of one"),
        ("A man sleeps.", r"^A man sleeps\.: there is no such file"),
    ],
)
def test_no_picture(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        frames.draw(reader_of_pictures(), line, tmp_path / "frames.png")
    with pytest.raises(UserError, match=message):
        attention.draw(reader_of_pictures(parts=TRANSFORMER), line, tmp_path / "attention.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("layer", "head"), [(None, None), (1, None), (2, 1)])
def test_attention_is_below_the_columns_it_is_about(layer: int | None, head: int | None, picture: Path) -> None:
    found = attention.align(reader_of_pictures(2, TRANSFORMER), str(picture), layer=layer, head=head)
    assert found.weights.shape == (len(found.target), 11)
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    assert found.target[-1] == "<end>"
    assert above_and_below(found.figure(), 22) == [column // 2 for column in range(22)]


def test_gates_are_of_sentences(picture: Path) -> None:
    with pytest.raises(UserError, match=r"reads pictures, and this is drawn of sentences only.*weft inspect frames"):
        gates(reader_of_pictures(), str(picture))


def test_a_memory_that_does_not_grow_has_no_columns() -> None:
    source = Padded.whole(torch.zeros(1, 9, HEIGHT, dtype=torch.uint8))
    with pytest.raises(UserError, match="of 64 columns this model makes 1 positions, and 1 of twice as many"):
        see(source, lambda _: torch.ones(1, 1, dtype=torch.bool))


def test_sizes_follow_the_picture() -> None:
    """A short picture is not blown up, a long one fits into memory, and pixels are squares."""

    def layout(parts: int, *names: str) -> Layout:
        grid = Grid(("a",), (), ("a", "∅"), ("∅",) * parts, np.zeros((2, parts)), "probability")
        spans = [Span(name, number, number + 1) for number, name in enumerate(names)]
        seen = Seen(np.zeros((32, 2 * parts), np.uint8), 2.0)
        return Layout.of(grid, seen, spans)

    short, usual, long = layout(3, "a"), layout(40, "a"), layout(2000, "a")
    assert (short.part, usual.width, long.part) == (0.4, 12, 0.14)
    assert all(one.picture / 32 == pytest.approx(one.width / (2 * parts)) for one, parts in ((short, 3), (long, 2000)))
    assert long.width * long.dots == pytest.approx(8000)
    assert (usual.angle, layout(40, "whole").angle) == (0, 90)
    assert layout(40, "whole").gap > usual.gap > layout(40).gap
