"""Constrained decoding: phrases, glossaries and requests, with every kind of tokenizer."""

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
from unit.translators import SENTENCE, untrained_translator
from weft.checkpoints.trained_model import TrainedModel
from weft.config.inference_config import DecodingConfig
from weft.core.errors import UserError
from weft.core.special_tokens import BOS, EOS
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
from weft.decoding.constraints.request import Request, RequestReader, parse_requests
from weft.decoding.constraints.word_boundaries import contains_phrase, phrase_occurrences
from weft.decoding.greedy import GreedySearch
from weft.decoding.search import FrameDecoder, Search
from weft.inference.capabilities import check_settings
from weft.inference.translation_io import read_input_lines, write_translations
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

ALLOWED_BYTES = b" abcDEF,12"
LINES = [
    "das Haus am See ist alt",
    "ein Haus, ein See (alt)",
    "in den Häusern am See: 50% alte Türen",
    "die Haustür",
] * 3
TRAINERS: dict[str, TokenizerTrainer] = {
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
PHRASE_TOKENIZERS = {name: PhraseTokenizer(trainer.train(LINES)) for name, trainer in TRAINERS.items()}


def decode(
    requests: Sequence[Request], phrase_tokenizer: PhraseTokenizer, toy: Toy, search: Search, extra_length: int = 12
) -> list[tuple[str, list[bool]]]:
    """Decode each request; return its text and whether each constraint is met."""
    plans = [compile_constraints(request, phrase_tokenizer) for request in requests]
    limit = torch.tensor([plan.min_length + extra_length for plan in plans])

    def find(rows: Sequence[int], plans: Sequence[TokenConstraints]) -> list[list[Hypothesis]]:
        indices = torch.tensor(list(rows))
        state = toy.start(len(requests)).select(indices, indices)
        step, state = constrain_step(toy, state, plans, limit[indices], phrase_tokenizer.continuation_mask)
        return search(step, state, limit[indices], indices)

    results = []
    for request, plan, hypotheses, max_length in zip(
        requests, plans, search_with_exclusions(find, requests, plans, phrase_tokenizer), limit.tolist(), strict=True
    ):
        tokens = hypotheses[0].tokens
        text = phrase_tokenizer.decode(tokens)
        results.append(
            (
                text,
                [check.met for check in check_constraints(request, plan, tokens, text, max_length, phrase_tokenizer)],
            )
        )
    return results


def toy_model(phrase_tokenizer: PhraseTokenizer, seed: int, end: float = 0.0) -> Toy:
    """Return a toy model that rarely produces bytes outside ALLOWED_BYTES, which spell no letters."""
    toy = Toy(seed, phrase_tokenizer.tokenizer.size, end)
    vocabulary = phrase_tokenizer.tokenizer.vocabulary()
    suppressed = [
        token for token in phrase_tokenizer.tokenizer.byte_ids if int(vocabulary[token][3:5], 16) not in ALLOWED_BYTES
    ]
    toy.log_probs[:, suppressed] -= 50
    return toy


@pytest.mark.parametrize("kind", PHRASE_TOKENIZERS)
def test_requested_phrases_are_included_or_excluded(kind: str) -> None:
    """Excluded words are taken from the unconstrained output and may be tokenized in any way."""
    phrase_tokenizer, rng = PHRASE_TOKENIZERS[kind], Random(kind)
    toy = toy_model(phrase_tokenizer, 1, end=1.0)
    plain = decode([Request("x")] * 12, phrase_tokenizer, toy, BeamSearch(size=3))
    requests = []
    for text, _ in plain:
        words = rng.choice(LINES).split()
        first = rng.randrange(len(words))
        phrases = ((" ".join(words[first : first + 2]),), ("alt", "See"))
        excluded = [
            word for word in text.split() if "<" not in word and not any(word in phrase for phrase in sum(phrases, ()))
        ]
        requests.append(Request("x", include=phrases, ordered=rng.choice([0, 2]), exclude=tuple(excluded[:2])))
    results = decode(requests, phrase_tokenizer, toy, BeamSearch(size=3))
    assert any(request.exclude for request in requests)
    for request, (text, met) in zip(requests, results, strict=True):
        assert all(met), (request, text)


@pytest.mark.parametrize("kind", PHRASE_TOKENIZERS)
def test_output_starts_with_the_prefix(kind: str) -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS[kind]
    [(text, met)] = decode(
        [Request("x", prefix="das Haus")], phrase_tokenizer, toy_model(phrase_tokenizer, 2), GreedySearch()
    )
    assert met == [True]
    assert text.startswith(phrase_tokenizer.normalize("das Haus"))


def test_biased_prefix_is_not_forced() -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS["bpe"]
    toy = Toy(2, phrase_tokenizer.tokenizer.size)
    weak, strong = (Request("x", prefix="das Haus am See", prefix_bias=bias) for bias in (1e-9, 1 - 1e-9))
    assert [met for _, met in decode([weak, strong], phrase_tokenizer, toy, GreedySearch(), extra_length=20)] == [
        [False],
        [True],
    ]


def test_vocabulary_restricts_output_words() -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS["word"]
    request = Request("x", include=(("alt",),), vocabulary=("Haus", "See"))
    [(text, _)] = decode(
        [request], phrase_tokenizer, Toy(3, phrase_tokenizer.tokenizer.size, end=-3.0), BeamSearch(size=3)
    )
    assert set(text.split()) == {"Haus", "See", "alt"}


def test_word_may_start_with_the_tokens_of_an_excluded_word() -> None:
    phrase_tokenizer = PhraseTokenizer(
        BPETokenizerTrainer(vocab_size=13, byte_fallback=False).train(["Haus", "Haus", "Haustür", "Haustür"])
    )
    (short,), (long,) = phrase_tokenizer.tokenizer.encode(["Haus"]), phrase_tokenizer.tokenizer.encode(["Haustür"])
    assert long[: len(short)] == short
    request = Request("x", include=(("Haustür",),), exclude=("Haus",))
    [(_, met)] = decode([request], phrase_tokenizer, toy_model(phrase_tokenizer, 4), BeamSearch(size=3))
    assert met == [True, True]


def test_every_tokenization_of_an_excluded_phrase_is_excluded() -> None:
    """The search returns one tokenization after another, more than are excluded individually."""
    phrase_tokenizer = PHRASE_TOKENIZERS["bpe of bytes"]
    vocabulary = phrase_tokenizer.tokenizer.vocabulary()
    tokenizations = [[vocabulary.index(letter), vocabulary.index(f"<0x{ord(letter):02X}>")] for letter in "Haus"]
    outputs, (clean,) = (
        [list(row) for row in product(*tokenizations)],
        phrase_tokenizer.tokenizer.encode(["alt am See"]),
    )
    assert len(outputs) > MAX_PHRASE_ROUNDS
    search_sizes = []

    def find(indices: Sequence[int], plans: Sequence[TokenConstraints]) -> list[list[Hypothesis]]:
        search_sizes.append(len(indices))
        allowed = [[row for row in [*outputs, clean] if not contains_excluded(row, plan.excluded)] for plan in plans]
        return [[Hypothesis(tuple(rows[0]), -1.0, (-1.0,), True)] if rows else [] for rows in allowed]

    def contains_excluded(row: list[int], excluded: Sequence[TokenPhrase]) -> bool:
        tokens = (BOS, *row)
        phrases = (phrase.tokens for phrase in excluded)
        return any(tokens[first : first + len(phrase)] == phrase for phrase in phrases for first in range(len(tokens)))

    request, plan = Request("x", exclude=("Haus",)), TokenConstraints()  # excludes no tokens yet
    [hypotheses] = search_with_exclusions(find, [request], [plan], phrase_tokenizer)
    assert phrase_tokenizer.decode(hypotheses[0].tokens) == "alt am See"
    assert 1 + MAX_PHRASE_ROUNDS < len(search_sizes) <= 3 + MAX_PHRASE_ROUNDS
    impossible = replace(plan, requirements=((TokenPhrase(tuple(chain(*tokenizations))),),))
    [hypotheses] = search_with_exclusions(find, [request], [impossible], phrase_tokenizer)  # no token can be excluded
    assert contains_phrase("Haus", phrase_tokenizer.decode(hypotheses[0].tokens))


@pytest.mark.parametrize("kind", PHRASE_TOKENIZERS)
@pytest.mark.parametrize(
    "odd", ["\u200b", "\ufeff", "▁", "<unk>", "<0x41>", "Ω", "\x00", "\ud800", "e\u0301", "\u00ad"]
)
def test_unusual_phrases_are_tokenized_or_rejected(kind: str, odd: str) -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS[kind]
    for request in (
        Request("x", prefix=odd),
        Request("x", include=((odd,),)),
        Request("x", vocabulary=(odd, "Haus")),
    ):
        with suppress(UserError):
            assert decode([request], phrase_tokenizer, toy_model(phrase_tokenizer, 1), BeamSearch(size=2))
    plain, excluded = (
        decode([request], phrase_tokenizer, toy_model(phrase_tokenizer, 1), GreedySearch())
        for request in (Request("x"), Request("x", exclude=(odd,)))
    )
    assert excluded[0][1] == [True]
    assert excluded[0][0] == plain[0][0] or contains_phrase(phrase_tokenizer.normalize(odd), plain[0][0])


def test_newline_byte_is_decoded_as_space() -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS["byte"]
    (tokens,) = phrase_tokenizer.tokenizer.encode(["das\nHaus"])
    assert phrase_tokenizer.decode(tokens) == "das Haus"


def test_ordered_phrases_are_checked_in_order() -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS["character"]
    text = "am See das Haus"
    (tokens,) = phrase_tokenizer.tokenizer.encode([text])
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
        results = check_constraints(
            request, compile_constraints(request, phrase_tokenizer), tokens, text, 99, phrase_tokenizer
        )
        assert [check.met for check in results] == met


def test_phrases_match_whole_words() -> None:
    assert list(phrase_occurrences("Haus", "Haus, Haustür, das Haus")) == [(0, 4), (19, 23)]
    assert not contains_phrase("Haus", "Gartenhaus Haus2 Hausà")
    assert contains_phrase("ที", "ที ดี")
    assert not contains_phrase("ที", "ที่")  # a tone mark belongs to the syllable before it
    assert not contains_phrase("ท", "ที")  # and so does a vowel sign
    assert contains_phrase("5", "ที่5")  # a script without spaces ends a word, with or without a mark
    assert contains_phrase("abc", "กิabc")
    assert not contains_phrase("ㄱ", "ㄱㄴ")  # Korean has spaces
    assert contains_phrase("%", "50% von 3")
    assert contains_phrase("東京", "私は東京に")
    assert list(phrase_occurrences("aa", "aa aaa aa")) == [(0, 2), (7, 9)]


def test_token_phrases_respect_word_boundaries() -> None:
    characters, subwords = PHRASE_TOKENIZERS["character"], PHRASE_TOKENIZERS["bpe"]
    (word,), (space,) = characters.tokenizer.encode(["See"]), characters.tokenizer.encode([" "])
    assert [phrase.tokens for phrase in characters.required_phrases("See")] == [(BOS, *word), (*space, *word)]
    assert subwords.required_phrases("See") == [TokenPhrase(tuple(subwords.tokenizer.encode(["See"])[0]), bounded=True)]
    assert [phrase.bounded for phrase in subwords.excluded_phrases("See")] == [False]
    assert [phrase.bounded for phrase in characters.excluded_phrases("See")] == [True, True]
    assert not PHRASE_TOKENIZERS["whitespace"].continuation_mask.any()
    percent = {tuple(subwords.tokenizer.tokens(phrase.tokens)) for phrase in subwords.required_phrases("%")}
    assert {"".join(phrase) for phrase in percent} == {"▁%", "%"}


def test_invalid_requests_are_rejected() -> None:
    phrase_tokenizer = PHRASE_TOKENIZERS["bpe"]
    for request, message in (
        (Request("x", include=(("Ω",),)), "does not know"),
        (Request("x", prefix="Ω"), "does not know"),
        (Request("x", include=(("das Haus",),), exclude=("Haus",)), '"das Haus" is to be included, but'),
        (Request("x", prefix="das Haus", exclude=("Haus",)), "prefix"),
    ):
        with pytest.raises(UserError, match=message):
            compile_constraints(request, phrase_tokenizer)
    constraints = compile_constraints(Request("x", include=(("das Haus", "See"),), exclude=("Haus",)), phrase_tokenizer)
    assert constraints.requirements == (tuple(phrase_tokenizer.required_phrases("See")),)
    assert (
        compile_constraints(Request("x", include=(("Ω", "See"),)), phrase_tokenizer).requirements
        == constraints.requirements
    )
    with pytest.raises(UserError, match="this model writes lines backward"):
        PhraseTokenizer(phrase_tokenizer.tokenizer.reversed())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ('"x"', "line 2: expected a JSON object"),
        ("{}", '"text" must be a string, but it is missing'),
        ('{"text": 3}', '"text" must be a string, got 3'),
        ('{"text": "a\\nb"}', "line break"),
        ('{"text": "a", "exlude": ["b"]}', 'unknown field "exlude"; did you mean "exclude"'),
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
def test_invalid_json_requests_are_rejected(line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
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
    assert list(parse_requests([nothing])) == [Request("a", protect=())]


def write_glossary(folder: Path, text: str) -> Glossary:
    path = folder / "terms.tsv"
    path.write_text(text, "utf-8")
    return read_glossary(path)


def test_glossary_applies_to_lines_that_contain_its_terms(tmp_path: Path) -> None:
    required = "# terms\n\nhouse\tHaus\nhouse boat\tHausboot|Boot\nApple\tApple\nman\tMann\nman\tHerr\n"
    glossary = write_glossary(tmp_path, required + "house\t!Heim\n\t!Dings\n")
    assert glossary.apply(Request("A House.")) == Request("A House.", include=(("Haus",),), exclude=("Dings", "Heim"))
    assert glossary.apply(Request("the house boat")).include == (("Hausboot", "Boot"),)
    assert glossary.apply(Request("houses, an apple")) == Request("houses, an apple", exclude=("Dings",))
    both = glossary.apply(Request("man, Apple, man", include=(("x",),), ordered=1))
    assert both.include == (("x",), ("Mann", "Herr"), ("Apple",))
    assert both.ordered == 1


@pytest.mark.parametrize(
    ("text", "message"),
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
def test_invalid_glossaries_are_rejected(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        write_glossary(tmp_path, text)


def make_translator(search: Search) -> Translator:
    base = untrained_translator("transformer", search)
    return replace(base, settings=replace(base.settings, max_length_extra=12))


def test_lines_and_requests_are_translated_together() -> None:
    model = make_translator(BeamSearch(size=3))
    plain = model.translate([SENTENCE, "a dog", SENTENCE])
    request = Request(SENTENCE, prefix="the cat", include=(("red dog",),), exclude=("a",))
    constrained = model.translate([SENTENCE, "a dog", request])
    assert constrained[:2] == plain[:2]
    assert [check.kind for check in constrained[2].constraint_checks] == ["prefix", "include", "exclude"]
    assert all(check.met for check in constrained[2].constraint_checks)
    assert constrained[2].text.startswith("the cat")
    assert "red dog" in constrained[2].text


def test_blank_line_only_reports_its_own_constraints() -> None:
    model, read_requests = make_translator(BeamSearch(size=2)), RequestReader(prefix="the", as_json=True)
    blank, own = model.translate(read_requests(["", '{"text": " ", "include": ["dog"], "exclude": ["cat"]}']))
    assert (blank.text, blank.constraint_checks) == ("", ())
    assert own.text == ""
    assert [(check.kind, check.met) for check in own.constraint_checks] == [("include", False), ("exclude", True)]


def test_settings_prevent_repeated_ngrams_and_short_outputs() -> None:
    model = make_translator(GreedySearch())
    settings = replace(model.settings, no_repeat_ngram_size=2, min_length_factor=0.5, min_length_extra=4)
    (line,) = replace(model, settings=settings).translate([SENTENCE])
    tokens = line.alternatives[0].tokens[:-1]
    pairs = list(pairwise(tokens))
    assert len(pairs) == len(set(pairs))
    assert len(tokens) >= 7
    (free,) = model.translate([SENTENCE])
    assert free.alternatives[0].tokens != line.alternatives[0].tokens


def test_min_length_factor_blocks_end_of_sentence() -> None:
    model, toy = make_translator(GreedySearch()), Toy(1)
    settings = replace(model.settings, min_length_factor=0.5)
    step, state = replace(model, settings=settings)._constrain(
        toy, toy.start(2), [TokenConstraints()] * 2, torch.tensor([2, 1]), torch.tensor([9, 9])
    )
    scores, _ = step(torch.tensor([BOS, BOS]), state)
    assert scores.log_probs[:, EOS].isneginf().tolist() == [True, False]


def test_unsatisfiable_constraints_are_reported_with_line_number() -> None:
    long = Request("a dog", include=((" ".join([SENTENCE] * 9),),))
    with pytest.raises(UserError, match=r"^line 2: its constraints need \d+ tokens"):
        make_translator(BeamSearch()).translate(["a dog", long])
    clash = Request("a dog", include=(("dog",),), exclude=("dog",))
    with pytest.raises(UserError, match=r'^line 2: "dog" is to be included, but'):
        make_translator(BeamSearch()).translate(["a dog", clash])


def test_models_without_constraint_support_are_rejected(tmp_path: Path) -> None:
    model = make_translator(BeamSearch())
    ctc_model = replace(model, frame_decoder=cast(FrameDecoder, "a reading"))
    with pytest.raises(UserError, match="no decoder, so its outputs cannot be constrained"):
        ctc_model.translate([Request("a dog", prefix="a")])
    with pytest.raises(UserError, match=r"translate.no_repeat_ngram_size: is 2, but this model has no decoder"):
        check_settings(
            cast(TrainedModel, SimpleNamespace(model=SimpleNamespace(has_decoder=False, frame_head=None))),
            DecodingConfig(no_repeat_ngram_size=2),
            [],
        )


def test_lines_with_unmet_constraints_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    requests = [
        {"text": "a dog"},
        {"text": "a dog", "prefix": "red", "prefix_bias": 1e-9},
        {"text": "a cat", "include": ["dog"]},
    ]
    source.write_text("".join(json.dumps(request) + "\n" for request in requests), "utf-8")
    lines, reader = read_input_lines(source), RequestReader(as_json=True)
    write_translations(
        make_translator(BeamSearch(size=2)).for_text(), lines, output, as_json=True, request_reader=reader
    )
    records = [json.loads(line) for line in output.read_text("utf-8").split("\n")[:-1]]
    assert "constraints" not in records[0]
    assert records[2]["constraints"] == [{"kind": "include", "phrases": ["dog"], "met": True, "forced": False}]
    assert "constraints are not met in 1 line: 2" in capsys.readouterr().err
