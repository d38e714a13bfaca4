"""Spans in translation: each is in the output once, with elements nested, whatever the model returns."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from unit.models import BAHDANAU, CTC, SUTSKEVER, TRANSFORMER, save_model_folder, untrained_model
from weft.cli.translate import parse_protect
from weft.core.errors import UserError
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request, parse_request
from weft.decoding.greedy import GreedySearch
from weft.inference.backends import BackendOptions, select_backend
from weft.inference.loader import load_translator, make_frame_decoder
from weft.inference.postprocessor import DEFAULT_OUTPUT, OutputOptions
from weft.inference.span_translation import DEFAULT_KINDS, has_tag_tokens, is_nested, prepare_sentence
from weft.inference.text_translator import TextTranslator
from weft.inference.translation import Alternative, Translation
from weft.inference.translator import Translator
from weft.text.marked_text import CLOSE_TAGS, OPEN_TAGS, SINGLE_TAGS, TAGS, MarkedText
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import SPAN_KINDS, Span, find_spans, parse_span_kinds
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import CharacterTokenizerTrainer

WORDS = ["ab", "c", "Abc.", "de,", "(a)", "B?", "a\u2028b", "e\u0301"]
SINGLES = ["{a}", "%s", "%1$d", "https://a.b/c", "me@a.org", "👍", "<br/>", "&amp;", "5", "{{ x }}", "%", "[X1X]"]
TAG_LETTERS = "".join(TAGS)


def tokenizer(extra: str = TAG_LETTERS) -> Tokenizer:
    return CharacterTokenizerTrainer().train(["abcde .,()?", extra])


def line(draws: Random) -> str:
    """Draw a line of words and spans, some of them in elements, with and without spaces between them."""
    pieces, opened = list[str](), list[str]()
    for _ in range(draws.randrange(0, 14)):
        kind = draws.randrange(6)
        if kind == 0 and len(opened) < 4:
            opened.append(draws.choice("bi"))
            pieces.append(f"<{opened[-1]}>")
        elif kind == 1 and opened:
            pieces.append(f"</{opened.pop()}>")
        elif kind == 2:
            pieces.append(draws.choice(SINGLES))
        else:
            pieces.append(draws.choice(WORDS))
        pieces.append(draws.choice(["", " ", " "]))
    return "".join([*pieces, *(f"</{name}>" for name in reversed(opened) if draws.random() < 0.8)])


def lines(count: int, seed: int = 1) -> list[str]:
    draws = Random(seed)
    many = " ".join(f"<b>{{a{number}}} ab</b>" for number in range(20)) + " %s" * 20
    return ["", " ", "{a}", many, "ab " * 300 + "{a}", f"a{TAGS[0]}b", *(line(draws) for _ in range(count))]


def check(source: str, translation: Translation, spans: Sequence[Span]) -> None:
    """Every span is there once, where the translation says, and elements are nested as in the source."""
    found = translation.spans
    assert translation.source == source
    assert [translation.text[span.first : span.end] for span in found] == [span.text for span in found], source
    assert Counter((span.kind, span.text) for span in found) == Counter((span.kind, span.text) for span in spans), (
        source
    )
    assert [(span.kind, span.text) for span in translation.protected] == [(span.kind, span.text) for span in spans]
    assert all(one.end <= other.first for one, other in pairwise(found))
    opened = list[str]()
    for span in found:
        if span.role == "open":
            opened.append(span.text)
        elif span.role == "close":
            assert opened.pop() == span.text.replace("/", ""), (source, translation.text)
    assert not opened
    outside = "".join(part for part in MarkedText(translation.text, found).parts() if isinstance(part, str))
    assert not set(TAGS).intersection(outside)


def make_translator(family: dict[str, Any], target: Tokenizer, **settings: Any) -> Translator:
    translate = {"max_length_factor": 1.1, "max_length_extra": 2, "batch_tokens": 512}
    source = None if target.order == "forward" else tokenizer()
    trained = untrained_model(family, source=source, target=target, translate=translate)
    frame_decoder = make_frame_decoder(trained, trained.recipe.translate.frame_decoder, "")
    return Translator(trained, settings.pop("search", BeamSearch(size=2)), trained.recipe.translate, frame_decoder)


def translate_all(translator: TextTranslator, sources: Sequence[str]) -> set[str]:
    """Translate lines with all spans protected, check them, and return the methods that placed spans."""
    methods = set[str]()
    requests = [Request(source, protect=SPAN_KINDS) for source in sources]
    for source, translation in zip(sources, translator.stream(requests), strict=True):
        check(source, translation, find_spans(source, SPAN_KINDS))
        methods.update(span.method for span in translation.protected)
    return methods


@pytest.mark.parametrize("family", [TRANSFORMER, BAHDANAU], ids=["transformer", "bahdanau"])
@pytest.mark.parametrize("extra", ["", TAG_LETTERS], ids=["plain", "tags"])
def test_every_span_is_in_the_output_once(family: dict[str, Any], extra: str) -> None:
    translator = make_translator(family, tokenizer(extra)).for_text()
    assert translator.has_tag_tokens == bool(extra)
    assert translate_all(translator, lines(60)) >= {"copy", "alignment"}
    assert translate_all(replace(translator, splitter=None), lines(30, 2)) >= {"copy", "alignment"}


@pytest.mark.parametrize("family", [SUTSKEVER, CTC], ids=["sutskever", "ctc"])
def test_models_without_attention_cut_lines_at_spans(family: dict[str, Any]) -> None:
    for extra in ("", TAG_LETTERS):
        assert "split" in translate_all(make_translator(family, tokenizer(extra)).for_text(), lines(30))


def test_greedy_search_and_right_to_left_models_keep_spans() -> None:
    for target in (tokenizer(""), tokenizer()):
        translate_all(make_translator(BAHDANAU, target, search=GreedySearch()).for_text(), lines(20))
    backward = make_translator(BAHDANAU, tokenizer().reversed()).for_text()
    assert backward.has_tag_tokens
    translate_all(backward, lines(20))


@pytest.mark.parametrize("extra", ["", TAG_LETTERS], ids=["plain", "tags"])
def test_ctranslate2_keeps_spans(tmp_path: Path, extra: str) -> None:
    trained = untrained_model(TRANSFORMER, target=tokenizer(extra), translate={"max_length_factor": 1.1})
    folder = save_model_folder(tmp_path / "model", trained)

    def load() -> Translator:
        return load_translator(folder)

    backend, reason = select_backend(folder, BackendOptions("ctranslate2", None, 2, ()), load)
    assert reason.startswith("ctranslate2")
    translate_all(TextTranslator(backend, load, SentenceSplitter()), lines(30))


class EchoBackend:
    """Returns what it reads, or its outputs, as the n-best list of each line."""

    concurrency = 1

    def __init__(self, outputs: Sequence[str] | None = None):
        self.outputs, self.read = outputs, list[str]()
        self.source_codec = self.target_tokenizer = tokenizer()

    def stream(self, requests: Iterable[Request]) -> Iterator[Translation]:
        for request in requests:
            self.read.append(request.text)
            texts = [request.text] if self.outputs is None else self.outputs
            yield Translation(request.text, tuple(Alternative(text, 0.0, (), (), True) for text in texts))


def echo(text: str, outputs: Sequence[str] | None = None) -> tuple[Translation, str]:
    """Translate a line; return also what the model read."""
    backend: Any = EchoBackend(outputs)
    [translation] = TextTranslator(backend, make_no_torch).stream([text])
    check(text, translation, find_spans(text, DEFAULT_KINDS))
    return translation, backend.read[0]


def make_no_torch() -> Translator:
    raise AssertionError("torch is not needed")


def test_model_reads_tags_and_places_them() -> None:
    single, other, start, end = SINGLE_TAGS[0], SINGLE_TAGS[1], OPEN_TAGS[0], CLOSE_TAGS[0]
    text = "See <b>{n} files</b> at https://a.b/c."
    translation, read = echo(text, [f"{other} a {start}b {single}{end}!", f"{start}{single}{end} {other}"])
    assert read == f"See {start}{single} files{end} at {other}."
    assert translation.text == "https://a.b/c a <b>b {n}</b>!"
    assert [one.text for one in translation.alternatives[1:]] == ["<b>{n}</b> https://a.b/c"]
    assert {span.method for span in translation.protected} == {"tags"}


def test_other_hypothesis_is_chosen_if_the_tags_of_the_first_are_wrong() -> None:
    translation, _ = echo("a {n} b", ["a b", f"b {SINGLE_TAGS[0]} a", f"{SINGLE_TAGS[0] * 2}"])
    assert [one.text for one in translation.alternatives] == ["b {n} a"]


def test_outer_markup_is_not_shown_to_the_model() -> None:
    translation, read = echo("<p> <b>ab</b> c</p><br/>")
    assert read == f"{OPEN_TAGS[0]}ab{CLOSE_TAGS[0]} c"
    assert translation.text == "<p> <b>ab</b> c</p><br/>"


def test_text_of_spans_and_punctuation_is_copied() -> None:
    backend: Any = EchoBackend()
    [translation] = TextTranslator(backend, make_no_torch).stream(["{a}: <b>%s</b>!"])
    assert (translation.text, backend.read) == ("{a}: <b>%s</b>!", [""])


def test_input_and_output_cannot_spell_tags() -> None:
    translation, read = echo(f"a{TAGS[3]}b", [f"c {TAGS[5]} d{TAGS[6]}"])
    assert (read, translation.text) == ("a\ufffdb", "c d")


def test_search_requires_the_tags() -> None:
    """The vocabulary keeps other tags out of the outputs of an untrained model."""
    translator = make_translator(BAHDANAU, tokenizer(), search=BeamSearch(size=4))
    vocabulary = ("abcde", SINGLE_TAGS[0])
    requests = [Request(f"{word} {{a}} cd", vocabulary=vocabulary, protect=SPAN_KINDS) for word in ("ab", "c", "ed")]
    translations = translator.translate(requests)
    assert "search" in {span.method for translation in translations for span in translation.protected}
    assert all(translation.constraint_checks == () for translation in translations)


def test_explicit_spans_are_carried_and_patterns_do_not_overlap_them() -> None:
    backend: Any = EchoBackend()
    text = "ab <x1>{n}</x1> {m} c"
    spans = (Span("markup", "<x1>{n}</x1>", 3, 15),)
    [translation] = TextTranslator(backend, make_no_torch).stream([Request(text, spans=spans)])
    assert [span.text for span in translation.spans] == ["<x1>{n}</x1>", "{m}"]
    assert backend.read == [f"ab {SINGLE_TAGS[0]} {SINGLE_TAGS[1]} c"]


def test_constraints_and_spans_together() -> None:
    translator = make_translator(TRANSFORMER, tokenizer(), search=BeamSearch(size=4))
    request = Request("ab {a} <b>cd</b> e", prefix="{a} a", include=(("e",),), exclude=("d",), protect=SPAN_KINDS)
    translation = translator.translate(request)
    check(request.text, translation, find_spans(request.text, SPAN_KINDS))
    assert translation.text.startswith("{a} a")
    assert [(one.kind, one.phrases, one.met) for one in translation.constraint_checks] == [
        ("prefix", ("{a} a",), True),
        ("include", ("e",), True),
        ("exclude", ("d",), True),
    ]


def test_constraints_that_are_impossible_with_spans_are_refused() -> None:
    plain = make_translator(BAHDANAU, tokenizer(""))
    with pytest.raises(UserError, match=r'line 2: "\{a\} a" contains a protected span'):
        plain.translate(["a", Request("a {a}", prefix="{a} a", protect=SPAN_KINDS)])
    cut = make_translator(SUTSKEVER, tokenizer(""))
    with pytest.raises(UserError, match="line 1: this model has no attention, so the line is cut"):
        cut.translate([Request("a {a} b", prefix="a", protect=SPAN_KINDS)])


def test_alignment_refers_to_the_text_with_spans() -> None:
    for target in (tokenizer(""), tokenizer()):
        translator = make_translator(BAHDANAU, target)
        translator = replace(translator, output_options=OutputOptions(alignment=True))
        request = Request("ab {name} cd <b>e</b>", protect=SPAN_KINDS)
        translation = translator.translate(request)
        position = next(span.first for span in translation.spans if span.text == "{name}")
        assert (3, position) in (translation.alignment or ())
        assert all(0 <= a < 4 and 0 <= b < len(translation.text.split()) for a, b in translation.aligned_words)
        plain = replace(translator, output_options=DEFAULT_OUTPUT).translate(request)
        assert plain.alignment is None


def test_result_does_not_depend_on_the_batch() -> None:
    for target in (tokenizer(""), tokenizer()):
        translator = make_translator(TRANSFORMER, target)
        requests = [Request(source, protect=SPAN_KINDS) for source in lines(10)]
        together = [translation.text for translation in translator.translate(requests)]
        assert together == [translator.translate(request).text for request in requests]


def test_default_kinds_depend_on_the_tokenizers() -> None:
    text = "ab {a} 5"
    assert make_translator(BAHDANAU, tokenizer("")).translate(text).spans == ()
    tagged = make_translator(BAHDANAU, tokenizer())
    assert [span.text for span in tagged.translate(text).spans] == ["{a}"]
    assert tagged.translate(Request(text, protect=())).spans == ()
    assert not has_tag_tokens(tokenizer(), tokenizer(""))


def test_python_interface_checks_types() -> None:
    translator = make_translator(BAHDANAU, tokenizer(""))
    assert isinstance(translator.translate("ab. Cd"), Translation)
    assert [one.source for one in translator.translate(line for line in ["ab", "c"])] == ["ab", "c"]
    assert len(translator.translate("Abc de. Abc de.").sentences) == 2
    assert translator.translate("Abc de. Abc de.", split=False).sentences == ()
    for wrong in (5, b"ab", None, {"a": 1}, [5]):
        with pytest.raises(TypeError, match="expected a string, a Request, or a list"):
            translator.translate(wrong)  # type: ignore[arg-type]


def test_nesting_is_judged_with_elements_of_other_sentences() -> None:
    def role_spans(*roles: str) -> list[Span]:
        return [Span("markup", "", 0, 0, role) for role in roles]  # type: ignore[arg-type]

    assert is_nested([0, 1], role_spans("open", "close"))
    assert not is_nested([1, 0], role_spans("open", "close"))
    unfinished = role_spans("open", "open", "close")
    assert is_nested([0, 1, 2], unfinished)
    assert not is_nested([1, 0, 2], unfinished)
    assert not is_nested([1, 0], role_spans("close", "open", "close"))


def test_more_spans_than_tags_use_all_tags() -> None:
    text = "a " + " ".join(f"%s{{a{number}}}" for number in range(20))
    sentence = prepare_sentence(Request(text, spans=tuple(find_spans(text, SPAN_KINDS))), has_tag_tokens=True)
    assert set(sentence.tags) == set(SINGLE_TAGS)
    assert sentence.needs_alignment


def test_span_kinds_are_parsed() -> None:
    assert parse_protect(None) is None
    assert parse_protect("none") == ()
    assert parse_protect("all") == SPAN_KINDS
    assert parse_protect("numbers, urls") == ("urls", "numbers")
    with pytest.raises(UserError, match=r"--protect url: \"url\" is not a kind of span; did you mean \"urls\""):
        parse_protect("url")
    assert parse_span_kinds(["numbers", "urls", "urls"]) == ("urls", "numbers")
    assert parse_request('{"text": "a", "protect": ["urls"]}').protect == ("urls",)
    assert parse_request('{"text": "a", "protect": []}').protect == ()
    assert parse_request('{"text": "a"}').protect is None
    with pytest.raises(UserError, match='"protect": "number" is not a kind of span'):
        parse_request('{"text": "a", "protect": ["number"]}')
    with pytest.raises(UserError, match='unknown field "spans"'):
        parse_request('{"text": "a", "spans": []}')
