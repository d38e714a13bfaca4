"""Held-out validation pairs: reproducible, and no source sentence in both splits."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import UserError
from weft.data.corpus import Corpus, HoldoutSplit
from weft.data.data_config import DataConfig


def make_splits(folder: Path, fraction: float, rows: int = 2000) -> dict[str, Corpus]:
    text = "".join(f"Sentence {number // 2}\tFrase {number}\n" for number in range(rows))
    (folder / "pairs.tsv").write_text(text, "utf-8")
    return DataConfig(folder=str(folder), train=("pairs.tsv",), validation_fraction=fraction).splits()


def test_splits_are_complete_and_share_no_source(tmp_path: Path) -> None:
    train, valid = (list(make_splits(tmp_path, 0.1)[name].pairs()) for name in ("train", "valid"))
    assert len(train) + len(valid) == 2000
    assert len(valid) == pytest.approx(200, rel=0.3)
    assert not {source for source, _ in train} & {source for source, _ in valid}


@given(st.text())
def test_split_ignores_case_and_white_space(source: str) -> None:
    split = HoldoutSplit(0.5, is_held_out=True)
    assert (
        split.contains(source)
        == split.contains(f"  {source.casefold()}\t!")
        == split.contains(unicodedata.normalize("NFD", source))
    )
    assert split.contains(source) != HoldoutSplit(0.5, is_held_out=False).contains(source)


def test_splits_have_different_fingerprints(tmp_path: Path) -> None:
    splits = make_splits(tmp_path, 0.1)
    larger = make_splits(tmp_path, 0.2)
    corpora = [splits["train"], splits["valid"], larger["train"], Corpus([tmp_path / "pairs.tsv"])]
    assert len({corpus.fingerprint() for corpus in corpora}) == 4


def test_empty_split_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pairs\.tsv \(held out\): no pair is in this part"):
        list(make_splits(tmp_path, 0.000001, rows=10)["valid"].pairs())
