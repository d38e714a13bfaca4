"""Pairs that are held out: always the same ones, and no sentence on both sides."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import UserError
from weft.data.corpus import Corpus, HoldoutSplit
from weft.data.data_config import DataConfig


def corpora(folder: Path, share: float, rows: int = 2000) -> dict[str, Corpus]:
    text = "".join(f"Sentence {number // 2}\tFrase {number}\n" for number in range(rows))
    (folder / "pairs.tsv").write_text(text, "utf-8")
    return DataConfig(folder=str(folder), train=("pairs.tsv",), validation_fraction=share).splits()


def test_both_parts_are_the_whole_and_have_no_source_in_common(tmp_path: Path) -> None:
    train, valid = (list(corpora(tmp_path, 0.1)[name].pairs()) for name in ("train", "valid"))
    assert len(train) + len(valid) == 2000
    assert len(valid) == pytest.approx(200, rel=0.3)
    assert not {source for source, _ in train} & {source for source, _ in valid}


@given(st.text())
def test_case_and_spaces_change_nothing(source: str) -> None:
    part = HoldoutSplit(0.5, is_held_out=True)
    assert (
        part.contains(source)
        == part.contains(f"  {source.casefold()}\t!")
        == part.contains(unicodedata.normalize("NFD", source))
    )
    assert part.contains(source) != HoldoutSplit(0.5, is_held_out=False).contains(source)


def test_the_parts_of_a_corpus_have_fingerprints_of_their_own(tmp_path: Path) -> None:
    parts = corpora(tmp_path, 0.1)
    more = corpora(tmp_path, 0.2)
    prints = [parts["train"], parts["valid"], more["train"], Corpus([tmp_path / "pairs.tsv"])]
    assert len({corpus.fingerprint() for corpus in prints}) == 4


def test_nothing_held_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pairs\.tsv \(held out\): no pair is in this part"):
        list(corpora(tmp_path, 0.000001, rows=10)["valid"].pairs())
