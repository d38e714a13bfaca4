"""Image data from a table to a batch, and its error messages."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unit.images import write_bars
from weft.config.recipe import load_recipe
from weft.core import codec
from weft.core.errors import ConfigError, UserError
from weft.data.batches import BatchLoader
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.image_codec import ImageCodec
from weft.data.token_cache import TokenCache, open_token_cache
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training.autoconfig import choose_recipe
from weft.training.recipe_checks import check_recipe

IMAGE_CODEC, TOKENIZER = ImageCodec(height=8, invert=False), CharacterTokenizerTrainer().train(["abcdef"])
MODEL = {
    "source": "pixels",
    "encoder": {"type": "chain", "encoders": [{"type": "image", "layers": 2, "channels": 2, "dim": 6}, "recurrent"]},
    "target": {"dim": 6},
    "decoder": "luong",
}
RECIPE: dict[str, Any] = {
    "data": {"train": ["table.tsv"]},
    "text": {"source": "image", "target": "character", "joint": False},
    "model": MODEL,
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Six lines: the third names no image; the last has the pixels of the first under another name."""
    folder = tmp_path / "pictures"
    for number in range(1, 5):
        write_bars(folder / f"{number}.png", *[number] * number)
    shutil.copy(folder / "1.png", folder / "again.png")
    names = ["1.png", "2.png", "", "3.png", "4.png", "again.png"]
    lines = [
        f"pictures/{name}\t{text}\n" if name else f"\t{text}\n" for name, text in zip(names, "abcdea", strict=True)
    ]
    (tmp_path / "table.tsv").write_text("".join(lines), "utf-8")
    return tmp_path / "table.tsv"


def corpus(table: Path) -> Corpus:
    return Corpus([table], modality="image")


def settings(table: Path, max_length: int = 50) -> DataConfig:
    return DataConfig(cache=str(table.parent / "cache"), max_length=max_length)


def cached_sources(cache: TokenCache) -> list[list[list[int]]]:
    return [cache.row(number, 0).tolist() for number in range(len(cache))]


def test_image_names_are_relative_to_the_table(table: Path) -> None:
    sources = [source for source, _ in corpus(table).pairs()]
    assert sources[0] == str(table.parent / "pictures" / "1.png")
    assert sources[2] == ""


def test_missing_image_is_reported_with_its_line(table: Path) -> None:
    (table.parent / "pictures" / "3.png").unlink()
    with pytest.raises(UserError, match=r"table\.tsv, line 4: .*3\.png: there is no such file"):
        list(corpus(table).pairs())


def test_broken_image_is_reported_with_its_line(table: Path) -> None:
    (table.parent / "pictures" / "4.png").write_text("spoilt")
    for split in (corpus(table), *DataConfig(train=(str(table),), validation_fraction=0.5).splits("image").values()):
        names = [Path(source).name for source, _ in split.pairs()]
        if "4.png" in names:
            with pytest.raises(UserError, match=r"table\.tsv, line 5: .*4\.png: not a readable image"):
                open_token_cache(split, IMAGE_CODEC, TOKENIZER, settings(table), filtered=False)


def test_cache_holds_pixel_columns(table: Path) -> None:
    cache = open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, settings(table))
    assert cached_sources(cache) == [[[255 - number] * 8] * number for number in (1, 2, 3, 4)]
    assert cache.row(0, 0).dtype == np.uint8
    assert cache.lengths(np.arange(4)).tolist() == [[1, 1], [2, 1], [3, 1], [4, 1]]
    assert cache.statistics.dropped == {"empty": 1, "duplicate": 1, "too long": 0, "bad ratio": 0}
    assert (cache.statistics.source.tokens, cache.statistics.source.unknown_tokens) == (10, 0)
    reopened = open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, settings(table))
    assert cached_sources(reopened) == cached_sources(cache)


def test_images_are_encoded_in_chunks(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cached_sources(open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, settings(table)))
    monkeypatch.setattr(codec, "MAX_IMAGES_PER_CHUNK", 2)
    progress: list[int] = []
    other = DataConfig(cache=str(table.parent / "again"), max_length=50)
    assert cached_sources(open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, other, progress.append)) == whole
    assert progress == [2, 4, 6]


def test_length_ratio_is_not_checked_for_images(table: Path) -> None:
    write_bars(table.parent / "pictures" / "4.png", *range(40))
    assert len(open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, settings(table))) == 4
    short = open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, settings(table, max_length=39))
    assert short.statistics.dropped["too long"] == 1
    wide = table.with_name("wide.tsv")
    wide.write_text("pictures/4.png\ta\n")
    with pytest.raises(UserError, match=r"Raise data.max_length, or lower text.source.height"):
        open_token_cache(corpus(wide), IMAGE_CODEC, TOKENIZER, settings(table, max_length=39))


def test_fingerprint_depends_on_pixels(table: Path) -> None:
    before = corpus(table).fingerprint()
    shutil.copytree(table.parent, table.parent / "copy")
    assert corpus(table.parent / "copy" / "table.tsv").fingerprint() == before
    write_bars(table.parent / "pictures" / "2.png", 7, 7)
    assert corpus(table).fingerprint() != before


def test_equal_images_are_in_the_same_split(table: Path) -> None:
    first, *_, last = corpus(table).pair_keys(corpus(table).pairs())
    assert first == last
    splits = DataConfig(train=(str(table),), validation_fraction=0.5).splits("image")
    parts = {name: [Path(source).name for source, _ in split.pairs()] for name, split in splits.items()}
    assert len(parts["train"]) + len(parts["valid"]) == 6
    assert ("1.png" in parts["valid"]) == ("again.png" in parts["valid"])


def test_batch_holds_padded_images(table: Path) -> None:
    cache = open_token_cache(corpus(table), IMAGE_CODEC, TOKENIZER, settings(table), filtered=False)
    (batch,) = BatchLoader(cache, 1000, 1).epoch(0)
    assert batch.source.data.dtype == torch.uint8
    assert batch.source.data.shape == (6, 5, 8)  # the widest, and an end column
    lengths = dict(zip(batch.corpus_indices, batch.source.lengths().tolist(), strict=True))
    assert lengths == {0: 2, 1: 3, 2: 1, 3: 4, 4: 5, 5: 2}
    for index, image, length in zip(batch.corpus_indices, batch.source.data, batch.source.lengths(), strict=True):
        assert not image[length - 1 :].any()
        assert index == 2 or image[: length - 1].all()
    cut = next(BatchLoader(cache, 1000, 1, max_length=2).epoch(0))
    assert cut.source.data.shape[1] == 3


def problems(**changed: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe({**RECIPE, **changed}))
    return [str(problem) for problem in caught.value.problems]


def test_image_recipe_is_valid() -> None:
    check_recipe(load_recipe(RECIPE))


def test_settings_incompatible_with_images_are_reported() -> None:
    text = {"source": "image", "joint": False}
    assert problems(text=text) == ["text.target: is missing: images cannot be generated; set target: character"]
    joint = problems(text={"source": "image", "target": "character"})
    assert joint == ["text.joint: true, but images and text share no vocabulary: set joint: false"]
    assert len(problems(text={"source": "image"})) == 2  # both at once
    (tokens,) = problems(model={**MODEL, "source": "tokens"})
    assert tokens == "model.source: embeds text, but text.source reads images: write the type pixels"
    (written,) = problems(text={"source": "character"})
    assert written.startswith("model.source: pixels, but text.source is text")
    (target,) = problems(model={**MODEL, "target": "pixels"})
    assert target.startswith("model.target: pixels, but images can only be a source")
    (empty,) = problems(model={**MODEL, "encoder": {"type": "chain", "encoders": []}})
    assert empty == "model.encoder: encoders: give at least one, such as [image, recurrent]"
    (few,) = problems(model={**MODEL, "encoder": {"type": "image", "layers": 1, "subsampling": 4}})
    assert few.startswith("model.encoder: subsampling: 4 needs more than 1 layers")


def test_target_cannot_be_an_image() -> None:
    with pytest.raises(ConfigError, match=r"text\.target"):
        load_recipe({"text": {"source": "image", "target": "image"}})


def test_recipe_for_images_is_chosen(table: Path) -> None:
    chosen = choose_recipe([str(table)], [], 2.0, "cpu")
    check_recipe(chosen.recipe)
    assert chosen.recipe.data.max_length == 64
    assert "the source names image files" in " ".join(chosen.reasons.split())
    assert max(map(len, chosen.reasons.split("\n"))) <= 100
    (table.parent / "pictures" / "3.png").write_text("spoilt")
    with pytest.raises(UserError, match=r"table\.tsv, line 4: .*3\.png: not a readable image"):
        choose_recipe([str(table)], [], 2.0, "cpu")
    (table.parent / "pictures" / "3.png").unlink()
    with pytest.raises(UserError, match=r"line 4: .* there is no such file"):
        choose_recipe([str(table)], [], 2.0, "cpu")
