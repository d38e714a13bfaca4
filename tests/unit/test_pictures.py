"""Pictures to columns: what is read, and what is refused with a clear message."""

import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from unit.drawn import write_bars
from weft.core.codec import LineError
from weft.core.errors import UserError
from weft.data import image_files
from weft.data.image_codec import ImageCodec, ImageCodecTrainer, is_image_name

READER = ImageCodec(height=8, invert=False)


def columns(path: Path, reader: ImageCodec = READER) -> list[list[int]]:
    rows: list[list[int]] = reader.encode_rows([str(path)]).ids.tolist()
    return rows


def uniform(path: Path, *levels: int) -> bool:
    """Does the picture become these columns, each of one level, but for rounding?"""
    found = np.array(columns(path))
    return found.shape == (len(levels), 8) and bool((abs(found - np.array(levels)[:, None]) <= 1).all())


def test_black_is_ink_and_white_is_paper(tmp_path: Path) -> None:
    assert columns(write_bars(tmp_path / "a.png", 0, 255, 100)) == [[255] * 8, [0] * 8, [155] * 8]


def test_bright_writing_is_inverted(tmp_path: Path) -> None:
    path = write_bars(tmp_path / "a.png", 0, 255, 100)
    assert columns(path, ImageCodec(8, invert=True)) == [[0] * 8, [255] * 8, [100] * 8]


def test_a_column_goes_from_top_to_bottom(tmp_path: Path) -> None:
    image = Image.new("L", (2, 8), 255)
    image.putpixel((1, 6), 0)
    image.save(tmp_path / "a.png")
    found = np.array(columns(tmp_path / "a.png"))
    assert np.argwhere(found == 255).tolist() == [[1, 6]]


@pytest.mark.parametrize(
    ("size", "wanted"), [((10, 5), 16), ((40, 20), 16), ((5, 100), 1), ((1, 1), 8), ((21, 16), 10)]
)
def test_pictures_are_scaled_and_keep_their_shape(tmp_path: Path, size: tuple[int, int], wanted: int) -> None:
    Image.new("L", size, 255).save(tmp_path / "a.png")
    assert len(columns(tmp_path / "a.png")) == wanted


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif", "tif", "webp", "pgm"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.new("L", (3, 8), 0).save(path, lossless=True)  # which only webp heeds
    assert is_image_name(path.name)
    assert uniform(path, 255, 255, 255)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK"])
def test_colours_and_depths_become_grey(tmp_path: Path, mode: str) -> None:
    grey = Image.new("L", (2, 8), 255)
    grey.paste(0, (1, 0, 2, 8))
    grey.convert(mode).save(tmp_path / "a.tif")
    assert uniform(tmp_path / "a.tif", 0, 255)


@pytest.mark.parametrize(("name", "kind"), [("a.png", np.uint16), ("a.tif", np.uint16), ("a.tif", np.int32)])
def test_sixteen_bits_are_scaled_and_not_cut_off(tmp_path: Path, name: str, kind: type[np.integer[Any]]) -> None:
    Image.fromarray(np.tile(np.array([0, 100, 255], kind) * 257, (8, 1))).save(tmp_path / name)
    assert uniform(tmp_path / name, 255, 155, 0)


def test_levels_that_are_fractions_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.ones((8, 2), np.float32)).save(tmp_path / "a.tif")
    assert "a.tif: its gray levels are fractions" in refusal(tmp_path / "a.tif")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_paper(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGBA", (2, 8), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (1, 0, 2, 8))
    path = tmp_path / ("a.gif" if mode == "P" else "a.png")
    image.save(path) if mode == "P" else image.convert(mode).save(path)
    assert uniform(path, 0, 255)


def test_photos_stand_upright(tmp_path: Path) -> None:
    turned = Image.new("L", (8, 2), 255)
    exif = turned.getexif()
    exif[0x0112] = 6  # a quarter turn
    turned.save(tmp_path / "a.jpg", exif=exif)
    assert len(columns(tmp_path / "a.jpg")) == 2


def test_a_line_without_a_name_has_no_columns(tmp_path: Path) -> None:
    path = str(write_bars(tmp_path / "a.png", 0))
    rows = READER.encode_rows([path, " ", path])
    assert rows.lengths.tolist() == [1, 0, 1]
    assert [row.shape for row in rows.split()] == [(1, 8), (0, 8), (1, 8)]
    assert READER.encode_rows([]).ids.shape == (0, 8)


def refusal(path: Path) -> str:
    with pytest.raises(LineError) as caught:
        READER.encode_rows(["", str(path)])
    assert caught.value.row == 1
    return str(caught.value)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("not a picture")
    (tmp_path / "b.png").touch()
    (tmp_path / "c.svg").write_text("<svg/>")
    for name in ("a.png", "b.png", "c.svg"):
        assert "not a readable image (formats: PNG, JPEG" in refusal(tmp_path / name)
    assert "there is no such file; is it" in refusal(tmp_path / "aa.png")
    assert "is a folder" in refusal(tmp_path)


def test_a_text_in_place_of_a_name_is_refused() -> None:
    assert "cannot be read (File name too long)" in refusal(Path("a line of text " * 30))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    assert "is not a regular file" in refusal(tmp_path / "a.png")


def test_a_truncated_picture_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (40, 40), np.uint8)
    for suffix in ("png", "jpg"):
        path = tmp_path / f"a.{suffix}"
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:900])
        assert "the image is damaged" in refusal(path)


def test_several_pictures_in_a_file_are_refused(tmp_path: Path) -> None:
    frames = [Image.new("L", (4, 4), level) for level in (0, 100, 255)]
    for suffix in ("gif", "tif", "webp", "png"):
        path = tmp_path / f"a.{suffix}"
        frames[0].save(path, save_all=True, append_images=frames[1:])
        assert "contains several images" in refusal(path)


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (60_000, 60_000)])
def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path, width: int, height: int) -> None:
    """A file of some bytes that says that it has so many pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    )
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)
    assert "pixels" in refusal(tmp_path / "a.png")


def test_large_files_and_long_strips_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("1", (60_000, 8)).save(tmp_path / "strip.png")
    assert "60,000 x 8 pixels become 60,000 columns at a height of 8" in refusal(tmp_path / "strip.png")
    path = write_bars(tmp_path / "a.png", 0, 255)
    monkeypatch.setattr(image_files, "MAX_IMAGE_BYTES", path.stat().st_size - 1)
    assert f"has {path.stat().st_size:,} bytes" in refusal(path)


def png() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (9, 9), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_spoilt_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    spoilt = bytearray(png())
    for _ in range(data.draw(st.integers(1, 5))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "spoilt.png"
    path.write_bytes(bytes(spoilt))
    told = ""
    try:
        found = columns(path)
    except UserError as error:
        found, told = [], str(error)
    assert found or str(path) in told


def test_a_reader_is_saved_and_loaded(tmp_path: Path) -> None:
    learned = ImageCodecTrainer(height=20, invert=True).train([])
    learned.save(tmp_path / "reader.json")
    assert ImageCodec.load(tmp_path / "reader.json") == learned
    assert len(learned.vocabulary()) == 20
    assert learned.fingerprint not in (READER.fingerprint, ImageCodec(20, invert=False).fingerprint)
    (tmp_path / "reader.json").write_text("{}")
    with pytest.raises(UserError, match="not the settings of an image codec"):
        ImageCodec.load(tmp_path / "reader.json")
