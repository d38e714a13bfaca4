"""What lines ask for, from text to text: phrases, glossaries and requests, with every kind of tokenizer."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, pairwise, product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from unit.test_search import Toy
from unit.untrained import SENTENCE, untrained
from weft.config.recipe import Translate
from weft.control.again import ROUNDS, find_without
from weft.control.asking import Asking
from weft.control.checking import Output, checked
from weft.control.glossary import Glossary, read_glossary
from weft.control.json_lines import read_requests
from weft.control.plan import Plan, guided, planned
from weft.control.request import Request
from weft.control.spelling import Speller
from weft.control.words import occurrences, stands
from weft.core.errors import UserError
from weft.core.marks import BEGIN, END
from weft.core.state import Hypothesis
from weft.engine.load import check_guided
from weft.engine.output import write_translations
from weft.engine.translator import Translator
from weft.search.beam import Beam
from weft.search.greedy import Greedy
from weft.search.guides.phrases import Phrase
from weft.search.role import Reading, Search
from weft.store.model_folder import Trained
from weft.text.learners import BPE, Byte, Character, Learner, Unigram, Whitespace, Word, WordPiece
from weft.text.reader import Reader

SPOKEN = b" abcDEF,12"
LINES = [
    "das Haus am See ist alt",
    "ein Haus, ein See (alt)",
    "in den Häusern am See: 50% alte Türen",
    "die Haustür",
] * 3
LEARNERS: dict[str, Learner] = {
    "character": Character(),
    "byte": Byte(),
    "whitespace": Whitespace(),
    "word": Word(min_count=1),
    "bpe": BPE(size=80, unknown="token"),
    "bpe of bytes": BPE(size=320),
    "wordpiece": WordPiece(size=80),
    "unigram": Unigram(size=80, unknown="token"),
    "small letters": BPE(size=80, unknown="token", lowercase=True),
}
SPELLERS = {name: Speller(learner.learn(LINES)) for name, learner in LEARNERS.items()}


def found(
    requests: Sequence[Request], speller: Speller, toy: Toy, search: Search, room: int = 12
) -> list[tuple[str, list[bool]]]:
    """The text of each request, and what of it is met."""
    plans = [planned(request, speller) for request in requests]
    limit = torch.tensor([plan.least + room for plan in plans])

    def find(places: Sequence[int], plans: Sequence[Plan]) -> list[list[Hypothesis]]:
        rows = torch.tensor(list(places))
        state = toy.start(len(requests)).select(rows, rows)
        step, state = guided(toy, state, plans, limit[rows], speller.joins)
        return search(step, state, limit[rows], rows)

    results = []
    for request, plan, hypotheses, most in zip(
        requests, plans, find_without(find, requests, plans, speller), limit.tolist(), strict=True
    ):
        tokens = hypotheses[0].tokens
        text = speller.written(tokens)
        results.append((text, [one.met for one in checked(request, plan, Output(tokens, text, most), speller)]))
    return results


def toy_of(speller: Speller, seed: int, end: float = 0.0) -> Toy:
    """One that hardly says bytes: at random they spell no letters."""
    toy = Toy(seed, speller.tokenizer.size, end)
    pieces = speller.tokenizer.vocabulary()
    odd = [token for token in speller.tokenizer.byte_pieces if int(pieces[token][3:5], 16) not in SPOKEN]
    toy.log_probs[:, odd] -= 50
    return toy


@pytest.mark.parametrize("kind", SPELLERS)
def test_what_is_asked_for_stands_in_the_text(kind: str) -> None:
    """Included phrases do, and words of the free output, once excluded, do not, however they are spelled."""
    speller, draws = SPELLERS[kind], Random(kind)
    toy = toy_of(speller, 1, end=1.0)
    plain = found([Request("x")] * 12, speller, toy, Beam(size=3))
    requests = []
    for text, _ in plain:
        words = draws.choice(LINES).split()
        first = draws.randrange(len(words))
        phrases = ((" ".join(words[first : first + 2]),), ("alt", "See"))
        said = [word for word in text.split() if "<" not in word and not any(word in one for one in sum(phrases, ()))]
        requests.append(Request("x", include=phrases, ordered=draws.choice([0, 2]), exclude=tuple(said[:2])))
    results = found(requests, speller, toy, Beam(size=3))
    assert any(request.exclude for request in requests)
    for request, (text, met) in zip(requests, results, strict=True):
        assert all(met), (request, text)


@pytest.mark.parametrize("kind", SPELLERS)
def test_a_prefix_begins_the_text(kind: str) -> None:
    speller = SPELLERS[kind]
    [(text, met)] = found([Request("x", prefix="das Haus")], speller, toy_of(speller, 2), Greedy())
    assert met == [True]
    assert text.startswith(speller.shown("das Haus"))


def test_a_biased_prefix_is_not_forced() -> None:
    speller = SPELLERS["bpe"]
    toy = Toy(2, speller.tokenizer.size)
    weak, strong = (Request("x", prefix="das Haus am See", bias=bias) for bias in (1e-9, 1 - 1e-9))
    assert [met for _, met in found([weak, strong], speller, toy, Greedy(), room=20)] == [[False], [True]]


def test_only_the_pieces_of_a_vocabulary_are_used() -> None:
    speller = SPELLERS["word"]
    request = Request("x", include=(("alt",),), vocabulary=("Haus", "See"))
    [(text, _)] = found([request], speller, Toy(3, speller.tokenizer.size, end=-3.0), Beam(size=3))
    assert set(text.split()) == {"Haus", "See", "alt"}


def test_a_word_may_begin_with_the_pieces_of_an_excluded_one() -> None:
    speller = Speller(BPE(size=13, unknown="token").learn(["Haus", "Haus", "Haustür", "Haustür"]))
    (short,), (long,) = speller.tokenizer.encode(["Haus"]), speller.tokenizer.encode(["Haustür"])
    assert long[: len(short)] == short
    request = Request("x", include=(("Haustür",),), exclude=("Haus",))
    [(_, met)] = found([request], speller, toy_of(speller, 4), Beam(size=3))
    assert met == [True, True]


def test_a_phrase_of_many_spellings_is_found_out() -> None:
    """A search that knows one spelling after another, more of them than are forbidden one by one."""
    speller = SPELLERS["bpe of bytes"]
    pieces = speller.tokenizer.vocabulary()
    ways = [[pieces.index(letter), pieces.index(f"<0x{ord(letter):02X}>")] for letter in "Haus"]
    outputs, (clean,) = [list(row) for row in product(*ways)], speller.tokenizer.encode(["alt am See"])
    assert len(outputs) > ROUNDS
    searched = []

    def find(places: Sequence[int], plans: Sequence[Plan]) -> list[list[Hypothesis]]:
        searched.append(len(places))
        allowed = [[row for row in [*outputs, clean] if not holds(row, plan.excluded)] for plan in plans]
        return [[Hypothesis(tuple(rows[0]), -1.0, (-1.0,), True)] if rows else [] for rows in allowed]

    def holds(row: list[int], excluded: Sequence[Phrase]) -> bool:
        said = (BEGIN, *row)
        spelled = (one.tokens for one in excluded)
        return any(said[first : first + len(one)] == one for one in spelled for first in range(len(said)))

    request, plan = Request("x", exclude=("Haus",)), Plan()  # it forbids nothing yet
    [found] = find_without(find, [request], [plan], speller)
    assert speller.written(found[0].tokens) == "alt am See"
    assert 1 + ROUNDS < len(searched) <= 3 + ROUNDS
    need = replace(plan, requirements=((Phrase(tuple(chain(*ways))),),))
    [found] = find_without(find, [request], [need], speller)  # which leaves no token to forbid
    assert stands("Haus", speller.written(found[0].tokens))


@pytest.mark.parametrize("kind", SPELLERS)
@pytest.mark.parametrize(
    "odd", ["\u200b", "\ufeff", "▁", "<unk>", "<0x41>", "Ω", "\x00", "\ud800", "e\u0301", "\u00ad"]
)
def test_odd_phrases_are_spelled_or_told(kind: str, odd: str) -> None:
    speller = SPELLERS[kind]
    for request in (
        Request("x", prefix=odd),
        Request("x", include=((odd,),)),
        Request("x", vocabulary=(odd, "Haus")),
    ):
        with suppress(UserError):
            assert found([request], speller, toy_of(speller, 1), Beam(size=2))
    plain, excluded = (
        found([one], speller, toy_of(speller, 1), Greedy()) for one in (Request("x"), Request("x", exclude=(odd,)))
    )
    assert excluded[0][1] == [True]
    assert excluded[0][0] == plain[0][0] or stands(speller.shown(odd), plain[0][0])


def test_a_line_end_that_bytes_spell_is_a_space() -> None:
    speller = SPELLERS["byte"]
    (tokens,) = speller.tokenizer.encode(["das\nHaus"])
    assert speller.written(tokens) == "das Haus"


def test_what_is_ordered_is_checked_in_order() -> None:
    speller = SPELLERS["character"]
    text = "am See das Haus"
    (tokens,) = speller.tokenizer.encode([text])
    for include, ordered, met in (
        ((("am See",), ("Haus",)), 2, [True, True]),
        ((("Haus",), ("am See",)), 2, [True, False]),
        ((("Haus",), ("am See",)), 1, [True, True]),
        ((("in", "das"), ("alt",), ("Haus",)), 3, [True, False, False]),
        ((("Hau",),), 0, [False]),
        ((("Haus",), ("Haus",)), 0, [True, False]),
        ((("am", "das"), ("das", "am")), 0, [True, True]),
        ((("am See",), ("See das",)), 0, [True, True]),
    ):
        request = Request("x", include=include, ordered=ordered)
        results = checked(request, planned(request, speller), Output(tokens, text, 99), speller)
        assert [one.met for one in results] == met


def test_whole_words() -> None:
    assert list(occurrences("Haus", "Haus, Haustür, das Haus")) == [(0, 4), (19, 23)]
    assert not stands("Haus", "Gartenhaus Haus2 Hausà")
    assert stands("%", "50% von 3")
    assert stands("東京", "私は東京に")
    assert list(occurrences("aa", "aa aaa aa")) == [(0, 2), (7, 9)]


def test_spellings_know_where_words_begin() -> None:
    letters, pieces = SPELLERS["character"], SPELLERS["bpe"]
    (alone,), (space,) = letters.tokenizer.encode(["See"]), letters.tokenizer.encode([" "])
    assert [one.tokens for one in letters.required("See")] == [(BEGIN, *alone), (*space, *alone)]
    assert pieces.required("See") == [Phrase(tuple(pieces.tokenizer.encode(["See"])[0]), bounded=True)]
    assert [one.bounded for one in pieces.excluded("See")] == [False]
    assert [one.bounded for one in letters.excluded("See")] == [True, True]
    assert not SPELLERS["whitespace"].joins.any()
    percent = {tuple(pieces.tokenizer.pieces(one.tokens)) for one in pieces.required("%")}
    assert {"".join(one) for one in percent} == {"▁%", "%"}


def test_mistakes_in_requests_are_told() -> None:
    speller = SPELLERS["bpe"]
    for request, told in (
        (Request("x", include=(("Ω",),)), "never seen"),
        (Request("x", prefix="Ω"), "never seen"),
        (Request("x", include=(("das Haus",),), exclude=("Haus",)), '"das Haus" is to be included, but'),
        (Request("x", prefix="das Haus", exclude=("Haus",)), "prefix"),
    ):
        with pytest.raises(UserError, match=told):
            planned(request, speller)
    kept = planned(Request("x", include=(("das Haus", "See"),), exclude=("Haus",)), speller)
    assert kept.requirements == (tuple(speller.required("See")),)
    assert planned(Request("x", include=(("Ω", "See"),)), speller).requirements == kept.requirements
    with pytest.raises(UserError, match="from its end to its beginning"):
        Speller(speller.tokenizer.backward())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: not JSON"),
        ('"x"', "line 2: should be a JSON object"),
        ("{}", '"text" should be a text, and it is missing'),
        ('{"text": 3}', '"text" should be a text, not 3'),
        ('{"text": "a\\nb"}', "line end"),
        ('{"text": "a", "exlude": ["b"]}', '"exlude" is none of the names.*Is it exclude'),
        ('{"text": "a", "include": "b"}', '"include" should be a list of phrases, as'),
        ('{"text": "a", "include": [[]]}', '"include" should be a list of phrases, not'),
        ('{"text": "a", "exclude": [" "]}', '"exclude" should hold phrases, but one is " "'),
        ('{"text": "a", "prefix": "b", "bias": 1}', '"bias" should be more than 0 and less than 1, not 1'),
        ('{"text": "a", "bias": 0.5}', '"prefix", which is missing'),
        ('{"text": "a", "ordered": 1}', '"ordered" should be true or false, not 1'),
        ('{"text": "a", "ordered": true}', '"ordered" is about the phrases of "include", which is missing'),
        ('{"text": "a", "protect": "urls"}', '^line 2: "protect" should be a list'),
        ('{"text": "a", "exclude": ["b\\nc"]}', '"exclude" has a phrase with a line end in it'),
        ('{"text": "a", "vocabulary": []}', '"vocabulary" should be a list of phrases'),
    ],
)
def test_mistakes_in_json_lines_are_told(line: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        list(read_requests(['{"text": "fine"}', line]))


def test_requests_are_read_from_json_lines() -> None:
    line = '{"text": "a", "prefix": "p", "bias": 0.5, "include": ["b", ["c", "d "]], "ordered": true, "exclude": ["e"]}'
    full = Request("a", "p", 0.5, (("b",), ("c", "d")), 2, ("e",))
    assert list(read_requests([line, "", '{"text": "a", "vocabulary": ["f"]}'])) == [
        full,
        Request(""),
        Request("a", vocabulary=("f",)),
    ]
    nothing = '{"text": "a", "include": [], "exclude": [], "protect": [], "vocabulary": null}'
    assert list(read_requests([nothing])) == [Request("a")]


def glossary_of(folder: Path, text: str) -> Glossary:
    path = folder / "terms.tsv"
    path.write_text(text, "utf-8")
    return read_glossary(path)


def test_a_glossary_is_applied_where_its_terms_stand(tmp_path: Path) -> None:
    wanted = "# terms\n\nhouse\tHaus\nhouse boat\tHausboot|Boot\nApple\tApple\nman\tMann\nman\tHerr\n"
    glossary = glossary_of(tmp_path, wanted + "house\t!Heim\n\t!Dings\n")
    assert glossary.applied(Request("A House.")) == Request("A House.", include=(("Haus",),), exclude=("Dings", "Heim"))
    assert glossary.applied(Request("the house boat")).include == (("Hausboot", "Boot"),)
    assert glossary.applied(Request("houses, an apple")) == Request("houses, an apple", exclude=("Dings",))
    both = glossary.applied(Request("man, Apple, man", include=(("x",),), ordered=1))
    assert both.include == (("x",), ("Mann", "Herr"), ("Apple",))
    assert both.ordered == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("house Haus\n", "line 1: has no tab, but"),
        ("a\tb\nhouse\tHaus\tx\n", "line 2: has 2 tabs, but"),
        ("house\t\n", "line 1: a translation is missing"),
        ("house\tHaus|\n", "line 1: a translation is missing"),
        ("house\t!\n", "line 1: a translation is missing"),
        ("\tHaus\n", "line 1: has no source term"),
        ("# nothing\n", "has no terms"),
        ("hat\tHut|Kappe\nhat\t!Hut\n\t!Kappe\n", '"hat" is to become "Hut" or "Kappe", which another row forbids'),
    ],
)
def test_mistakes_in_glossaries_are_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        glossary_of(tmp_path, text)


def translator(search: Search) -> Translator:
    made = untrained("transformer", search)
    return replace(made, settings=replace(made.settings, length_extra=12))


def test_lines_and_requests_are_translated_together() -> None:
    model = translator(Beam(size=3))
    plain = model.translate([SENTENCE, "a dog", SENTENCE])
    asking = Request(SENTENCE, prefix="the cat", include=(("red dog",),), exclude=("a",))
    guided_ = model.translate([SENTENCE, "a dog", asking])
    assert guided_[:2] == plain[:2]
    assert [one.asked for one in guided_[2].checked] == ["prefix", "include", "exclude"]
    assert all(one.met for one in guided_[2].checked)
    assert guided_[2].text.startswith("the cat")
    assert "red dog" in guided_[2].text


def test_a_blank_line_is_told_only_what_it_asks_for_itself() -> None:
    model, asking = translator(Beam(size=2)), Asking(prefix="the", as_json=True)
    blank, own = model.translate(asking(["", '{"text": " ", "include": ["dog"], "exclude": ["cat"]}']))
    assert (blank.text, blank.checked) == ("", ())
    assert own.text == ""
    assert [(one.asked, one.met) for one in own.checked] == [("include", False), ("exclude", True)]


def test_repeats_and_short_outputs_are_avoided_by_settings() -> None:
    model = translator(Greedy())
    settings = replace(model.settings, block_repeats=2, least_factor=0.5, least_extra=4)
    (line,) = replace(model, settings=settings).translate([SENTENCE])
    pieces = line.alternatives[0].pieces[:-1]
    pairs = list(pairwise(pieces))
    assert len(pairs) == len(set(pairs))
    assert len(pieces) >= 7
    (free,) = model.translate([SENTENCE])
    assert free.alternatives[0].pieces != line.alternatives[0].pieces


def test_settings_hold_the_end_back() -> None:
    model, toy = translator(Greedy()), Toy(1)
    settings = replace(model.settings, least_factor=0.5)
    step, state = replace(model, settings=settings)._finder._guided(
        (toy, toy.start(2)), [Plan()] * 2, torch.tensor([2, 1]), torch.tensor([9, 9])
    )
    scores, _ = step(torch.tensor([BEGIN, BEGIN]), state)
    assert scores.log_probs[:, END].isneginf().tolist() == [True, False]


def test_what_does_not_fit_is_told_with_its_line() -> None:
    long = Request("a dog", include=((" ".join([SENTENCE] * 9),),))
    with pytest.raises(UserError, match=r"^line 2: what is asked for takes \d+ pieces"):
        translator(Beam()).translate(["a dog", long])
    clash = Request("a dog", include=(("dog",),), exclude=("dog",))
    with pytest.raises(UserError, match=r'^line 2: "dog" is to be included, but'):
        translator(Beam()).translate(["a dog", clash])


def test_models_that_cannot_be_guided_say_so(tmp_path: Path) -> None:
    model = translator(Beam())
    reading = replace(model, reading=cast(Reading, "a reading"))
    with pytest.raises(UserError, match="no decoder whose steps could be guided"):
        reading.translate([Request("a dog", prefix="a")])
    with pytest.raises(UserError, match=r"translate.block_repeats is 2, but this model has no decoder"):
        check_guided(
            cast(Trained, SimpleNamespace(model=SimpleNamespace(has_decoder=False))), Translate(block_repeats=2)
        )
    pictures = model.trained._replace(source_tokenizer=cast(Reader, SimpleNamespace(reads="pictures")))
    with pytest.raises(UserError, match="reads pictures"):
        write_translations(
            replace(model, trained=pictures), tmp_path / "x", None, as_json=False, asking=Asking(as_json=True)
        )


def test_unmet_lines_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    requests = [
        {"text": "a dog"},
        {"text": "a dog", "prefix": "red", "bias": 1e-9},
        {"text": "a cat", "include": ["dog"]},
    ]
    source.write_text("".join(json.dumps(one) + "\n" for one in requests), "utf-8")
    write_translations(translator(Beam(size=2)), source, output, as_json=True, asking=Asking(as_json=True))
    records = [json.loads(line) for line in output.read_text("utf-8").split("\n")[:-1]]
    assert "asked" not in records[0]
    assert records[2]["asked"] == [{"asked": "include", "phrases": ["dog"], "met": True, "forced": False}]
    assert "what was asked for is not met in 1 line: 2" in capsys.readouterr().err
