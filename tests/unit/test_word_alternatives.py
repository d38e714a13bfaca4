"""Words that could stand in place of a word of a translation, and the scale of probabilities."""

import math
import re

import pytest

from unit import models
from unit.translators import SENTENCE, untrained_translator
from weft.decoding.constraints.request import Request
from weft.decoding.greedy import GreedySearch
from weft.inference.probability_scale import LEVELS, probability_level
from weft.inference.translator import Translator
from weft.serve.app import PAGE_FOLDER
from weft.text.tokenizer_training import BPETokenizerTrainer, CharacterTokenizerTrainer
from weft.text.word_alignment import begins_word
from weft.visualize.word_alternatives import annotate_translation, word_alternatives


def subword_translator() -> Translator:
    """An untrained model whose words have several tokens."""
    tokenizer = BPETokenizerTrainer(vocab_size=24, min_frequency=1, byte_fallback=False).train([SENTENCE])
    trained = models.untrained_model(models.BAHDANAU, 16, source=tokenizer, target=tokenizer)
    return Translator(trained, GreedySearch(), trained.recipe.translate)


def test_alternatives_are_whole_words() -> None:
    translator, lengths = subword_translator(), set[int]()
    tokenizer = translator.trained.target_tokenizer
    [translation] = translator.translate([Request(SENTENCE, "the red cat")])
    for word in annotate_translation(translation).words[:3]:
        alternatives = word_alternatives(translation, word, 8)
        assert [other.name for other in alternatives if other.is_current] == [word.name]
        assert len({other.prefix for other in alternatives}) == len(alternatives) > 2
        for other in alternatives:
            lengths.add(len(tokenizer.encode([other.name])[0]))
            assert other.prefix.endswith(other.name)
            assert " " not in other.name
            assert word.first == 0 or other.prefix[: -len(other.name)].rstrip(" ") in translation.text
    assert max(lengths) > 2


def test_score_of_an_alternative_is_that_of_its_tokens() -> None:
    translator = untrained_translator("transformer")
    [translation] = translator.translate([SENTENCE])
    word = annotate_translation(translation).words[0]
    [current] = [other for other in word_alternatives(translation, word, 8) if other.is_current]
    assert current.name == word.name
    assert current.score == pytest.approx(sum(word.scores))


def test_letters_are_the_words_of_a_text_that_is_spelled() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["abcde"])
    trained = models.untrained_model(models.BAHDANAU, source=tokenizer, target=tokenizer)
    [translation] = Translator(trained, GreedySearch(), trained.recipe.translate).translate([Request("abc", "de")])
    words = annotate_translation(translation).words
    assert all(len(word.name) == 1 for word in words)
    assert all(len(other.name) == 1 for other in word_alternatives(translation, words[1], 5))


@pytest.mark.parametrize(("text", "starts"), [("the cat", [3]), ("a, cat", [1, 2]), ("(a)", [1, 2])])
def test_words_begin_after_spaces_and_at_punctuation(text: str, starts: list[int]) -> None:
    tokenizer = CharacterTokenizerTrainer().train(["(the cat), at a cat"])
    [ids] = tokenizer.encode([text])
    assert [number for number in range(1, len(ids)) if begins_word(ids[number - 1], ids[number], tokenizer)] == starts


def test_probability_has_the_level_of_its_range() -> None:
    levels = [(1.0, "high"), (0.75, "high"), (0.74, "medium"), (0.5, "medium"), (0.49, "low"), (0.0, "low")]
    assert [probability_level(probability).name for probability, _ in levels] == [name for _, name in levels]
    assert probability_level(math.nan).name == "low"


def test_playground_has_the_same_scale() -> None:
    legend, style = ((PAGE_FOLDER / name).read_text("utf-8") for name in ("legend.js", "style.css"))
    rows = re.findall(r'name: "(\w+)", minimum: ([\d.]+), description: "([^"]+)"', legend)
    assert [(name, float(minimum), text) for name, minimum, text in rows] == [level[:3] for level in LEVELS]
    for level in LEVELS:
        assert f"--{level.name}: {level.color};" in style
        assert f".probability.{level.name} {{ border-bottom: 3px {level.line} var(--{level.name}); }}" in style
