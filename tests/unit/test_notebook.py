"""HTML display of a translation in a notebook."""

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from unit import models
from unit.html_elements import Elements
from unit.translators import SENTENCE, untrained_translator
from weft.core.padded import Padded
from weft.core.state import Hypothesis
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request
from weft.decoding.greedy import GreedySearch
from weft.decoding.sampling import Sampling
from weft.inference.loader import make_frame_decoder
from weft.inference.postprocessor import OutputOptions, attention_matrix
from weft.inference.translation import EMPTY_OUTPUT, FAILED_OUTPUT, Translation
from weft.inference.translator import EncodedRequest, Translator
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.visualize.attention_weights import attention_map


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def translator(request: pytest.FixtureRequest) -> Translator:
    return untrained_translator(request.param, BeamSearch(size=3, n_best=3))


def character_translator(model: dict[str, object], frame_decoder: str = "best-path") -> Translator:
    trained = models.untrained_model(model, translate={"frame_decoder": frame_decoder})
    settings = trained.recipe.translate
    return Translator(
        trained,
        GreedySearch(),
        settings,
        make_frame_decoder(trained, settings.frame_decoder, "translate.frame_decoder"),
    )


def displayed(translation: Translation) -> Elements:
    return Elements(translation._repr_html_())


def columns(elements: Elements) -> list[str]:
    """Return the titles of the column headers."""
    return [value or "" for name, value in elements.attributes if name == "title"]


def test_attention_matches_the_attention_map(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    assert translation.analysis is not None
    attention, expected = translation.analysis.word_attention(), attention_map(translator, SENTENCE)
    assert (attention.source, attention.target) == (expected.source, expected.target)
    np.testing.assert_allclose(attention.weights, expected.weights, atol=1e-6)


def test_sampled_text_is_not_sampled_again() -> None:
    """Sampling again with another seed would give another text."""
    trained = models.untrained_model(models.BAHDANAU)
    translations = Translator(trained, Sampling(temperature=3.0), trained.recipe.translate).translate(["abcde"] * 8)
    assert len({translation.text for translation in translations}) > 1
    for translation in translations:
        assert translation.analysis is not None
        assert "".join(word.text for word in translation.analysis.words()) == translation.text
        assert translation.analysis.word_attention().target[:-1] == tuple(
            word.name for word in translation.analysis.words()
        )


def test_source_and_target_words_and_weights_are_displayed(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    assert translation.analysis is not None
    elements = displayed(translation)
    attention = translation.analysis.word_attention()
    cells = [f"{100 * value:.0f}" for row in attention.weights.tolist() for value in row if value >= 0.005]
    assert [word for word in elements.words if word in set(cells)] == cells
    assert set(attention.source) <= set(columns(elements))
    assert [*attention.target] == [word for word in elements.words if word in attention.target][
        -len(attention.target) :
    ]
    assert SENTENCE in elements.words
    for number in (translation.score, *(alternative.score for alternative in translation.alternatives[1:])):
        assert any(f"{number:.2f}" in word for word in elements.words)
    assert "2 alternatives" in elements.words


def test_attention_is_computed_on_display(monkeypatch: pytest.MonkeyPatch) -> None:
    translator, calls, original = untrained_translator("bahdanau"), list[int](), Translator.forced

    def forced(self: Translator, batch: Sequence[EncodedRequest], targets: Padded) -> list[Hypothesis]:
        calls.append(len(batch))
        return original(self, batch, targets)

    monkeypatch.setattr(Translator, "forced", forced)
    [translation] = translator.translate([SENTENCE])
    assert repr([translation])
    assert calls == []
    assert "<table" in translation._repr_html_()
    assert calls == [1]


def test_text_is_escaped() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["<b>&'\"ab"])
    trained = models.untrained_model(models.BAHDANAU, source=tokenizer, target=tokenizer)
    translator = Translator(trained, Sampling(n_best=20, temperature=9.0), trained.recipe.translate)
    for line in ("<b>a</b>", '"><script>alert(1)</script>', "a\x00\x1b[1m\udce9"):
        [translation] = translator.translate([line])
        assert "<" in "".join(alternative.text for alternative in translation.alternatives)
        elements = displayed(translation)
        assert not {"b", "script", "img"} & set(elements.names)
        assert not any(name.startswith("on") for name, _ in elements.attributes)
        assert "\x1b" not in translation._repr_html_()


def test_html_is_self_contained(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    elements = displayed(translation)
    assert not {"script", "link", "iframe", "img", "object"} & set(elements.names)
    # An id would be duplicated in a notebook.
    assert not {"src", "href", "id"} & {name for name, _ in elements.attributes}
    assert not any(word in translation._repr_html_() for word in ("url(", "http", "@import"))
    style = elements.words[0]
    rules = [rule.partition("{")[0] for rule in style.split("}") if rule.strip()]
    assert all(selector.strip().startswith(".weft-translation") for rule in rules for selector in rule.split(","))


def test_repr_is_short(translator: Translator) -> None:
    [translation] = translator.translate([f"{SENTENCE}\n" * 300])
    assert len(repr(translation)) < 200
    assert "\n" not in repr(translation)
    [translation] = translator.translate(["the cat"])
    assert repr([translation]) == f"[Translation('the cat' -> {translation.text!r}, score={translation.score:.4f})]"


def test_copies_do_not_hold_the_model(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    pickled = pickle.dumps(translation)
    assert len(pickled) < 5000
    for restored in (pickle.loads(pickled), copy.copy(translation), copy.deepcopy(translation)):
        assert restored == translation
        assert restored.analysis is None
        assert translation.analysis is not None
        elements = displayed(restored)
        assert any("stored without its model" in word for word in elements.words)
        assert "<end>" in columns(elements)


def test_requested_attention_is_displayed_without_the_model(translator: Translator) -> None:
    [translation] = replace(translator, output_options=OutputOptions(attention=True)).translate([SENTENCE])
    assert translation.attention is not None
    html = replace(translation, analysis=None)._repr_html_()
    assert "Attention of each token" in html
    assert columns(Elements(html))[-1] == "<end>"


@pytest.mark.parametrize(
    ("translator", "reason"),
    [
        (character_translator(models.CTC), "This model has no decoder"),
        (character_translator(models.ALIGNED, "position-wise"), "This model has no decoder"),
        (character_translator(models.SUTSKEVER), "The decoder of this model does not attend to the source"),
    ],
    ids=["ctc", "instant", "sutskever"],
)
def test_probabilities_are_displayed_without_attention(translator: Translator, reason: str) -> None:
    [translation] = translator.translate(["abcde"])
    html = translation._repr_html_()
    assert reason in html
    assert "Probability of each word" in html
    assert columns(Elements(html))[-1] == "<end>"


def test_right_to_left_output_is_displayed_left_to_right() -> None:
    target = models.letter_tokenizer().reversed()
    trained = models.untrained_model(models.BAHDANAU, target=target)
    translator = Translator(trained, Sampling(temperature=3.0, seed=2), trained.recipe.translate)
    [translation] = translator.translate(["abcde"])
    assert translation.analysis is not None
    assert len(set(translation.text)) > 1
    words, attention = translation.analysis.words(), translation.analysis.word_attention()
    assert "".join(word.text for word in words) == "".join(word.name for word in words) == translation.text
    assert [word.first for word in words] == [*range(len(words))][::-1]
    assert "".join(attention.target[:-1]) == translation.text
    [[hypothesis]] = translator.search_batch(translator.encode([Request("abcde")], [0]))
    np.testing.assert_allclose(attention.weights[:-1], attention_matrix(hypothesis, 5)[:-1][::-1], atol=1e-9)


@pytest.mark.parametrize(
    ("translation", "message"),
    [
        (Translation("", (EMPTY_OUTPUT,)), ""),
        (Translation("a", (FAILED_OUTPUT,)), "gives no translation a probability"),
        (Translation("a", (EMPTY_OUTPUT._replace(text="b", score=-1.0),), truncated=True), "was truncated"),
    ],
)
def test_translation_without_words_has_no_table(translation: Translation, message: str) -> None:
    html = translation._repr_html_()
    assert message in html
    assert "<table" not in html


def test_line_of_several_sentences_is_displayed_sentence_by_sentence(translator: Translator) -> None:
    translation = translator.translate("the cat sees. the dog sees.")
    line = replace(translation, sentences=(translation, translation))
    assert line._repr_html_() == 2 * translation._repr_html_()
