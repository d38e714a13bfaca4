"""Spans that must come out as they went in, whatever the model."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from unit.models import BAHDANAU, CTC, TRANSFORMER, letters, saved, untrained
from weft.cli.asking import kinds_in
from weft.cli.translate import translate
from weft.control.json_lines import read_request
from weft.control.request import Request
from weft.control.spans import KINDS, PATTERNS, find_spans, kinds_of, survived
from weft.core.errors import UserError
from weft.engine.protecting import required, told
from weft.engine.reading import reading_of
from weft.engine.translator import Translator
from weft.engine.wanted import Wanted
from weft.search.beam import Beam
from weft.search.greedy import Greedy
from weft.search.role import Search
from weft.store.model_folder import Trained
from weft.text.alignment import numbered
from weft.text.learners import BPE, Learner, Word

WORDS = ["the", "cat", "sees", "a", "red", "dog", "(old)", "house,"]
EXAMPLES = {
    "urls": ["https://a.org/x?y=1", "www.b.de/ü", "http://c.net/"],
    "emails": ["me@a.org", "x.y+z@b-c.de"],
    "placeholders": ["{name}", "{0}", "{{ x }}", "%s", "%1$d", "%(count)s", "$1", "${x}"],
    "numbers": ["5", "1,000.5", "12:30", "3", "5"],
    "markup": ["<b>", "</b>", "<br/>", '<a href="x">', "&amp;"],
}
OTHERS = ["x1", "3rd", "1.5km", "a@b", "100%", "$5.50", "< 3"]


def sentences(count: int, seed: int) -> list[str]:
    draws = Random(seed)
    spans = [span for examples in EXAMPLES.values() for span in examples]

    def parts() -> list[str]:
        words = [draws.choice(draws.choice([WORDS, WORDS, spans, OTHERS])) for _ in range(draws.randrange(1, 8))]
        return [word + draws.choice([" ", " ", " ", "", ", ", "."]) for word in words]

    return ["".join(parts()) for _ in range(count)]


SENTENCES = sentences(500, 1)


def model(learner: Learner, family: dict[str, object] = BAHDANAU) -> Trained:
    tokenizer = learner.learn([*sentences(30, 2), *WORDS])
    return untrained(family, target=tokenizer, translate={"length_factor": 1.2, "length_extra": 2})


def protecting(trained: Trained, search: Search, lines: list[str]) -> tuple[list[str], set[str]]:
    """The texts, and the ways in which spans were protected."""
    translator = Translator(trained, search, trained.recipe.translate)
    translations = translator.translate([Request(line, protect=KINDS) for line in lines])
    for line, one in zip(lines, translations, strict=True):
        spans = find_spans(line, KINDS)
        assert all(survived(spans, one.text)), (line, one.text)
        assert [(span.kind, span.text) for span in spans] == [(kept.kind, kept.text) for kept in one.protected]
        assert one.checked == ()
    return [one.text for one in translations], {kept.by for one in translations for kept in one.protected}


@pytest.mark.slow
def test_every_span_of_500_sentences_survives_the_command(tmp_path: Path) -> None:
    """Byte for byte, and each as often as it stands in the source."""
    folder = saved(tmp_path / "model", model(BPE(size=400, min_count=1)))
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_bytes("".join(f"{line}\n" for line in SENTENCES).encode())
    translate(folder, source, output, json=True, protect="all", beam=2)
    records = [json.loads(line) for line in output.read_bytes().split(b"\n")[:-1]]
    assert [record["source"] for record in records] == SENTENCES
    counts, ways = Counter[str](), Counter[str]()
    for record in records:
        protected = [one["text"] for one in record.get("protected", [])]
        assert protected == [span.text for span in find_spans(record["source"], KINDS)]
        for text, count in Counter(protected).items():
            assert record["text"].encode().count(text.encode()) >= count, record
        counts.update(protected)
        ways.update(one["by"] for one in record.get("protected", []))
    assert {example for examples in EXAMPLES.values() for example in examples} <= set(counts)
    assert min(ways["search"], ways["cutting"]) > 50


@pytest.mark.parametrize("search", [Beam(size=2), Greedy()], ids=["beam", "greedy"])
def test_what_cannot_be_spelled_survives(search: Search) -> None:
    """A tokenizer of words, without capital letters and without most of the spans."""
    _, ways = protecting(model(Word(min_count=1, lowercase=True), TRANSFORMER), search, SENTENCES[:60])
    assert "cutting" in ways


def test_a_model_without_a_decoder_and_one_that_writes_backward() -> None:
    trained = untrained(CTC)
    translator = Translator(
        trained, Greedy(), trained.recipe.translate, reading_of(trained, trained.recipe.translate.reading, "")
    )
    [one] = translator.translate([Request("abc http://a.b/c, de {x}", protect=KINDS)])
    assert all(survived(find_spans("http://a.b/c {x}", KINDS), one.text))
    backward = untrained(BAHDANAU, target=letters().backward())
    [text], ways = protecting(backward, Beam(size=2), ["abc 5 de"])
    assert " 5 " in text
    assert ways == {"cutting"}


def test_examples_are_found_and_others_are_not() -> None:
    for kind in KINDS:
        for example in EXAMPLES[kind]:
            assert [span[:2] for span in find_spans(f"ab {example} cd", [kind])] == [(kind, example)]
    for other in OTHERS:
        assert [span.text for span in find_spans(other, KINDS)] in ([], ["100"], ["5.50"], ["3"]), other
    assert [span.text for span in find_spans('<a href="http://x.y/z">5</a>', KINDS)] == [
        '<a href="http://x.y/z">',
        "5",
        "</a>",
    ]
    assert [span.text for span in find_spans("see www.x.de/5.", ["numbers", "urls"])] == ["www.x.de/5"]


@pytest.mark.parametrize(
    ("source", "output", "kept"),
    [
        ("5 and 5", "5 und 5", [True, True]),
        ("5 and 5", "5 und 15", [True, False]),
        ("1.5", "1.5.3", [False]),
        ("{x} ${x}", "${x}", [False, True]),
        ("see http://a.b/c", "http://a.b/cd", [False]),
        ("&amp;", "<x &amp; >", [True]),
        ("x@www.b.de www.b.de/üü", "x@www.b.de/üü", [False, True]),
    ],
)
def test_what_survives(source: str, output: str, kept: list[bool]) -> None:
    assert survived(find_spans(source, KINDS), output) == kept


def test_what_else_a_line_asks_for_is_told_apart() -> None:
    trained = model(BPE(size=400, min_count=1))
    translator = Translator(trained, Beam(size=3), trained.recipe.translate, wanted=Wanted(alignment=True))
    asked = Request("", "the", include=(("dog",),), exclude=("house",), protect=KINDS)
    by_search, by_cutting, copied = translator.translate(
        [
            replace(asked, text="the cat sees 5 5 dogs"),
            replace(asked, text="cat sees \ue000 https://a.org/\ue000 5"),
            Request("{x}, <b>5</b>", protect=KINDS),
        ]
    )
    assert {one.by for one in by_search.protected} == {"search"}
    for one in (by_search, by_cutting):
        assert [(wish.asked, wish.met) for wish in one.checked] == [
            ("prefix", True),
            ("include", True),
            ("exclude", True),
        ]
    assert copied.text == copied.source
    assert numbered(copied.links or (), copied.source, copied.text) == [(0, 0), (1, 1)]
    assert sum(by_cutting.alternatives[0].piece_scores) == pytest.approx(by_cutting.score)


def test_a_span_that_is_also_asked_for_is_said_once() -> None:
    asked = required(Request("5 5 {x}", include=(("5",), ("a", "b"))), find_spans("5 5 {x}", KINDS))
    assert asked.include == (("5",), ("a", "b"), ("5",), ("{x}",))
    trained = model(BPE(size=400, min_count=1))
    translator = Translator(trained, Beam(size=3), trained.recipe.translate)
    [one] = translator.translate([Request("the cat sees 5 dogs", include=(("5",),), protect=KINDS)])
    assert [wish.met for wish in one.checked] == [True]
    assert [kept.text for kept in one.protected] == ["5"]


def test_spans_survive_in_every_alternative() -> None:
    trained, lines = model(BPE(size=400, min_count=1)), [f"the cat sees {{x}} and {number}" for number in range(8)]
    translator = Translator(trained, Beam(size=4, best=4), trained.recipe.translate)
    found = translator.translate([Request(line, protect=KINDS) for line in lines])
    assert max(len(one.alternatives) for one in found) > 1
    for line, one in zip(lines, found, strict=True):
        spans = find_spans(line, KINDS)
        assert all(all(survived(spans, other.text)) for other in one.alternatives)
    best = found[0].alternatives[0]
    both = replace(found[0], alternatives=(best, best._replace(text="the cat")))
    assert told(both, Request(lines[0]), find_spans(lines[0], KINDS)).alternatives == (best,)


def test_the_batch_changes_nothing() -> None:
    trained, lines = model(BPE(size=400, min_count=1)), SENTENCES[:12]
    together, _ = protecting(trained, Beam(size=2), lines)
    assert together == [protecting(trained, Beam(size=2), [line])[0][0] for line in lines]


def test_kinds_have_names() -> None:
    assert kinds_in(None) == ()
    assert kinds_in("all") == KINDS
    assert kinds_in("numbers, urls") == ("urls", "numbers")
    with pytest.raises(UserError, match=r"--protect url: \"url\" is no kind of span: .* Is it urls\?"):
        kinds_in("url")
    assert kinds_of(["numbers", "urls", "urls"]) == ("urls", "numbers")
    assert set(PATTERNS) == set(KINDS)
    assert read_request('{"text": "a", "protect": ["urls"]}').protect == ("urls",)
    with pytest.raises(UserError, match='"protect": "number" is no kind of span'):
        read_request('{"text": "a", "protect": ["number"]}')
