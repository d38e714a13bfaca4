"""Additional outputs of a translation: alignments, attention, top tokens, unknown word replacement."""

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from unit.models import BAHDANAU, CTC, SUTSKEVER, TRANSFORMER, letter_tokenizer, save_model_folder, untrained_model
from weft.checkpoints.trained_model import TrainedModel
from weft.cli.translate import parse_output_options, translate
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
from weft.inference.translation_io import read_input_lines, write_translations
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
TRAINERS: list[TokenizerTrainer] = [
    CharacterTokenizerTrainer(),
    ByteTokenizerTrainer(),
    WordTokenizerTrainer(min_frequency=1),
    WhitespaceTokenizerTrainer(),
    WordPieceTokenizerTrainer(vocab_size=60, min_frequency=1),
    BPETokenizerTrainer(vocab_size=300, min_frequency=1),
    UnigramTokenizerTrainer(vocab_size=320, min_frequency=1),
]


def words_with_spaces(tokenizer: Tokenizer, line: str) -> list[bytes]:
    [ids] = tokenizer.encode([line])
    return [(b" " if tokenizer.joins_with_spaces else b"") + piece for piece in tokenizer.token_bytes(ids)]


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: type(trainer).__name__)
def test_tokens_map_to_whitespace_separated_words(trainer: TokenizerTrainer) -> None:
    tokenizer = trainer.train(LINES)
    for line in [*LINES, *([] if isinstance(trainer, WordTokenizerTrainer) else ["  zwei  rote "]), "Hund"]:
        of_source = source_word_indices(line, tokenizer)
        of_target = [words[0] if words else None for words in target_word_ranges(words_with_spaces(tokenizer, line))]
        count = len(line.split())
        assert len(of_source) == len(of_target) == len(tokenizer.encode([line])[0])
        for words in (of_source, of_target):
            known = [word for word in words if word is not None]
            assert known == sorted(known)
            assert set(known) == set(range(count))
        assert all(source == target for source, target in zip(of_source, of_target, strict=True) if target is not None)


def test_attention_of_a_word_is_the_sum_over_its_tokens() -> None:
    weights = np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 0.0]])
    assert align_words(weights, [0, 1, 1], [range(1), range(1, 2), range(2, 3)]) == [(1, 0), (1, 1)]
    assert align_words(weights, [0, 1, None], [range(1), range(2), range(0)]) == [(0, 0), (1, 1)]
    links = make_word_links([(1, 0), (0, 1)], "ab cd", "xyz  u")
    assert word_index_pairs(links, "ab cd", "xyz  u") == [(0, 1), (1, 0)]
    assert format_pharaoh([(0, 1), (1, 0)]) == "0-1 1-0"


@pytest.mark.parametrize(
    "trainer", [ByteTokenizerTrainer(), BPETokenizerTrainer(vocab_size=300, min_frequency=1)], ids=["byte", "bpe"]
)
def test_arbitrary_output_bytes_are_aligned_as_words(trainer: TokenizerTrainer) -> None:
    """Only ASCII white space separates words, also in output bytes that are not valid UTF-8."""
    tokenizer, draws = trainer.train(LINES), Random(1)
    trained = untrained_model(BAHDANAU, source=tokenizer, target=tokenizer)
    postprocessor = Postprocessor(trained, OutputOptions(alignment=True), "abc", 3)
    for _ in range(200):
        tokens = tuple(draws.choice([*tokenizer.encode(["a b\n\x0bä"])[0], draws.randrange(3, 259)]) for _ in range(9))
        weights = tuple((0.5, 0.2, 0.2, 0.1) for _ in range(10))
        hypothesis = Hypothesis(tokens, -1.0, (-0.1,) * 10, True, weights)
        text = postprocessor.alternative(hypothesis, None).text
        links = postprocessor.alignment(hypothesis) or ()
        assert [other for _, other in word_index_pairs(links, "abc", text)] == list(
            range(len(re.findall(r"(?a:\S+)", text)))
        )


def hypothesis_attending(trained: TrainedModel, source: str, target: str, positions: list[int]) -> Hypothesis:
    """Return a hypothesis whose tokens each attend to a single source position, with padding of a batch."""
    [tokens], [ids] = trained.target_tokenizer.encode([target]), trained.source_tokenizer.encode_rows([source]).split()
    eye = np.eye(len(ids) + 3)
    rows = [tuple(eye[position]) for position in [*positions, len(ids)]]
    return Hypothesis(tuple(tokens), -1.0, (-0.1,) * len(rows), True, tuple(rows))


def test_unknown_words_are_replaced_by_the_attended_source_word() -> None:
    source, target = (
        WordTokenizerTrainer(min_frequency=1).train([text]) for text in ("the old cat sleeps .", "die Katze, schläft .")
    )
    trained = untrained_model(BAHDANAU, source=source, target=target)
    options = OutputOptions(replace_unknown=True, alignment=True, dictionary={"mrs": "Frau Dr."})
    line = "the Mrs Miller-Lang, sleeps"  # the, Mrs, Miller, -, Lang, ",", sleeps
    postprocessor = Postprocessor(trained, options, line, 7)
    hypothesis = hypothesis_attending(trained, line, "die Xx Yy, schläft", [0, 1, 4, 5, 6])
    assert postprocessor.alternative(hypothesis, None).text == "die Frau Dr. Lang, schläft"
    links = postprocessor.alignment(hypothesis) or ()
    assert format_pharaoh(word_index_pairs(links, line, "die Frau Dr. Lang, schläft")) == "0-0 1-1 1-2 2-3 3-4"
    plain = Postprocessor(trained, OutputOptions(), line, 7)
    assert plain.alternative(hypothesis, None).text == "die <unk> <unk>, schläft"
    backward = untrained_model(BAHDANAU, source=source, target=target.reversed())
    reversed_hypothesis = hypothesis._replace(
        tokens=hypothesis.tokens[::-1], attention=(*hypothesis.attention[-2::-1], hypothesis.attention[-1])
    )
    backward_postprocessor = Postprocessor(backward, options, line, 7)
    assert backward_postprocessor.alternative(reversed_hypothesis, None).text == "die Frau Dr. Lang, schläft"
    assert backward_postprocessor.alignment(reversed_hypothesis) == links


def test_constraints_are_checked_after_unknown_word_replacement() -> None:
    """An excluded word can return as a copy from the source."""
    tokenizer = WordTokenizerTrainer(min_frequency=1).train(["the old cat sleeps"])
    trained = untrained_model(BAHDANAU, source=tokenizer, target=tokenizer)

    class FixedSearch(GreedySearch):
        def __call__(self, step: StepFunction, state: State, limit: Tensor, lines: Tensor) -> list[list[Hypothesis]]:
            return [[hypothesis_attending(trained, "the Miller", "the Xx", [0, 1])]]

    translator = Translator(
        trained, FixedSearch(), trained.recipe.translate, output_options=OutputOptions(replace_unknown=True)
    )
    [translation] = translator.translate([Request("the Miller", exclude=("Miller", "Xx"))])
    assert translation.text == "the Miller"
    assert [check.met for check in translation.constraint_checks] == [False, True]


def test_unknown_character_is_replaced_by_a_character() -> None:
    trained = untrained_model(BAHDANAU, source=letter_tokenizer(), target=letter_tokenizer())
    hypothesis = hypothesis_attending(trained, "a é", "dée", [0, 2, 0])
    assert (
        Postprocessor(trained, OutputOptions(replace_unknown=True), "a é", 3).alternative(hypothesis, None).text
        == "dée"
    )


def test_dictionary_is_read_and_looked_up(tmp_path: Path) -> None:
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


def test_unsupported_outputs_are_reported() -> None:
    for family, message in ((CTC, "this model has no decoder"), (SUTSKEVER, "does not attend to the source")):
        trained = untrained_model(family)
        assert message in attention_obstacle(trained)
        with pytest.raises(UserError, match=f"--alignments: .*{message}.*; omit it"):
            check_output_options(trained, OutputOptions(alignment=True), "--alignments")
        check_output_options(trained, OutputOptions(top_tokens=2), "--top-tokens")
    assert attention_obstacle(untrained_model(TRANSFORMER)) == attention_obstacle(untrained_model(BAHDANAU)) == ""
    spelling = untrained_model(BAHDANAU, target=letter_tokenizer(ByteTokenizerTrainer()))
    with pytest.raises(UserError, match="--replace-unknown: the target tokenizer can spell every word"):
        check_output_options(spelling, OutputOptions(replace_unknown=True), "--replace-unknown")


@pytest.mark.parametrize("family", [TRANSFORMER, BAHDANAU], ids=["transformer", "bahdanau"])
def test_record_contains_all_requested_outputs(family: dict[str, Any]) -> None:
    trained = untrained_model(family)
    options = OutputOptions(alignment=True, attention=True, top_tokens=3)
    translator = Translator(
        trained,
        BeamSearch(size=3, n_best=2, length_penalty=GNMTLengthPenalty),
        trained.recipe.translate,
        output_options=options,
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
        for candidates, chosen, score in zip(record["top_tokens"], best["tokens"], best["token_scores"], strict=True):
            assert len(candidates) == 3
            assert [token["score"] for token in candidates] == sorted(
                (token["score"] for token in candidates), reverse=True
            )
            assert {token["token"]: token["score"] for token in candidates}.get(chosen, score) == pytest.approx(score)
            assert candidates[0]["score"] >= score - 1e-9
    plain = Translator(trained, GreedySearch(), trained.recipe.translate).translate(["abc"])[0]
    assert plain.record().keys() == {"source", "text", "score", "truncated", "alternatives"}
    assert plain.alternatives[0].ranking_score == plain.score


def test_alternatives_are_sorted_by_ranking_score() -> None:
    trained = untrained_model(BAHDANAU)
    for search in (
        BeamSearch(size=4, n_best=4, length_penalty=GNMTLengthPenalty, coverage_penalty=0.5, stop_rule="limit"),
        DiverseBeamSearch(size=4, groups=2, n_best=4, length_penalty=WordReward),
        ExhaustiveSearch(n_best=4),
    ):
        translator = Translator(
            trained, search, replace(trained.recipe.translate, max_length_factor=0.5, max_length_extra=1)
        )
        for translation in translator.translate(["abcd", "edc", "b"]):
            ranks = [alternative.ranking_score or 0.0 for alternative in translation.alternatives]
            assert len(set(ranks)) > 1
            assert ranks == sorted(ranks, reverse=True)


def test_top_tokens_do_not_depend_on_the_batch() -> None:
    trained = untrained_model(BAHDANAU)
    translator = Translator(
        trained, GreedySearch(), trained.recipe.translate, output_options=OutputOptions(top_tokens=1)
    )
    lines = ["abcde", "a", "cb"]
    for translation, line in zip(translator.translate(lines), lines, strict=True):
        [alone] = translator.translate([line])
        assert [candidates[0].token for candidates in translation.top_tokens] == [
            candidates[0].token for candidates in alone.top_tokens
        ]
        limit = (
            len(translation.top_tokens) - 1 if not translation.alternatives[0].finished else len(translation.top_tokens)
        )
        assert [candidates[0].token for candidates in translation.top_tokens][:limit] == list(
            translation.alternatives[0].tokens
        )[:limit]


def test_alignments_are_written_to_a_file(tmp_path: Path) -> None:
    tokenizer = CharacterTokenizerTrainer().train(["abc de"])
    trained = untrained_model(BAHDANAU, source=tokenizer, target=tokenizer)
    folder, source = save_model_folder(tmp_path / "model", trained), tmp_path / "input"
    source.write_text("ab cd\n\nab\n", "utf-8")
    outputs = parse_output_options(trained, json=True, alignments=tmp_path / "rows")
    translator = load_translator(folder)
    translator = Translator(translator.trained, BeamSearch(size=2), translator.settings, output_options=outputs)
    write_translations(
        translator.for_text(), read_input_lines(source), tmp_path / "out", as_json=True, alignments=tmp_path / "rows"
    )
    rows = (tmp_path / "rows").read_text("utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").split("\n")[:-1]]
    assert len(rows) == 3
    assert rows[1] == ""
    for row, record in zip(rows, records, strict=True):
        assert row == format_pharaoh(record.get("alignment", []))
        assert {other for _, other in record.get("alignment", [])} <= set(range(len(record["text"].split())))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": True}, "--attention needs --json: add it, or omit --attention"),
        ({"top_tokens": 3}, "--top-tokens needs --json"),
        ({"n_best": 3}, "--n-best needs --json or --interactive"),
        ({"json": True, "dictionary": Path("x")}, "--dictionary needs --replace-unknown"),
    ],
)
def test_missing_companion_option_is_reported(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        translate(Path("model"), **options)
