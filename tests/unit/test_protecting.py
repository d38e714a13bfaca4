"""Spans that must come out as they went in, whatever the model."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from unit.models import BAHDANAU, CTC, TRANSFORMER, letters, saved, untrained
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.translate import parse_protect, translate
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request
from weft.decoding.constraints.request_reader import parse_request
from weft.decoding.greedy import GreedySearch
from weft.decoding.search import Search
from weft.inference.loader import make_frame_decoder
from weft.inference.placeholders import report_protected_spans, require_spans
from weft.inference.postprocessor import OutputOptions
from weft.inference.translator import Translator
from weft.text.protected_spans import SPAN_KINDS, SPAN_PATTERNS, find_spans, parse_span_kinds, spans_preserved
from weft.text.tokenizer_training import BPETokenizerTrainer, TokenizerTrainer, WordTokenizerTrainer
from weft.text.word_alignment import word_index_pairs

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


def model(learner: TokenizerTrainer, family: dict[str, object] = BAHDANAU) -> TrainedModel:
    tokenizer = learner.train([*sentences(30, 2), *WORDS])
    return untrained(family, target=tokenizer, translate={"max_length_factor": 1.2, "max_length_extra": 2})


def protecting(trained: TrainedModel, search: Search, lines: list[str]) -> tuple[list[str], set[str]]:
    """The texts, and the ways in which spans were protected."""
    translator = Translator(trained, search, trained.recipe.translate)
    translations = translator.translate([Request(line, protect=SPAN_KINDS) for line in lines])
    for line, one in zip(lines, translations, strict=True):
        spans = find_spans(line, SPAN_KINDS)
        assert all(spans_preserved(spans, one.text)), (line, one.text)
        assert [(span.kind, span.text) for span in spans] == [(kept.kind, kept.text) for kept in one.protected]
        assert one.constraint_checks == ()
    return [one.text for one in translations], {kept.method for one in translations for kept in one.protected}


@pytest.mark.slow
def test_every_span_of_500_sentences_survives_the_command(tmp_path: Path) -> None:
    """Byte for byte, and each as often as it stands in the source."""
    folder = saved(tmp_path / "model", model(BPETokenizerTrainer(vocab_size=400, min_frequency=1)))
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_bytes("".join(f"{line}\n" for line in SENTENCES).encode())
    translate(folder, source, output, json=True, protect="all", beam=2)
    records = [json.loads(line) for line in output.read_bytes().split(b"\n")[:-1]]
    assert [record["source"] for record in records] == SENTENCES
    counts, ways = Counter[str](), Counter[str]()
    for record in records:
        protected = [one["text"] for one in record.get("protected", [])]
        assert protected == [span.text for span in find_spans(record["source"], SPAN_KINDS)]
        for text, count in Counter(protected).items():
            assert record["text"].encode().count(text.encode()) >= count, record
        counts.update(protected)
        ways.update(one["method"] for one in record.get("protected", []))
    assert {example for examples in EXAMPLES.values() for example in examples} <= set(counts)
    assert min(ways["search"], ways["split"]) > 50


@pytest.mark.parametrize("search", [BeamSearch(size=2), GreedySearch()], ids=["beam", "greedy"])
def test_what_cannot_be_spelled_survives(search: Search) -> None:
    """A tokenizer of words, without capital letters and without most of the spans."""
    _, ways = protecting(
        model(WordTokenizerTrainer(min_frequency=1, lowercase=True), TRANSFORMER), search, SENTENCES[:60]
    )
    assert "split" in ways


def test_a_model_without_a_decoder_and_one_that_writes_backward() -> None:
    trained = untrained(CTC)
    translator = Translator(
        trained,
        GreedySearch(),
        trained.recipe.translate,
        make_frame_decoder(trained, trained.recipe.translate.frame_decoder, ""),
    )
    [one] = translator.translate([Request("abc http://a.b/c, de {x}", protect=SPAN_KINDS)])
    assert all(spans_preserved(find_spans("http://a.b/c {x}", SPAN_KINDS), one.text))
    backward = untrained(BAHDANAU, target=letters().reversed())
    [text], ways = protecting(backward, BeamSearch(size=2), ["abc 5 de"])
    assert " 5 " in text
    assert ways == {"split"}


def test_examples_are_found_and_others_are_not() -> None:
    for kind in SPAN_KINDS:
        for example in EXAMPLES[kind]:
            assert [span[:2] for span in find_spans(f"ab {example} cd", [kind])] == [(kind, example)]
    for other in OTHERS:
        assert [span.text for span in find_spans(other, SPAN_KINDS)] in ([], ["100"], ["5.50"], ["3"]), other
    assert [span.text for span in find_spans('<a href="http://x.y/z">5</a>', SPAN_KINDS)] == [
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
    assert spans_preserved(find_spans(source, SPAN_KINDS), output) == kept


def test_what_else_a_line_asks_for_is_told_apart() -> None:
    trained = model(BPETokenizerTrainer(vocab_size=400, min_frequency=1))
    translator = Translator(
        trained, BeamSearch(size=3), trained.recipe.translate, output_options=OutputOptions(alignment=True)
    )
    asked = Request("", "the", include=(("dog",),), exclude=("house",), protect=SPAN_KINDS)
    by_search, by_cutting, copied = translator.translate(
        [
            replace(asked, text="the cat sees 5 5 dogs"),
            replace(asked, text="cat sees \ue000 https://a.org/\ue000 5"),
            Request("{x}, <b>5</b>", protect=SPAN_KINDS),
        ]
    )
    assert {one.method for one in by_search.protected} == {"search"}
    for one in (by_search, by_cutting):
        assert [(wish.kind, wish.met) for wish in one.constraint_checks] == [
            ("prefix", True),
            ("include", True),
            ("exclude", True),
        ]
    assert copied.text == copied.source
    assert word_index_pairs(copied.alignment or (), copied.source, copied.text) == [(0, 0), (1, 1)]
    assert sum(by_cutting.alternatives[0].token_scores) == pytest.approx(by_cutting.score)


def test_a_span_that_is_also_asked_for_is_said_once() -> None:
    asked = require_spans(Request("5 5 {x}", include=(("5",), ("a", "b"))), find_spans("5 5 {x}", SPAN_KINDS))
    assert asked.include == (("5",), ("a", "b"), ("5",), ("{x}",))
    trained = model(BPETokenizerTrainer(vocab_size=400, min_frequency=1))
    translator = Translator(trained, BeamSearch(size=3), trained.recipe.translate)
    [one] = translator.translate([Request("the cat sees 5 dogs", include=(("5",),), protect=SPAN_KINDS)])
    assert [wish.met for wish in one.constraint_checks] == [True]
    assert [kept.text for kept in one.protected] == ["5"]


def test_spans_survive_in_every_alternative() -> None:
    trained, lines = (
        model(BPETokenizerTrainer(vocab_size=400, min_frequency=1)),
        [f"the cat sees {{x}} and {number}" for number in range(8)],
    )
    translator = Translator(trained, BeamSearch(size=4, n_best=4), trained.recipe.translate)
    found = translator.translate([Request(line, protect=SPAN_KINDS) for line in lines])
    assert max(len(one.alternatives) for one in found) > 1
    for line, one in zip(lines, found, strict=True):
        spans = find_spans(line, SPAN_KINDS)
        assert all(all(spans_preserved(spans, other.text)) for other in one.alternatives)
    best = found[0].alternatives[0]
    both = replace(found[0], alternatives=(best, best._replace(text="the cat")))
    assert report_protected_spans(both, Request(lines[0]), find_spans(lines[0], SPAN_KINDS)).alternatives == (best,)


def test_the_batch_changes_nothing() -> None:
    trained, lines = model(BPETokenizerTrainer(vocab_size=400, min_frequency=1)), SENTENCES[:12]
    together, _ = protecting(trained, BeamSearch(size=2), lines)
    assert together == [protecting(trained, BeamSearch(size=2), [line])[0][0] for line in lines]


def test_kinds_have_names() -> None:
    assert parse_protect(None) == ()
    assert parse_protect("all") == SPAN_KINDS
    assert parse_protect("numbers, urls") == ("urls", "numbers")
    with pytest.raises(UserError, match=r"--protect url: \"url\" is not a kind of span; did you mean \"urls\""):
        parse_protect("url")
    assert parse_span_kinds(["numbers", "urls", "urls"]) == ("urls", "numbers")
    assert set(SPAN_PATTERNS) == set(SPAN_KINDS)
    assert parse_request('{"text": "a", "protect": ["urls"]}').protect == ("urls",)
    with pytest.raises(UserError, match='"protect": "number" is not a kind of span'):
        parse_request('{"text": "a", "protect": ["number"]}')
