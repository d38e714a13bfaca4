"""Image files to pixel columns: supported formats and error messages."""

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

from unit.images import write_bars
from weft.core.codec import LineError
from weft.core.errors import UserError
from weft.data import image_files
from weft.data.image_codec import ImageCodec, ImageCodecTrainer, is_image_name

CODEC = ImageCodec(height=8, invert=False)


def columns(path: Path, codec: ImageCodec = CODEC) -> list[list[int]]:
    rows: list[list[int]] = codec.encode_rows([str(path)]).values.tolist()
    return rows


def has_uniform_columns(path: Path, *levels: int) -> bool:
    """Return whether the image becomes these columns, each of a single gray level up to rounding."""
    found = np.array(columns(path))
    return found.shape == (len(levels), 8) and bool((abs(found - np.array(levels)[:, None]) <= 1).all())


def test_black_is_255_and_white_is_0(tmp_path: Path) -> None:
    assert columns(write_bars(tmp_path / "a.png", 0, 255, 100)) == [[255] * 8, [0] * 8, [155] * 8]


def test_inverted_image(tmp_path: Path) -> None:
    path = write_bars(tmp_path / "a.png", 0, 255, 100)
    assert columns(path, ImageCodec(8, invert=True)) == [[0] * 8, [255] * 8, [100] * 8]


def test_columns_run_from_top_to_bottom(tmp_path: Path) -> None:
    image = Image.new("L", (2, 8), 255)
    image.putpixel((1, 6), 0)
    image.save(tmp_path / "a.png")
    found = np.array(columns(tmp_path / "a.png"))
    assert np.argwhere(found == 255).tolist() == [[1, 6]]


@pytest.mark.parametrize(("size", "width"), [((10, 5), 16), ((40, 20), 16), ((5, 100), 1), ((1, 1), 8), ((21, 16), 10)])
def test_images_are_scaled_with_their_aspect_ratio(tmp_path: Path, size: tuple[int, int], width: int) -> None:
    Image.new("L", size, 255).save(tmp_path / "a.png")
    assert len(columns(tmp_path / "a.png")) == width


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif", "tif", "webp", "pgm"])
def test_file_formats(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.new("L", (3, 8), 0).save(path, lossless=True)  # lossless affects only webp
    assert is_image_name(path.name)
    assert has_uniform_columns(path, 255, 255, 255)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK"])
def test_color_modes_become_gray(tmp_path: Path, mode: str) -> None:
    gray = Image.new("L", (2, 8), 255)
    gray.paste(0, (1, 0, 2, 8))
    gray.convert(mode).save(tmp_path / "a.tif")
    assert has_uniform_columns(tmp_path / "a.tif", 0, 255)


@pytest.mark.parametrize(("name", "dtype"), [("a.png", np.uint16), ("a.tif", np.uint16), ("a.tif", np.int32)])
def test_16_bit_images_are_scaled(tmp_path: Path, name: str, dtype: type[np.integer[Any]]) -> None:
    Image.fromarray(np.tile(np.array([0, 100, 255], dtype) * 257, (8, 1))).save(tmp_path / name)
    assert has_uniform_columns(tmp_path / name, 255, 155, 0)


def test_float_images_are_rejected(tmp_path: Path) -> None:
    Image.fromarray(np.ones((8, 2), np.float32)).save(tmp_path / "a.tif")
    assert "a.tif: its gray levels are fractions" in error_message(tmp_path / "a.tif")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_pixels_are_white(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGBA", (2, 8), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (1, 0, 2, 8))
    path = tmp_path / ("a.gif" if mode == "P" else "a.png")
    image.save(path) if mode == "P" else image.convert(mode).save(path)
    assert has_uniform_columns(path, 0, 255)


def test_exif_rotation_is_applied(tmp_path: Path) -> None:
    rotated = Image.new("L", (8, 2), 255)
    exif = rotated.getexif()
    exif[0x0112] = 6  # a quarter turn
    rotated.save(tmp_path / "a.jpg", exif=exif)
    assert len(columns(tmp_path / "a.jpg")) == 2


def test_empty_line_has_no_columns(tmp_path: Path) -> None:
    path = str(write_bars(tmp_path / "a.png", 0))
    rows = CODEC.encode_rows([path, " ", path])
    assert rows.lengths.tolist() == [1, 0, 1]
    assert [row.shape for row in rows.split()] == [(1, 8), (0, 8), (1, 8)]
    assert CODEC.encode_rows([]).values.shape == (0, 8)


def error_message(path: Path) -> str:
    with pytest.raises(LineError) as caught:
        CODEC.encode_rows(["", str(path)])
    assert caught.value.row == 1
    return str(caught.value)


def test_unreadable_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("not a picture")
    (tmp_path / "b.png").touch()
    (tmp_path / "c.svg").write_text("<svg/>")
    for name in ("a.png", "b.png", "c.svg"):
        assert "not a readable image (formats: PNG, JPEG" in error_message(tmp_path / name)
    assert "there is no such file; is it" in error_message(tmp_path / "aa.png")
    assert "is a folder" in error_message(tmp_path)


def test_text_instead_of_a_file_name_is_rejected() -> None:
    assert "cannot be read (File name too long)" in error_message(Path("a line of text " * 30))


def test_named_pipe_is_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    assert "is not a regular file" in error_message(tmp_path / "a.png")


def test_truncated_image_is_rejected(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (40, 40), np.uint8)
    for suffix in ("png", "jpg"):
        path = tmp_path / f"a.{suffix}"
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:900])
        assert "the image is damaged" in error_message(path)


def test_file_with_several_images_is_rejected(tmp_path: Path) -> None:
    frames = [Image.new("L", (4, 4), level) for level in (0, 100, 255)]
    for suffix in ("gif", "tif", "webp", "png"):
        path = tmp_path / f"a.{suffix}"
        frames[0].save(path, save_all=True, append_images=frames[1:])
        assert "contains several images" in error_message(path)


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (60_000, 60_000)])
def test_decompression_bomb_is_rejected_before_decoding(tmp_path: Path, width: int, height: int) -> None:
    """A small file whose header declares a huge image."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    )
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)
    assert "pixels" in error_message(tmp_path / "a.png")


def test_large_files_and_wide_images_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("1", (60_000, 8)).save(tmp_path / "strip.png")
    assert "60,000 x 8 pixels become 60,000 columns at a height of 8" in error_message(tmp_path / "strip.png")
    path = write_bars(tmp_path / "a.png", 0, 255)
    monkeypatch.setattr(image_files, "MAX_IMAGE_BYTES", path.stat().st_size - 1)
    assert f"has {path.stat().st_size:,} bytes" in error_message(path)


def png() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (9, 9), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_corrupted_file_is_read_or_rejected(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    corrupted = bytearray(png())
    for _ in range(data.draw(st.integers(1, 5))):
        corrupted[data.draw(st.integers(0, len(corrupted) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "spoilt.png"
    path.write_bytes(bytes(corrupted))
    message = ""
    try:
        found = columns(path)
    except UserError as error:
        found, message = [], str(error)
    assert found or str(path) in message


def test_image_codec_is_saved_and_loaded(tmp_path: Path) -> None:
    trained = ImageCodecTrainer(height=20, invert=True).train([])
    trained.save(tmp_path / "reader.json")
    assert ImageCodec.load(tmp_path / "reader.json") == trained
    assert len(trained.vocabulary()) == 20
    assert trained.fingerprint not in (CODEC.fingerprint, ImageCodec(20, invert=False).fingerprint)
    (tmp_path / "reader.json").write_text("{}")
    with pytest.raises(UserError, match="not the settings of an image codec"):
        ImageCodec.load(tmp_path / "reader.json")
