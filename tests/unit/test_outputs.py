"""What translations tell beside their text: alignments, attention, likely pieces, words for the unknown."""

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from unit.models import BAHDANAU, CTC, SUTSKEVER, TRANSFORMER, letters, saved, untrained
from weft.cli.telling import Told, wanted_of
from weft.control.dictionary import looked_up, read_dictionary
from weft.control.request import Request
from weft.core.errors import UserError
from weft.core.state import Hypothesis, State, Step
from weft.engine.load import load_translator
from weft.engine.output import write_translations
from weft.engine.records import as_record
from weft.engine.telling import Teller
from weft.engine.translator import Translator
from weft.engine.wanted import Wanted, blindness, check_wanted
from weft.search.beam import Beam
from weft.search.diverse import DiverseBeam
from weft.search.exhaustive import Exhaustive
from weft.search.greedy import Greedy
from weft.search.rankings import GNMT, Reward
from weft.store.model_folder import Trained
from weft.text.alignment import aligned, linked, numbered, pharaoh, source_words, target_words
from weft.text.learners import BPE, Byte, Character, Learner, Unigram, Whitespace, Word, WordPiece
from weft.text.tokenizer import Tokenizer

LINES = ["der rote Hund schläft.", "ein T-Shirt, zwei (alte) Hunde!", "rote ▁ Hunde"]
EVERY: list[Learner] = [
    Character(),
    Byte(),
    Word(min_count=1),
    Whitespace(),
    WordPiece(size=60, min_count=1),
    BPE(size=300, min_count=1),
    Unigram(size=320, min_count=1),
]


def words_of(tokenizer: Tokenizer, line: str) -> list[bytes]:
    [ids] = tokenizer.encode([line])
    return [(b" " if tokenizer.puts_spaces else b"") + piece for piece in tokenizer.spelled(ids)]


@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)
def test_pieces_belong_to_the_words_between_spaces(learner: Learner) -> None:
    tokenizer = learner.learn(LINES)
    for line in [*LINES, *([] if isinstance(learner, Word) else ["  zwei  rote "]), "Hund"]:
        of_source = source_words(line, tokenizer)
        of_target = [words[0] if words else None for words in target_words(words_of(tokenizer, line))]
        count = len(line.split())
        assert len(of_source) == len(of_target) == len(tokenizer.encode([line])[0])
        for words in (of_source, of_target):
            known = [word for word in words if word is not None]
            assert known == sorted(known)
            assert set(known) == set(range(count))
        assert all(one == other for one, other in zip(of_source, of_target, strict=True) if other is not None)


def test_a_word_is_looked_at_as_much_as_its_pieces_together() -> None:
    weights = np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 0.0]])
    assert aligned(weights, [0, 1, 1], [range(1), range(1, 2), range(2, 3)]) == [(1, 0), (1, 1)]
    assert aligned(weights, [0, 1, None], [range(1), range(2), range(0)]) == [(0, 0), (1, 1)]
    links = linked([(1, 0), (0, 1)], "ab cd", "xyz  u")
    assert numbered(links, "ab cd", "xyz  u") == [(0, 1), (1, 0)]
    assert pharaoh([(0, 1), (1, 0)]) == "0-1 1-0"


@pytest.mark.parametrize("learner", [Byte(), BPE(size=300, min_count=1)], ids=["byte", "bpe"])
def test_bytes_that_are_no_letters_are_words_all_the_same(learner: Learner) -> None:
    """As the tokenizer decodes them: a line end, or a space, among them is no white space."""
    tokenizer, draws = learner.learn(LINES), Random(1)
    trained = untrained(BAHDANAU, source=tokenizer, target=tokenizer)
    teller = Teller(trained, Wanted(alignment=True))
    for _ in range(200):
        tokens = tuple(draws.choice([*tokenizer.encode(["a b\n\x0bä"])[0], draws.randrange(3, 259)]) for _ in range(9))
        weights = tuple((0.5, 0.2, 0.2, 0.1) for _ in range(10))
        found = Hypothesis(tokens, -1.0, (-0.1,) * 10, True, weights)
        text = teller.alternative(found, "abc", 3, None).text
        links = teller.links(found, "abc", 3) or ()
        assert [other for _, other in numbered(links, "abc", text)] == list(range(len(re.findall(r"(?a:\S+)", text))))


def looking(trained: Trained, source: str, target: str, places: list[int]) -> Hypothesis:
    """An output whose pieces look each at one piece of the source, in a batch with a longer line."""
    [tokens], [ids] = trained.target_tokenizer.encode([target]), trained.source_tokenizer.encode_rows([source]).split()
    eye = np.eye(len(ids) + 3)
    rows = [tuple(eye[place]) for place in [*places, len(ids)]]
    return Hypothesis(tuple(tokens), -1.0, (-0.1,) * len(rows), True, tuple(rows))


def test_unknown_words_become_what_they_look_at() -> None:
    source, target = (Word(min_count=1).learn([text]) for text in ("the old cat sleeps .", "die Katze, schläft ."))
    trained = untrained(BAHDANAU, source=source, target=target)
    teller = Teller(trained, Wanted(replace_unknown=True, alignment=True, dictionary={"mrs": "Frau Dr."}))
    line = "the Mrs Miller-Lang, sleeps"  # the, Mrs, Miller, -, Lang, ",", sleeps
    found = looking(trained, line, "die Xx Yy, schläft", [0, 1, 4, 5, 6])
    assert teller.alternative(found, line, 7, None).text == "die Frau Dr. Lang, schläft"
    links = teller.links(found, line, 7) or ()
    assert pharaoh(numbered(links, line, "die Frau Dr. Lang, schläft")) == "0-0 1-1 1-2 2-3 3-4"
    plain = Teller(trained, Wanted())
    assert plain.alternative(found, line, 7, None).text == "die <unk> <unk>, schläft"
    backward = untrained(BAHDANAU, source=source, target=target.backward())
    turned = found._replace(tokens=found.tokens[::-1], attention=(*found.attention[-2::-1], found.attention[-1]))
    same = Teller(backward, teller.wanted)
    assert same.alternative(turned, line, 7, None).text == "die Frau Dr. Lang, schläft"
    assert same.links(turned, line, 7) == links


def test_what_an_unknown_word_became_is_looked_at_too() -> None:
    """An excluded word can come back from the source."""
    tokenizer = Word(min_count=1).learn(["the old cat sleeps"])
    trained = untrained(BAHDANAU, source=tokenizer, target=tokenizer)

    class Says(Greedy):
        def __call__(self, step: Step, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
            return [[looking(trained, "the Miller", "the Xx", [0, 1])]]

    translator = Translator(trained, Says(), trained.recipe.translate, wanted=Wanted(replace_unknown=True))
    [one] = translator.translate([Request("the Miller", exclude=("Miller", "Xx"))])
    assert one.text == "the Miller"
    assert [told.met for told in one.checked] == [False, True]


def test_an_unknown_letter_becomes_a_letter() -> None:
    trained = untrained(BAHDANAU, source=letters(), target=letters())
    found = looking(trained, "a é", "dée", [0, 2, 0])
    assert Teller(trained, Wanted(replace_unknown=True)).alternative(found, "a é", 3, None).text == "dée"


def test_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("# names\ncat\tKatze\n\ncat\tKater\nUS\tdie USA\n", "utf-8")
    words = read_dictionary(path)
    assert [looked_up(word, words) for word in ("cat", "Cat", "US", "us", "x")] == [
        "Katze",
        "Katze",
        "die USA",
        "us",
        "x",
    ]
    for content, message in (("cat\n", "line 1: should be a word, one tab"), ("# \n", "has no words")):
        path.write_text(content, "utf-8")
        with pytest.raises(UserError, match=message):
            read_dictionary(path)


def test_what_a_model_cannot_tell() -> None:
    for family, message in ((CTC, "no decoder that could look"), (SUTSKEVER, "does not look at the source")):
        trained = untrained(family)
        assert message in blindness(trained)
        with pytest.raises(UserError, match=f"--alignments: .*{message}.*; leave it out"):
            check_wanted(trained, Wanted(alignment=True), "--alignments")
        check_wanted(trained, Wanted(likeliest=2), "--likeliest")
    assert blindness(untrained(TRANSFORMER)) == blindness(untrained(BAHDANAU)) == ""
    spelling = untrained(BAHDANAU, target=letters(Byte()))
    with pytest.raises(UserError, match="--replace-unknown: the target's tokenizer spells whatever it does not know"):
        check_wanted(spelling, Wanted(replace_unknown=True), "--replace-unknown")


@pytest.mark.parametrize("family", [TRANSFORMER, BAHDANAU], ids=["transformer", "bahdanau"])
def test_a_record_has_it_all(family: dict[str, Any]) -> None:
    trained = untrained(family)
    told = Wanted(alignment=True, attention=True, likeliest=3)
    translator = Translator(trained, Beam(size=3, best=2, length_penalty=GNMT), trained.recipe.translate, wanted=told)
    for translation in translator.translate(["abcde", "ab", ""])[:2]:
        record = json.loads(json.dumps(as_record(translation)))
        best = record["alternatives"][0]
        assert best["ranked_by"] == pytest.approx(best["score"] / ((5 + len(best["pieces"])) / 6) ** 0.6)
        attention = record["attention"]
        assert attention["source_pieces"] == [*translation.source, "<end>"]
        assert np.shape(attention["weights"]) == (len(best["pieces"]), len(translation.source) + 1)
        assert np.sum(attention["weights"], 1) == pytest.approx(1.0)
        assert record["alignment"] == ([[0, 0]] if record["text"].strip() else [])
        for place, piece, score in zip(record["likeliest"], best["pieces"], best["piece_scores"], strict=True):
            assert len(place) == 3
            assert [one["score"] for one in place] == sorted((one["score"] for one in place), reverse=True)
            assert {one["piece"]: one["score"] for one in place}.get(piece, score) == pytest.approx(score)
            assert place[0]["score"] >= score - 1e-9
    plain = Translator(trained, Greedy(), trained.recipe.translate).translate(["abc"])[0]
    assert as_record(plain).keys() == {"source", "text", "score", "cut", "alternatives"}
    assert plain.alternatives[0].ranked_by == plain.score


def test_outputs_stand_in_the_order_of_their_ranks() -> None:
    trained = untrained(BAHDANAU)
    for search in (
        Beam(size=4, best=4, length_penalty=GNMT, coverage_penalty=0.5, stop="limit"),
        DiverseBeam(size=4, groups=2, best=4, length_penalty=Reward),
        Exhaustive(best=4),
    ):
        translator = Translator(trained, search, replace(trained.recipe.translate, length_factor=0.5, length_extra=1))
        for line in translator.translate(["abcd", "edc", "b"]):
            ranks = [one.ranked_by or 0.0 for one in line.alternatives]
            assert len(set(ranks)) > 1
            assert ranks == sorted(ranks, reverse=True)


def test_the_likeliest_do_not_depend_on_the_batch() -> None:
    trained = untrained(BAHDANAU)
    translator = Translator(trained, Greedy(), trained.recipe.translate, wanted=Wanted(likeliest=1))
    lines = ["abcde", "a", "cb"]
    for one, line in zip(translator.translate(lines), lines, strict=True):
        [alone] = translator.translate([line])
        assert [place[0].piece for place in one.likeliest] == [place[0].piece for place in alone.likeliest]
        limit = len(one.likeliest) - 1 if not one.alternatives[0].finished else len(one.likeliest)
        assert [place[0].piece for place in one.likeliest][:limit] == list(one.alternatives[0].pieces)[:limit]


def test_a_file_of_alignments(tmp_path: Path) -> None:
    tokenizer = Character().learn(["abc de"])
    trained = untrained(BAHDANAU, source=tokenizer, target=tokenizer)
    folder, source = saved(tmp_path / "model", trained), tmp_path / "input"
    source.write_text("ab cd\n\nab\n", "utf-8")
    told = Told(True, tmp_path / "rows", False, None, False, None)
    translator = load_translator(folder)
    translator = Translator(translator.trained, Beam(size=2), translator.settings, wanted=wanted_of(told, trained))
    write_translations(translator, source, tmp_path / "out", as_json=True, alignments=told.alignments)
    rows = (tmp_path / "rows").read_text("utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").split("\n")[:-1]]
    assert len(rows) == 3
    assert rows[1] == ""
    for row, record in zip(rows, records, strict=True):
        assert row == pharaoh(record.get("alignment", []))
        assert {other for _, other in record.get("alignment", [])} <= set(range(len(record["text"].split())))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (Told(False, None, True, None, False, None), "--attention is told by --json alone"),
        (Told(False, None, False, 3, False, None), "--likeliest is told by --json alone"),
        (Told(True, None, False, None, False, Path("x")), "add --replace-unknown, or leave --dictionary out"),
    ],
)
def test_options_that_need_others(told: Told, message: str) -> None:
    with pytest.raises(UserError, match=message):
        told.check()
