"""The data report before training: its numbers and its table."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.data_report import DataReport, SideReport, SplitReport, make_data_report, render_data_report
from weft.data.token_cache import open_token_cache
from weft.text.tokenizer_training import ByteTokenizerTrainer, WhitespaceTokenizerTrainer


@pytest.fixture
def report(tmp_path: Path) -> DataReport:
    train = [("1 2", "ab"), ("1 2", "ab"), ("3 4", "c"), ("", "x"), ("5 5 5 5", "é")]
    valid = [("3 4", "another"), ("5 never", ""), ("", "")]
    settings = DataConfig(cache=str(tmp_path / "cache"))
    tokenizers = WhitespaceTokenizerTrainer().train(["1 2 3 4 5"]), ByteTokenizerTrainer().train([])
    corpora = []
    for name, pairs in (("train", train), ("valid", valid)):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
        corpora.append(Corpus([path]))
    caches = (
        open_token_cache(corpora[0], *tokenizers, settings),
        open_token_cache(corpora[1], *tokenizers, settings, filtered=False),
    )
    return make_data_report(caches[0], {"valid": caches[1]})


def test_report_numbers(report: DataReport) -> None:
    train, valid = report.splits
    assert train == SplitReport(
        name="train",
        pairs_read=5,
        pairs_kept=3,
        dropped={"empty": 1, "duplicate": 1, "too long": 0, "bad ratio": 0},
        source=SideReport(tokens=8, mean_length=8 / 3, unknown_share=0.0, byte_share=None),
        target=SideReport(tokens=5, mean_length=5 / 3, unknown_share=0.0, byte_share=1.0),
        train_overlap=None,
    )
    assert (valid.name, valid.pairs_read, valid.pairs_kept, valid.train_overlap) == ("valid", 3, 3, 1)
    assert valid.source == SideReport(tokens=4, mean_length=4 / 3, unknown_share=0.25, byte_share=None)


def test_report_is_serialized_as_json(report: DataReport) -> None:
    value = json.loads(json.dumps(asdict(report)))
    assert value["splits"][1]["source"]["unknown_share"] == 0.25
    assert value["splits"][0]["dropped"]["duplicate"] == 1


def test_report_table(report: DataReport) -> None:
    table = render_data_report(report)
    assert [line.split() for line in table.split("\n")] == [
        ["train", "valid"],
        ["pairs", "read", "5", "3"],
        ["dropped:", "empty", "1", "0"],
        ["duplicate", "1", "0"],
        ["too", "long", "0", "0"],
        ["bad", "ratio", "0", "0"],
        ["pairs", "kept", "3", "3"],
        ["source", "tokens", "8", "4"],
        ["source", "mean", "length", "2.7", "1.3"],
        ["source", "unknown", "0.00%", "25.00%"],
        ["source", "bytes", "-", "-"],
        ["target", "tokens", "5", "7"],
        ["target", "mean", "length", "1.7", "2.3"],
        ["target", "unknown", "0.00%", "0.00%"],
        ["target", "bytes", "100.00%", "100.00%"],
        ["source", "line", "is", "in", "train", "1", "(33.3%)"],
    ]
    assert len({len(line) for line in table.split("\n")}) == 1


def test_table_of_a_large_corpus_fits_the_terminal() -> None:
    side = SideReport(tokens=123_456_789_012, mean_length=123.4, unknown_share=1.0, byte_share=1.0)
    counts = {"empty": 10**9, "duplicate": 10**9, "too long": 10**9, "bad ratio": 10**9}
    splits = [SplitReport(name, 10**10, 10**9, counts, side, side, 10**9) for name in ("train", "valid", "test")]
    assert max(map(len, render_data_report(DataReport(tuple(splits))).split("\n"))) <= 100
