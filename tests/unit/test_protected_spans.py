"""Protected spans: URLs, emails, placeholders, numbers and markup are copied to the output unchanged."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from unit.models import BAHDANAU, CTC, TRANSFORMER, letter_tokenizer, save_model_folder, untrained_model
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.translate import parse_protect, translate
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request, parse_request
from weft.decoding.greedy import GreedySearch
from weft.decoding.search import Search
from weft.inference.loader import make_frame_decoder
from weft.inference.placeholders import report_protected_spans, require_spans
from weft.inference.postprocessor import OutputOptions
from weft.inference.translator import Translator
from weft.text.span_patterns import SPAN_KINDS, SPAN_PATTERNS, find_spans, parse_span_kinds, spans_preserved
from weft.text.tokenizer_training import BPETokenizerTrainer, TokenizerTrainer, WordTokenizerTrainer
from weft.text.word_alignment import word_index_pairs

WORDS = ["the", "cat", "sees", "a", "red", "dog", "(old)", "house,"]
EXAMPLES = {
    "urls": ["https://a.org/x?y=1", "www.b.de/ü", "http://c.net/"],
    "emails": ["me@a.org", "x.y+z@b-c.de"],
    "placeholders": ["{name}", "{0}", "{{ x }}", "%s", "%1$d", "%(count)s", "$1", "${x}"],
    "numbers": ["5", "1,000.5", "12:30", "3", "5"],
    "emoji": ["👍", "🇩🇪"],
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


def model(trainer: TokenizerTrainer, family: dict[str, object] = BAHDANAU) -> TrainedModel:
    tokenizer = trainer.train([*sentences(30, 2), *WORDS])
    return untrained_model(family, target=tokenizer, translate={"max_length_factor": 1.2, "max_length_extra": 2})


def translate_protected(trained: TrainedModel, search: Search, lines: list[str]) -> tuple[list[str], set[str]]:
    """Translate with all spans protected; return the texts and the methods that protected the spans."""
    translator = Translator(trained, search, trained.recipe.translate)
    translations = translator.translate([Request(line, protect=SPAN_KINDS) for line in lines])
    for line, translation in zip(lines, translations, strict=True):
        spans = find_spans(line, SPAN_KINDS)
        assert all(spans_preserved(spans, translation.text)), (line, translation.text)
        assert [(span.kind, span.text) for span in spans] == [(span.kind, span.text) for span in translation.protected]
        assert translation.constraint_checks == ()
    return [translation.text for translation in translations], {
        span.method for translation in translations for span in translation.protected
    }


@pytest.mark.slow
def test_translate_command_preserves_every_span_of_500_sentences(tmp_path: Path) -> None:
    """Byte for byte, and at least as often as in the source."""
    folder = save_model_folder(tmp_path / "model", model(BPETokenizerTrainer(vocab_size=400, min_frequency=1)))
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_bytes("".join(f"{line}\n" for line in SENTENCES).encode())
    translate(folder, source, output, json=True, protect="all", beam=2)
    records = [json.loads(line) for line in output.read_bytes().split(b"\n")[:-1]]
    assert [record["source"] for record in records] == SENTENCES
    counts, methods = Counter[str](), Counter[str]()
    for record in records:
        protected = [span["text"] for span in record.get("protected", [])]
        assert protected == [span.text for span in find_spans(record["source"], SPAN_KINDS)]
        for text, count in Counter(protected).items():
            assert record["text"].encode().count(text.encode()) >= count, record
        counts.update(protected)
        methods.update(span["method"] for span in record.get("protected", []))
    assert {example for examples in EXAMPLES.values() for example in examples} <= set(counts)
    assert min(methods["search"], methods["split"]) > 50


@pytest.mark.parametrize("search", [BeamSearch(size=2), GreedySearch()], ids=["beam", "greedy"])
def test_spans_outside_the_vocabulary_are_preserved(search: Search) -> None:
    """A lowercase word tokenizer that lacks most of the spans."""
    _, methods = translate_protected(
        model(WordTokenizerTrainer(min_frequency=1, lowercase=True), TRANSFORMER), search, SENTENCES[:60]
    )
    assert "split" in methods


def test_ctc_and_right_to_left_models_preserve_spans() -> None:
    trained = untrained_model(CTC)
    translator = Translator(
        trained,
        GreedySearch(),
        trained.recipe.translate,
        make_frame_decoder(trained, trained.recipe.translate.frame_decoder, ""),
    )
    [translation] = translator.translate([Request("abc http://a.b/c, de {x}", protect=SPAN_KINDS)])
    assert all(spans_preserved(find_spans("http://a.b/c {x}", SPAN_KINDS), translation.text))
    backward = untrained_model(BAHDANAU, target=letter_tokenizer().reversed())
    [text], methods = translate_protected(backward, BeamSearch(size=2), ["abc 5 de"])
    assert " 5 " in text
    assert methods == {"split"}


def test_spans_are_found() -> None:
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
    ("source", "output", "preserved"),
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
def test_preserved_spans_are_detected(source: str, output: str, preserved: list[bool]) -> None:
    assert spans_preserved(find_spans(source, SPAN_KINDS), output) == preserved


def test_other_constraints_are_checked_separately() -> None:
    trained = model(BPETokenizerTrainer(vocab_size=400, min_frequency=1))
    translator = Translator(
        trained, BeamSearch(size=3), trained.recipe.translate, output_options=OutputOptions(alignment=True)
    )
    request = Request("", "the", include=(("dog",),), exclude=("house",), protect=SPAN_KINDS)
    by_search, by_splitting, copied = translator.translate(
        [
            replace(request, text="the cat sees 5 5 dogs"),
            replace(request, text="cat sees \ue000 https://a.org/\ue000 5"),
            Request("{x}, <b>5</b>", protect=SPAN_KINDS),
        ]
    )
    assert {span.method for span in by_search.protected} == {"search"}
    for translation in (by_search, by_splitting):
        assert [(check.kind, check.met) for check in translation.constraint_checks] == [
            ("prefix", True),
            ("include", True),
            ("exclude", True),
        ]
    assert copied.text == copied.source
    assert word_index_pairs(copied.alignment or (), copied.source, copied.text) == [(0, 0), (1, 1)]
    assert sum(by_splitting.alternatives[0].token_scores) == pytest.approx(by_splitting.score)


def test_required_span_is_not_repeated() -> None:
    request = require_spans(Request("5 5 {x}", include=(("5",), ("a", "b"))), find_spans("5 5 {x}", SPAN_KINDS))
    assert request.include == (("5",), ("a", "b"), ("5",), ("{x}",))
    trained = model(BPETokenizerTrainer(vocab_size=400, min_frequency=1))
    translator = Translator(trained, BeamSearch(size=3), trained.recipe.translate)
    [translation] = translator.translate([Request("the cat sees 5 dogs", include=(("5",),), protect=SPAN_KINDS)])
    assert [check.met for check in translation.constraint_checks] == [True]
    assert [span.text for span in translation.protected] == ["5"]


def test_every_alternative_preserves_spans() -> None:
    trained, lines = (
        model(BPETokenizerTrainer(vocab_size=400, min_frequency=1)),
        [f"the cat sees {{x}} and {number}" for number in range(8)],
    )
    translator = Translator(trained, BeamSearch(size=4, n_best=4), trained.recipe.translate)
    translations = translator.translate([Request(line, protect=SPAN_KINDS) for line in lines])
    assert max(len(translation.alternatives) for translation in translations) > 1
    for line, translation in zip(lines, translations, strict=True):
        spans = find_spans(line, SPAN_KINDS)
        assert all(all(spans_preserved(spans, other.text)) for other in translation.alternatives)
    best = translations[0].alternatives[0]
    both = replace(translations[0], alternatives=(best, best._replace(text="the cat")))
    assert report_protected_spans(both, Request(lines[0]), find_spans(lines[0], SPAN_KINDS)).alternatives == (best,)


def test_protection_does_not_depend_on_the_batch() -> None:
    trained, lines = model(BPETokenizerTrainer(vocab_size=400, min_frequency=1)), SENTENCES[:12]
    together, _ = translate_protected(trained, BeamSearch(size=2), lines)
    assert together == [translate_protected(trained, BeamSearch(size=2), [line])[0][0] for line in lines]


def test_span_kinds_are_parsed() -> None:
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
