"""A toy corpus with the file names of Multi30k, a tiny recipe for it, and a run trained with it."""

from pathlib import Path
from random import Random

import pytest

import weft
from system import toys

SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}  # in a recipe, in Multi30k


@pytest.fixture(scope="session")
def multi30k(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("multi30k"), Random(1)
    for split, count in (("train", 400), ("val", 20), ("test_2016_flickr", 20)):
        for language, lines in zip(
            ("en", "de"), zip(*(toys.sentence(rng) for _ in range(count)), strict=True), strict=True
        ):
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder


@pytest.fixture(scope="session")
def recipe(multi30k: Path) -> Path:
    """The recipe of a tiny English-German Transformer."""
    node = toys.learning_recipe(multi30k, "transformer")
    node["data"] |= {name: [f"{split}.en", f"{split}.de"] for name, split in SPLITS.items()}
    node["train"] |= {"steps": 20, "log_every": 5}
    return toys.write_recipe(multi30k / "tiny.yaml", node)


@pytest.fixture(scope="session")
def run(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return weft.train(recipe, out=tmp_path_factory.mktemp("runs") / "tiny")
