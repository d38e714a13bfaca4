"""Monolingual data: every line is a target without a source."""

import gzip
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.data.batches import BatchLoader
from weft.data.corpus import Corpus, HoldoutSplit
from weft.data.data_config import DataConfig
from weft.data.data_report import make_data_report, render_data_report
from weft.data.token_cache import open_token_cache
from weft.text.text_config import TextConfig, train_tokenizers
from weft.text.tokenizer_training import WhitespaceTokenizerTrainer

LINES = ["a b", "c", "", "a b", "a b c a b c a b c a b c", "\ta"]


def corpus(folder: Path, lines: list[str], holdout: HoldoutSplit | None = None) -> Corpus:
    path = folder / "text.txt"
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return Corpus([path], holdout=holdout, monolingual=True)


def test_every_line_is_a_target_without_a_source(tmp_path: Path) -> None:
    assert list(corpus(tmp_path, LINES).pairs()) == [("", line) for line in LINES]
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"x\n"))
    assert list(Corpus([tmp_path / "text.gz"], monolingual=True).pairs()) == [("", "x")]


def test_splits_of_a_single_file(tmp_path: Path) -> None:
    corpus(tmp_path, LINES)
    splits = DataConfig(folder=str(tmp_path), train=("text.txt",), validation_fraction=0.3, monolingual=True).splits()
    parts = {name: [line for _, line in split.pairs()] for name, split in splits.items()}
    assert sorted(parts["train"] + parts["valid"]) == sorted(LINES)
    assert parts["train"]
    assert parts["valid"]


@pytest.mark.parametrize("names", [[], ["a", "b"], ["a.tsv"], ["a.jsonl.gz"]])
def test_other_files_are_rejected(names: list[str]) -> None:
    with pytest.raises(UserError, match=r"with data.monolingual, lines are read from one text file .* got "):
        Corpus(names, monolingual=True)


def test_empty_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"text.txt: empty, there is no line in it"):
        list(corpus(tmp_path, []).pairs())
    with pytest.raises(UserError, match="no line is in this part"):
        list(corpus(tmp_path, ["a"], HoldoutSplit(1.0, is_held_out=False)).pairs())


def test_lines_are_filtered(tmp_path: Path) -> None:
    tokenizer = WhitespaceTokenizerTrainer().train(LINES)
    settings = DataConfig(cache=str(tmp_path / "cache"), max_length=8)
    cache = open_token_cache(corpus(tmp_path, LINES), tokenizer, tokenizer, settings)
    assert cache.statistics.dropped == {"empty": 1, "duplicate": 1, "too long": 1, "bad ratio": 0}
    assert cache.corpus_indices.tolist() == [0, 1, 5]
    (batch,) = BatchLoader(cache, 100, seed=1).epoch(0)
    assert batch.source.lengths().tolist() == [1, 1, 1]  # EOS alone
    assert sorted(batch.target.lengths().tolist()) == [2, 2, 3]


def test_length_ratio_is_not_checked(tmp_path: Path) -> None:
    tokenizer = WhitespaceTokenizerTrainer().train(LINES)
    cache = open_token_cache(corpus(tmp_path, LINES), tokenizer, tokenizer, DataConfig(cache=str(tmp_path / "cache")))
    assert cache.statistics.dropped["bad ratio"] == 0
    assert cache.statistics.pairs_kept == 4


def test_empty_result_is_reported_in_lines(tmp_path: Path) -> None:
    tokenizer = WhitespaceTokenizerTrainer().train(["a"])
    with pytest.raises(UserError, match=r"no line is left of 2 \(1 empty, 1 too long\)"):
        open_token_cache(
            corpus(tmp_path, ["", "a a"]), tokenizer, tokenizer, DataConfig(cache=str(tmp_path / "cache"), max_length=1)
        )


def test_data_report_counts_lines(tmp_path: Path) -> None:
    tokenizer = WhitespaceTokenizerTrainer().train(["a b c"])
    settings = DataConfig(cache=str(tmp_path / "cache"))
    train = open_token_cache(corpus(tmp_path, LINES), tokenizer, tokenizer, settings)
    valid = open_token_cache(corpus(tmp_path, ["c", "b d"]), tokenizer, tokenizer, settings, filtered=False)
    assert [line.split() for line in render_data_report(make_data_report(train, {"valid": valid})).split("\n")] == [
        ["train", "valid"],
        ["lines", "read", "6", "2"],
        ["dropped:", "empty", "1", "0"],
        ["duplicate", "1", "0"],
        ["too", "long", "0", "0"],
        ["lines", "kept", "4", "2"],
        ["tokens", "16", "3"],
        ["mean", "length", "4.0", "1.5"],
        ["unknown", "0.00%", "33.33%"],
        ["bytes", "-", "-"],
        ["line", "is", "in", "train", "1", "(50.0%)"],
    ]


def test_single_tokenizer_is_trained_on_the_lines(tmp_path: Path) -> None:
    source, target = train_tokenizers(
        TextConfig(source=WhitespaceTokenizerTrainer), corpus(tmp_path, LINES).pairs(), seed=1
    )
    assert source is target
    assert target.decode(target.encode(["a b c"])) == ["a b c"]
