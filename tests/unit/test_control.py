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
from weft.checkpoints.trained_model import TrainedModel
from weft.config.model_config import DecodingConfig
from weft.core.codec import BOS, EOS, Codec
from weft.core.errors import UserError
from weft.core.state import Hypothesis
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.constrained_decoding import (
    MAX_PHRASE_ROUNDS,
    TokenConstraints,
    check_constraints,
    compile_constraints,
    constrain_step,
    search_with_exclusions,
)
from weft.decoding.constraints.glossary import Glossary, read_glossary
from weft.decoding.constraints.phrase_matching import TokenPhrase
from weft.decoding.constraints.phrase_tokens import PhraseTokenizer
from weft.decoding.constraints.request import Request
from weft.decoding.constraints.request_reader import RequestReader, parse_requests
from weft.decoding.greedy import GreedySearch
from weft.decoding.search import FrameDecoder, Search
from weft.inference.capabilities import check_settings
from weft.inference.translation_io import write_translations
from weft.inference.translator import Translator
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    ByteTokenizerTrainer,
    CharacterTokenizerTrainer,
    TokenizerTrainer,
    UnigramTokenizerTrainer,
    WhitespaceTokenizerTrainer,
    WordPieceTokenizerTrainer,
    WordTokenizerTrainer,
)
from weft.text.word_boundaries import contains_phrase, phrase_occurrences

SPOKEN = b" abcDEF,12"
LINES = [
    "das Haus am See ist alt",
    "ein Haus, ein See (alt)",
    "in den Häusern am See: 50% alte Türen",
    "die Haustür",
] * 3
LEARNERS: dict[str, TokenizerTrainer] = {
    "character": CharacterTokenizerTrainer(),
    "byte": ByteTokenizerTrainer(),
    "whitespace": WhitespaceTokenizerTrainer(),
    "word": WordTokenizerTrainer(min_frequency=1),
    "bpe": BPETokenizerTrainer(vocab_size=80, byte_fallback=False),
    "bpe of bytes": BPETokenizerTrainer(vocab_size=320),
    "wordpiece": WordPieceTokenizerTrainer(vocab_size=80),
    "unigram": UnigramTokenizerTrainer(vocab_size=80, byte_fallback=False),
    "small letters": BPETokenizerTrainer(vocab_size=80, byte_fallback=False, lowercase=True),
}
SPELLERS = {name: PhraseTokenizer(learner.train(LINES)) for name, learner in LEARNERS.items()}


def found(
    requests: Sequence[Request], speller: PhraseTokenizer, toy: Toy, search: Search, room: int = 12
) -> list[tuple[str, list[bool]]]:
    """The text of each request, and what of it is met."""
    plans = [compile_constraints(request, speller) for request in requests]
    limit = torch.tensor([plan.min_length + room for plan in plans])

    def find(places: Sequence[int], plans: Sequence[TokenConstraints]) -> list[list[Hypothesis]]:
        rows = torch.tensor(list(places))
        state = toy.start(len(requests)).select(rows, rows)
        step, state = constrain_step(toy, state, plans, limit[rows], speller.continuation_mask)
        return search(step, state, limit[rows], rows)

    results = []
    for request, plan, hypotheses, most in zip(
        requests, plans, search_with_exclusions(find, requests, plans, speller), limit.tolist(), strict=True
    ):
        tokens = hypotheses[0].tokens
        text = speller.decode(tokens)
        results.append((text, [one.met for one in check_constraints(request, plan, tokens, text, most, speller)]))
    return results


def toy_of(speller: PhraseTokenizer, seed: int, end: float = 0.0) -> Toy:
    """One that hardly says bytes: at random they spell no letters."""
    toy = Toy(seed, speller.tokenizer.size, end)
    pieces = speller.tokenizer.vocabulary()
    odd = [token for token in speller.tokenizer.byte_ids if int(pieces[token][3:5], 16) not in SPOKEN]
    toy.log_probs[:, odd] -= 50
    return toy


@pytest.mark.parametrize("kind", SPELLERS)
def test_what_is_asked_for_stands_in_the_text(kind: str) -> None:
    """Included phrases do, and words of the free output, once excluded, do not, however they are spelled."""
    speller, draws = SPELLERS[kind], Random(kind)
    toy = toy_of(speller, 1, end=1.0)
    plain = found([Request("x")] * 12, speller, toy, BeamSearch(size=3))
    requests = []
    for text, _ in plain:
        words = draws.choice(LINES).split()
        first = draws.randrange(len(words))
        phrases = ((" ".join(words[first : first + 2]),), ("alt", "See"))
        said = [word for word in text.split() if "<" not in word and not any(word in one for one in sum(phrases, ()))]
        requests.append(Request("x", include=phrases, ordered=draws.choice([0, 2]), exclude=tuple(said[:2])))
    results = found(requests, speller, toy, BeamSearch(size=3))
    assert any(request.exclude for request in requests)
    for request, (text, met) in zip(requests, results, strict=True):
        assert all(met), (request, text)


@pytest.mark.parametrize("kind", SPELLERS)
def test_a_prefix_begins_the_text(kind: str) -> None:
    speller = SPELLERS[kind]
    [(text, met)] = found([Request("x", prefix="das Haus")], speller, toy_of(speller, 2), GreedySearch())
    assert met == [True]
    assert text.startswith(speller.normalize("das Haus"))


def test_a_biased_prefix_is_not_forced() -> None:
    speller = SPELLERS["bpe"]
    toy = Toy(2, speller.tokenizer.size)
    weak, strong = (Request("x", prefix="das Haus am See", prefix_bias=bias) for bias in (1e-9, 1 - 1e-9))
    assert [met for _, met in found([weak, strong], speller, toy, GreedySearch(), room=20)] == [[False], [True]]


def test_only_the_pieces_of_a_vocabulary_are_used() -> None:
    speller = SPELLERS["word"]
    request = Request("x", include=(("alt",),), vocabulary=("Haus", "See"))
    [(text, _)] = found([request], speller, Toy(3, speller.tokenizer.size, end=-3.0), BeamSearch(size=3))
    assert set(text.split()) == {"Haus", "See", "alt"}


def test_a_word_may_begin_with_the_pieces_of_an_excluded_one() -> None:
    speller = PhraseTokenizer(
        BPETokenizerTrainer(vocab_size=13, byte_fallback=False).train(["Haus", "Haus", "Haustür", "Haustür"])
    )
    (short,), (long,) = speller.tokenizer.encode(["Haus"]), speller.tokenizer.encode(["Haustür"])
    assert long[: len(short)] == short
    request = Request("x", include=(("Haustür",),), exclude=("Haus",))
    [(_, met)] = found([request], speller, toy_of(speller, 4), BeamSearch(size=3))
    assert met == [True, True]


def test_a_phrase_of_many_spellings_is_found_out() -> None:
    """A search that knows one spelling after another, more of them than are forbidden one by one."""
    speller = SPELLERS["bpe of bytes"]
    pieces = speller.tokenizer.vocabulary()
    ways = [[pieces.index(letter), pieces.index(f"<0x{ord(letter):02X}>")] for letter in "Haus"]
    outputs, (clean,) = [list(row) for row in product(*ways)], speller.tokenizer.encode(["alt am See"])
    assert len(outputs) > MAX_PHRASE_ROUNDS
    searched = []

    def find(places: Sequence[int], plans: Sequence[TokenConstraints]) -> list[list[Hypothesis]]:
        searched.append(len(places))
        allowed = [[row for row in [*outputs, clean] if not holds(row, plan.excluded)] for plan in plans]
        return [[Hypothesis(tuple(rows[0]), -1.0, (-1.0,), True)] if rows else [] for rows in allowed]

    def holds(row: list[int], excluded: Sequence[TokenPhrase]) -> bool:
        said = (BOS, *row)
        spelled = (one.tokens for one in excluded)
        return any(said[first : first + len(one)] == one for one in spelled for first in range(len(said)))

    request, plan = Request("x", exclude=("Haus",)), TokenConstraints()  # it forbids nothing yet
    [found] = search_with_exclusions(find, [request], [plan], speller)
    assert speller.decode(found[0].tokens) == "alt am See"
    assert 1 + MAX_PHRASE_ROUNDS < len(searched) <= 3 + MAX_PHRASE_ROUNDS
    need = replace(plan, requirements=((TokenPhrase(tuple(chain(*ways))),),))
    [found] = search_with_exclusions(find, [request], [need], speller)  # which leaves no token to forbid
    assert contains_phrase("Haus", speller.decode(found[0].tokens))


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
            assert found([request], speller, toy_of(speller, 1), BeamSearch(size=2))
    plain, excluded = (
        found([one], speller, toy_of(speller, 1), GreedySearch())
        for one in (Request("x"), Request("x", exclude=(odd,)))
    )
    assert excluded[0][1] == [True]
    assert excluded[0][0] == plain[0][0] or contains_phrase(speller.normalize(odd), plain[0][0])


def test_a_line_end_that_bytes_spell_is_a_space() -> None:
    speller = SPELLERS["byte"]
    (tokens,) = speller.tokenizer.encode(["das\nHaus"])
    assert speller.decode(tokens) == "das Haus"


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
        results = check_constraints(request, compile_constraints(request, speller), tokens, text, 99, speller)
        assert [one.met for one in results] == met


def test_whole_words() -> None:
    assert list(phrase_occurrences("Haus", "Haus, Haustür, das Haus")) == [(0, 4), (19, 23)]
    assert not contains_phrase("Haus", "Gartenhaus Haus2 Hausà")
    assert contains_phrase("%", "50% von 3")
    assert contains_phrase("東京", "私は東京に")
    assert list(phrase_occurrences("aa", "aa aaa aa")) == [(0, 2), (7, 9)]


def test_spellings_know_where_words_begin() -> None:
    letters, pieces = SPELLERS["character"], SPELLERS["bpe"]
    (alone,), (space,) = letters.tokenizer.encode(["See"]), letters.tokenizer.encode([" "])
    assert [one.tokens for one in letters.required_phrases("See")] == [(BOS, *alone), (*space, *alone)]
    assert pieces.required_phrases("See") == [TokenPhrase(tuple(pieces.tokenizer.encode(["See"])[0]), bounded=True)]
    assert [one.bounded for one in pieces.excluded_phrases("See")] == [False]
    assert [one.bounded for one in letters.excluded_phrases("See")] == [True, True]
    assert not SPELLERS["whitespace"].continuation_mask.any()
    percent = {tuple(pieces.tokenizer.tokens(one.tokens)) for one in pieces.required_phrases("%")}
    assert {"".join(one) for one in percent} == {"▁%", "%"}


def test_mistakes_in_requests_are_told() -> None:
    speller = SPELLERS["bpe"]
    for request, told in (
        (Request("x", include=(("Ω",),)), "does not know"),
        (Request("x", prefix="Ω"), "does not know"),
        (Request("x", include=(("das Haus",),), exclude=("Haus",)), '"das Haus" is to be included, but'),
        (Request("x", prefix="das Haus", exclude=("Haus",)), "prefix"),
    ):
        with pytest.raises(UserError, match=told):
            compile_constraints(request, speller)
    kept = compile_constraints(Request("x", include=(("das Haus", "See"),), exclude=("Haus",)), speller)
    assert kept.requirements == (tuple(speller.required_phrases("See")),)
    assert compile_constraints(Request("x", include=(("Ω", "See"),)), speller).requirements == kept.requirements
    with pytest.raises(UserError, match="this model writes lines backward"):
        PhraseTokenizer(speller.tokenizer.reversed())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: not JSON"),
        ('"x"', "line 2: expected a JSON object"),
        ("{}", '"text" must be a string, but it is missing'),
        ('{"text": 3}', '"text" must be a string, got 3'),
        ('{"text": "a\\nb"}', "line break"),
        ('{"text": "a", "exlude": ["b"]}', 'unknown field "exlude".*Did you mean exclude'),
        ('{"text": "a", "include": "b"}', '"include" must be a list of phrases like'),
        ('{"text": "a", "include": [[]]}', '"include" must be a list of phrases, got'),
        ('{"text": "a", "exclude": [" "]}', '"exclude" must contain phrases, but one is " "'),
        ('{"text": "a", "prefix": "b", "prefix_bias": 1}', '"prefix_bias" must be more than 0 and less than 1, got 1'),
        ('{"text": "a", "prefix_bias": 0.5}', '"prefix", which is missing'),
        ('{"text": "a", "ordered": 1}', '"ordered" must be true or false, got 1'),
        ('{"text": "a", "ordered": true}', '"ordered" needs phrases in "include", which is missing'),
        ('{"text": "a", "protect": "urls"}', '^line 2: "protect" must be a list'),
        ('{"text": "a", "exclude": ["b\\nc"]}', '"exclude" has a phrase with a line break'),
        ('{"text": "a", "vocabulary": []}', '"vocabulary" must be a list of phrases'),
    ],
)
def test_mistakes_in_json_lines_are_told(line: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        list(parse_requests(['{"text": "fine"}', line]))


def test_requests_are_read_from_json_lines() -> None:
    line = '{"text": "a", "prefix": "p", "prefix_bias": 0.5, "include": ["b", ["c", "d "]], "ordered": true, '
    line += '"exclude": ["e"]}'
    full = Request("a", "p", 0.5, (("b",), ("c", "d")), 2, ("e",))
    assert list(parse_requests([line, "", '{"text": "a", "vocabulary": ["f"]}'])) == [
        full,
        Request(""),
        Request("a", vocabulary=("f",)),
    ]
    nothing = '{"text": "a", "include": [], "exclude": [], "protect": [], "vocabulary": null}'
    assert list(parse_requests([nothing])) == [Request("a")]


def glossary_of(folder: Path, text: str) -> Glossary:
    path = folder / "terms.tsv"
    path.write_text(text, "utf-8")
    return read_glossary(path)


def test_a_glossary_is_applied_where_its_terms_stand(tmp_path: Path) -> None:
    wanted = "# terms\n\nhouse\tHaus\nhouse boat\tHausboot|Boot\nApple\tApple\nman\tMann\nman\tHerr\n"
    glossary = glossary_of(tmp_path, wanted + "house\t!Heim\n\t!Dings\n")
    assert glossary.apply(Request("A House.")) == Request("A House.", include=(("Haus",),), exclude=("Dings", "Heim"))
    assert glossary.apply(Request("the house boat")).include == (("Hausboot", "Boot"),)
    assert glossary.apply(Request("houses, an apple")) == Request("houses, an apple", exclude=("Dings",))
    both = glossary.apply(Request("man, Apple, man", include=(("x",),), ordered=1))
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
        ("# nothing\n", "contains no terms"),
        ("hat\tHut|Kappe\nhat\t!Hut\n\t!Kappe\n", '"hat" requires "Hut" or "Kappe", which another row forbids'),
    ],
)
def test_mistakes_in_glossaries_are_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        glossary_of(tmp_path, text)


def translator(search: Search) -> Translator:
    made = untrained("transformer", search)
    return replace(made, settings=replace(made.settings, max_length_extra=12))


def test_lines_and_requests_are_translated_together() -> None:
    model = translator(BeamSearch(size=3))
    plain = model.translate([SENTENCE, "a dog", SENTENCE])
    asking = Request(SENTENCE, prefix="the cat", include=(("red dog",),), exclude=("a",))
    guided_ = model.translate([SENTENCE, "a dog", asking])
    assert guided_[:2] == plain[:2]
    assert [one.kind for one in guided_[2].constraint_checks] == ["prefix", "include", "exclude"]
    assert all(one.met for one in guided_[2].constraint_checks)
    assert guided_[2].text.startswith("the cat")
    assert "red dog" in guided_[2].text


def test_a_blank_line_is_told_only_what_it_asks_for_itself() -> None:
    model, asking = translator(BeamSearch(size=2)), RequestReader(prefix="the", as_json=True)
    blank, own = model.translate(asking(["", '{"text": " ", "include": ["dog"], "exclude": ["cat"]}']))
    assert (blank.text, blank.constraint_checks) == ("", ())
    assert own.text == ""
    assert [(one.kind, one.met) for one in own.constraint_checks] == [("include", False), ("exclude", True)]


def test_repeats_and_short_outputs_are_avoided_by_settings() -> None:
    model = translator(GreedySearch())
    settings = replace(model.settings, no_repeat_ngram_size=2, min_length_factor=0.5, min_length_extra=4)
    (line,) = replace(model, settings=settings).translate([SENTENCE])
    pieces = line.alternatives[0].tokens[:-1]
    pairs = list(pairwise(pieces))
    assert len(pairs) == len(set(pairs))
    assert len(pieces) >= 7
    (free,) = model.translate([SENTENCE])
    assert free.alternatives[0].tokens != line.alternatives[0].tokens


def test_settings_hold_the_end_back() -> None:
    model, toy = translator(GreedySearch()), Toy(1)
    settings = replace(model.settings, min_length_factor=0.5)
    step, state = replace(model, settings=settings)._constrain(
        toy, toy.start(2), [TokenConstraints()] * 2, torch.tensor([2, 1]), torch.tensor([9, 9])
    )
    scores, _ = step(torch.tensor([BOS, BOS]), state)
    assert scores.log_probs[:, EOS].isneginf().tolist() == [True, False]


def test_what_does_not_fit_is_told_with_its_line() -> None:
    long = Request("a dog", include=((" ".join([SENTENCE] * 9),),))
    with pytest.raises(UserError, match=r"^line 2: its constraints need \d+ tokens"):
        translator(BeamSearch()).translate(["a dog", long])
    clash = Request("a dog", include=(("dog",),), exclude=("dog",))
    with pytest.raises(UserError, match=r'^line 2: "dog" is to be included, but'):
        translator(BeamSearch()).translate(["a dog", clash])


def test_models_that_cannot_be_guided_say_so(tmp_path: Path) -> None:
    model = translator(BeamSearch())
    reading = replace(model, frame_decoder=cast(FrameDecoder, "a reading"))
    with pytest.raises(UserError, match="no decoder, so its outputs cannot be constrained"):
        reading.translate([Request("a dog", prefix="a")])
    with pytest.raises(UserError, match=r"translate.no_repeat_ngram_size: is 2, but this model has no decoder"):
        check_settings(
            cast(TrainedModel, SimpleNamespace(model=SimpleNamespace(has_decoder=False, frame_head=None))),
            DecodingConfig(no_repeat_ngram_size=2),
            [],
            None,
            None,
        )
    pictures = model.trained._replace(source_tokenizer=cast(Codec, SimpleNamespace(modality="image")))
    with pytest.raises(UserError, match="reads images"):
        write_translations(
            replace(model, trained=pictures),
            tmp_path / "x",
            None,
            as_json=False,
            request_reader=RequestReader(as_json=True),
        )


def test_unmet_lines_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    requests = [
        {"text": "a dog"},
        {"text": "a dog", "prefix": "red", "prefix_bias": 1e-9},
        {"text": "a cat", "include": ["dog"]},
    ]
    source.write_text("".join(json.dumps(one) + "\n" for one in requests), "utf-8")
    write_translations(
        translator(BeamSearch(size=2)), source, output, as_json=True, request_reader=RequestReader(as_json=True)
    )
    records = [json.loads(line) for line in output.read_text("utf-8").split("\n")[:-1]]
    assert "constraints" not in records[0]
    assert records[2]["constraints"] == [{"kind": "include", "phrases": ["dog"], "met": True, "forced": False}]
    assert "constraints are not met in 1 line: 2" in capsys.readouterr().err
