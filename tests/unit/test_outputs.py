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
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.translate import OutputFlags, parse_output_options
from weft.core.errors import UserError
from weft.core.state import Hypothesis, State, StepFunction
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.glossary import look_up_word, read_dictionary
from weft.decoding.constraints.request import Request
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.greedy import GreedySearch
from weft.decoding.length_penalty import GNMTLengthPenalty, WordReward
from weft.inference.capabilities import attention_obstacle, check_output_options
from weft.inference.loader import load_translator
from weft.inference.postprocessor import OutputOptions, Postprocessor
from weft.inference.translation_io import write_translations
from weft.inference.translator import Translator
from weft.text.tokenizer import Tokenizer
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
from weft.text.word_alignment import (
    align_words,
    format_pharaoh,
    make_word_links,
    source_word_indices,
    target_word_ranges,
    word_index_pairs,
)

LINES = ["der rote Hund schläft.", "ein T-Shirt, zwei (alte) Hunde!", "rote ▁ Hunde"]
EVERY: list[TokenizerTrainer] = [
    CharacterTokenizerTrainer(),
    ByteTokenizerTrainer(),
    WordTokenizerTrainer(min_frequency=1),
    WhitespaceTokenizerTrainer(),
    WordPieceTokenizerTrainer(vocab_size=60, min_frequency=1),
    BPETokenizerTrainer(vocab_size=300, min_frequency=1),
    UnigramTokenizerTrainer(vocab_size=320, min_frequency=1),
]


def words_of(tokenizer: Tokenizer, line: str) -> list[bytes]:
    [ids] = tokenizer.encode([line])
    return [(b" " if tokenizer.joins_with_spaces else b"") + piece for piece in tokenizer.token_bytes(ids)]


@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)
def test_pieces_belong_to_the_words_between_spaces(learner: TokenizerTrainer) -> None:
    tokenizer = learner.train(LINES)
    for line in [*LINES, *([] if isinstance(learner, WordTokenizerTrainer) else ["  zwei  rote "]), "Hund"]:
        of_source = source_word_indices(line, tokenizer)
        of_target = [words[0] if words else None for words in target_word_ranges(words_of(tokenizer, line))]
        count = len(line.split())
        assert len(of_source) == len(of_target) == len(tokenizer.encode([line])[0])
        for words in (of_source, of_target):
            known = [word for word in words if word is not None]
            assert known == sorted(known)
            assert set(known) == set(range(count))
        assert all(one == other for one, other in zip(of_source, of_target, strict=True) if other is not None)


def test_a_word_is_looked_at_as_much_as_its_pieces_together() -> None:
    weights = np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 0.0]])
    assert align_words(weights, [0, 1, 1], [range(1), range(1, 2), range(2, 3)]) == [(1, 0), (1, 1)]
    assert align_words(weights, [0, 1, None], [range(1), range(2), range(0)]) == [(0, 0), (1, 1)]
    links = make_word_links([(1, 0), (0, 1)], "ab cd", "xyz  u")
    assert word_index_pairs(links, "ab cd", "xyz  u") == [(0, 1), (1, 0)]
    assert format_pharaoh([(0, 1), (1, 0)]) == "0-1 1-0"


@pytest.mark.parametrize(
    "learner", [ByteTokenizerTrainer(), BPETokenizerTrainer(vocab_size=300, min_frequency=1)], ids=["byte", "bpe"]
)
def test_bytes_that_are_no_letters_are_words_all_the_same(learner: TokenizerTrainer) -> None:
    """As the tokenizer decodes them: a line end, or a space, among them is no white space."""
    tokenizer, draws = learner.train(LINES), Random(1)
    trained = untrained(BAHDANAU, source=tokenizer, target=tokenizer)
    teller = Postprocessor(trained, OutputOptions(alignment=True))
    for _ in range(200):
        tokens = tuple(draws.choice([*tokenizer.encode(["a b\n\x0bä"])[0], draws.randrange(3, 259)]) for _ in range(9))
        weights = tuple((0.5, 0.2, 0.2, 0.1) for _ in range(10))
        found = Hypothesis(tokens, -1.0, (-0.1,) * 10, True, weights)
        text = teller.alternative(found, "abc", 3, None).text
        links = teller.alignment(found, "abc", 3) or ()
        assert [other for _, other in word_index_pairs(links, "abc", text)] == list(
            range(len(re.findall(r"(?a:\S+)", text)))
        )


def looking(trained: TrainedModel, source: str, target: str, places: list[int]) -> Hypothesis:
    """An output whose pieces look each at one piece of the source, in a batch with a longer line."""
    [tokens], [ids] = trained.target_tokenizer.encode([target]), trained.source_tokenizer.encode_rows([source]).split()
    eye = np.eye(len(ids) + 3)
    rows = [tuple(eye[place]) for place in [*places, len(ids)]]
    return Hypothesis(tuple(tokens), -1.0, (-0.1,) * len(rows), True, tuple(rows))


def test_unknown_words_become_what_they_look_at() -> None:
    source, target = (
        WordTokenizerTrainer(min_frequency=1).train([text]) for text in ("the old cat sleeps .", "die Katze, schläft .")
    )
    trained = untrained(BAHDANAU, source=source, target=target)
    teller = Postprocessor(trained, OutputOptions(replace_unknown=True, alignment=True, dictionary={"mrs": "Frau Dr."}))
    line = "the Mrs Miller-Lang, sleeps"  # the, Mrs, Miller, -, Lang, ",", sleeps
    found = looking(trained, line, "die Xx Yy, schläft", [0, 1, 4, 5, 6])
    assert teller.alternative(found, line, 7, None).text == "die Frau Dr. Lang, schläft"
    links = teller.alignment(found, line, 7) or ()
    assert format_pharaoh(word_index_pairs(links, line, "die Frau Dr. Lang, schläft")) == "0-0 1-1 1-2 2-3 3-4"
    plain = Postprocessor(trained, OutputOptions())
    assert plain.alternative(found, line, 7, None).text == "die <unk> <unk>, schläft"
    backward = untrained(BAHDANAU, source=source, target=target.reversed())
    turned = found._replace(tokens=found.tokens[::-1], attention=(*found.attention[-2::-1], found.attention[-1]))
    same = Postprocessor(backward, teller.options)
    assert same.alternative(turned, line, 7, None).text == "die Frau Dr. Lang, schläft"
    assert same.alignment(turned, line, 7) == links


def test_what_an_unknown_word_became_is_looked_at_too() -> None:
    """An excluded word can come back from the source."""
    tokenizer = WordTokenizerTrainer(min_frequency=1).train(["the old cat sleeps"])
    trained = untrained(BAHDANAU, source=tokenizer, target=tokenizer)

    class Says(GreedySearch):
        def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
            return [[looking(trained, "the Miller", "the Xx", [0, 1])]]

    translator = Translator(
        trained, Says(), trained.recipe.translate, output_options=OutputOptions(replace_unknown=True)
    )
    [one] = translator.translate([Request("the Miller", exclude=("Miller", "Xx"))])
    assert one.text == "the Miller"
    assert [told.met for told in one.constraint_checks] == [False, True]


def test_an_unknown_letter_becomes_a_letter() -> None:
    trained = untrained(BAHDANAU, source=letters(), target=letters())
    found = looking(trained, "a é", "dée", [0, 2, 0])
    assert Postprocessor(trained, OutputOptions(replace_unknown=True)).alternative(found, "a é", 3, None).text == "dée"


def test_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("# names\ncat\tKatze\n\ncat\tKater\nUS\tdie USA\n", "utf-8")
    words = read_dictionary(path)
    assert [look_up_word(word, words) for word in ("cat", "Cat", "US", "us", "x")] == [
        "Katze",
        "Katze",
        "die USA",
        "us",
        "x",
    ]
    for content, message in (("cat\n", "line 1: expected a word, one tab"), ("# \n", "contains no words")):
        path.write_text(content, "utf-8")
        with pytest.raises(UserError, match=message):
            read_dictionary(path)


def test_what_a_model_cannot_tell() -> None:
    for family, message in ((CTC, "this model has no decoder"), (SUTSKEVER, "does not attend to the source")):
        trained = untrained(family)
        assert message in attention_obstacle(trained)
        with pytest.raises(UserError, match=f"--alignments: .*{message}.*; omit it"):
            check_output_options(trained, OutputOptions(alignment=True), "--alignments")
        check_output_options(trained, OutputOptions(top_tokens=2), "--top-tokens")
    assert attention_obstacle(untrained(TRANSFORMER)) == attention_obstacle(untrained(BAHDANAU)) == ""
    spelling = untrained(BAHDANAU, target=letters(ByteTokenizerTrainer()))
    with pytest.raises(UserError, match="--replace-unknown: the target tokenizer can spell every word"):
        check_output_options(spelling, OutputOptions(replace_unknown=True), "--replace-unknown")


@pytest.mark.parametrize("family", [TRANSFORMER, BAHDANAU], ids=["transformer", "bahdanau"])
def test_a_record_has_it_all(family: dict[str, Any]) -> None:
    trained = untrained(family)
    told = OutputOptions(alignment=True, attention=True, top_tokens=3)
    translator = Translator(
        trained,
        BeamSearch(size=3, n_best=2, length_penalty=GNMTLengthPenalty),
        trained.recipe.translate,
        output_options=told,
    )
    for translation in translator.translate(["abcde", "ab", ""])[:2]:
        record = json.loads(json.dumps(translation.record()))
        best = record["alternatives"][0]
        assert best["ranking_score"] == pytest.approx(best["score"] / ((5 + len(best["tokens"])) / 6) ** 0.6)
        attention = record["attention"]
        assert attention["source_tokens"] == [*translation.source, "<end>"]
        assert np.shape(attention["weights"]) == (len(best["tokens"]), len(translation.source) + 1)
        assert np.sum(attention["weights"], 1) == pytest.approx(1.0)
        assert record["alignment"] == ([[0, 0]] if record["text"].strip() else [])
        for place, piece, score in zip(record["top_tokens"], best["tokens"], best["token_scores"], strict=True):
            assert len(place) == 3
            assert [one["score"] for one in place] == sorted((one["score"] for one in place), reverse=True)
            assert {one["token"]: one["score"] for one in place}.get(piece, score) == pytest.approx(score)
            assert place[0]["score"] >= score - 1e-9
    plain = Translator(trained, GreedySearch(), trained.recipe.translate).translate(["abc"])[0]
    assert plain.record().keys() == {"source", "text", "score", "truncated", "alternatives"}
    assert plain.alternatives[0].ranking_score == plain.score


def test_outputs_stand_in_the_order_of_their_ranks() -> None:
    trained = untrained(BAHDANAU)
    for search in (
        BeamSearch(size=4, n_best=4, length_penalty=GNMTLengthPenalty, coverage_penalty=0.5, stop_rule="limit"),
        DiverseBeamSearch(size=4, groups=2, n_best=4, length_penalty=WordReward),
        ExhaustiveSearch(n_best=4),
    ):
        translator = Translator(
            trained, search, replace(trained.recipe.translate, max_length_factor=0.5, max_length_extra=1)
        )
        for line in translator.translate(["abcd", "edc", "b"]):
            ranks = [one.ranking_score or 0.0 for one in line.alternatives]
            assert len(set(ranks)) > 1
            assert ranks == sorted(ranks, reverse=True)


def test_the_likeliest_do_not_depend_on_the_batch() -> None:
    trained = untrained(BAHDANAU)
    translator = Translator(
        trained, GreedySearch(), trained.recipe.translate, output_options=OutputOptions(top_tokens=1)
    )
    lines = ["abcde", "a", "cb"]
    for one, line in zip(translator.translate(lines), lines, strict=True):
        [alone] = translator.translate([line])
        assert [place[0].token for place in one.top_tokens] == [place[0].token for place in alone.top_tokens]
        limit = len(one.top_tokens) - 1 if not one.alternatives[0].finished else len(one.top_tokens)
        assert [place[0].token for place in one.top_tokens][:limit] == list(one.alternatives[0].tokens)[:limit]


def test_a_file_of_alignments(tmp_path: Path) -> None:
    tokenizer = CharacterTokenizerTrainer().train(["abc de"])
    trained = untrained(BAHDANAU, source=tokenizer, target=tokenizer)
    folder, source = saved(tmp_path / "model", trained), tmp_path / "input"
    source.write_text("ab cd\n\nab\n", "utf-8")
    told = OutputFlags(True, tmp_path / "rows", False, None, False, None)
    translator = load_translator(folder)
    translator = Translator(
        translator.trained, BeamSearch(size=2), translator.settings, output_options=parse_output_options(told, trained)
    )
    write_translations(translator, source, tmp_path / "out", as_json=True, alignments=told.alignments)
    rows = (tmp_path / "rows").read_text("utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").split("\n")[:-1]]
    assert len(rows) == 3
    assert rows[1] == ""
    for row, record in zip(rows, records, strict=True):
        assert row == format_pharaoh(record.get("alignment", []))
        assert {other for _, other in record.get("alignment", [])} <= set(range(len(record["text"].split())))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (OutputFlags(False, None, True, None, False, None), "--attention needs --json"),
        (OutputFlags(False, None, False, 3, False, None), "--top-tokens needs --json"),
        (OutputFlags(True, None, False, None, False, Path("x")), "add --replace-unknown, or omit --dictionary"),
    ],
)
def test_options_that_need_others(told: OutputFlags, message: str) -> None:
    with pytest.raises(UserError, match=message):
        told.check()
