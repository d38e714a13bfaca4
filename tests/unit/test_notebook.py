"""A translation as the last value of a cell: what a notebook is given to show."""

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from unit import models
from unit.elements import Elements
from unit.untrained import SENTENCE, untrained
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
from weft.visualize.attention_maps import attention_map
from weft.visualize.translation_trace import trace_translation


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def translator(request: pytest.FixtureRequest) -> Translator:
    return untrained(request.param, BeamSearch(size=3, n_best=3))


def of_letters(kind: dict[str, object], reading: str = "best-path") -> Translator:
    trained = models.untrained(kind, translate={"frame_decoder": reading})
    settings = trained.recipe.translate
    return Translator(
        trained,
        GreedySearch(),
        settings,
        make_frame_decoder(trained, settings.frame_decoder, "translate.frame_decoder"),
    )


def shown(translation: Translation) -> Elements:
    return Elements(translation._repr_html_())


def columns(found: Elements) -> list[str]:
    """The titles of the columns' names."""
    return [value or "" for name, value in found.attributes if name == "title"]


def test_what_is_seen_is_what_the_search_saw(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    assert translation.analysis is not None
    looks, drawn = translation.analysis.word_attention(), attention_map(translator, SENTENCE)
    assert (looks.source, looks.target) == (drawn.source, drawn.target)
    np.testing.assert_allclose(looks.weights, drawn.weights, atol=1e-6)


def test_a_text_that_was_drawn_is_not_drawn_again() -> None:
    """Another seed than that of its line would draw another one."""
    trained = models.untrained(models.BAHDANAU)
    translations = Translator(trained, Sampling(temperature=3.0), trained.recipe.translate).translate(["abcde"] * 8)
    assert len({one.text for one in translations}) > 1
    for one in translations:
        assert one.analysis is not None
        assert "".join(word.text for word in one.analysis.words()) == one.text
        assert one.analysis.word_attention().target[:-1] == tuple(word.name for word in one.analysis.words())


def test_the_words_of_both_sides_and_their_weights_are_shown(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    assert translation.analysis is not None
    found = shown(translation)
    looks = translation.analysis.word_attention()
    cells = [f"{100 * value:.0f}" for row in looks.weights.tolist() for value in row if value >= 0.005]
    assert [word for word in found.words if word in set(cells)] == cells
    assert set(looks.source) <= set(columns(found))
    assert [*looks.target] == [word for word in found.words if word in looks.target][-len(looks.target) :]
    assert SENTENCE in found.words
    for number in (translation.score, *(one.score for one in translation.alternatives[1:])):
        assert any(f"{number:.2f}" in word for word in found.words)
    assert "2 alternatives" in found.words


def test_nothing_is_looked_at_before_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    translator, looks, really = untrained("bahdanau"), list[int](), Translator.forced

    def forced(self: Translator, batch: Sequence[EncodedRequest], targets: Padded) -> list[Hypothesis]:
        looks.append(len(batch))
        return really(self, batch, targets)

    monkeypatch.setattr(Translator, "forced", forced)
    [translation] = translator.translate([SENTENCE])
    assert repr([translation])
    assert looks == []
    assert "<table" in translation._repr_html_()
    assert looks == [1]


def test_text_stays_text() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["<b>&'\"ab"])
    trained = models.untrained(models.BAHDANAU, source=tokenizer, target=tokenizer)
    translator = Translator(trained, Sampling(n_best=20, temperature=9.0), trained.recipe.translate)
    for line in ("<b>a</b>", '"><script>alert(1)</script>', "a\x00\x1b[1m\udce9"):
        [translation] = translator.translate([line])
        assert "<" in "".join(one.text for one in translation.alternatives)
        found = shown(translation)
        assert not {"b", "script", "img"} & set(found.names)
        assert not any(name.startswith("on") for name, _ in found.attributes)
        assert "\x1b" not in translation._repr_html_()


def test_it_needs_nothing_else(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    found = shown(translation)
    assert not {"script", "link", "iframe", "img", "object"} & set(found.names)
    assert not {"src", "href", "id"} & {name for name, _ in found.attributes}  # an id would come twice in a notebook
    assert not any(word in translation._repr_html_() for word in ("url(", "http", "@import"))
    style = found.words[0]
    rules = [rule.partition("{")[0] for rule in style.split("}") if rule.strip()]
    assert all(one.strip().startswith(".weft-translation") for rule in rules for one in rule.split(","))


def test_a_short_description_whatever_the_lines_hold(translator: Translator) -> None:
    [translation] = translator.translate([f"{SENTENCE}\n" * 300])
    assert len(repr(translation)) < 200
    assert "\n" not in repr(translation)
    [one] = translator.translate(["the cat"])
    assert repr([one]) == f"[Translation('the cat' -> {one.text!r}, score={one.score:.4f})]"


def test_a_copy_that_is_kept_is_without_the_model(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    kept = pickle.dumps(translation)
    assert len(kept) < 5000
    for again in (pickle.loads(kept), copy.copy(translation), copy.deepcopy(translation)):
        assert again == translation
        assert again.analysis is None
        assert translation.analysis is not None
        found = shown(again)
        assert any("stored without its model" in word for word in found.words)
        assert "<end>" in columns(found)


def test_what_was_told_with_the_translation_is_shown_without_the_model(translator: Translator) -> None:
    [translation] = replace(translator, output_options=OutputOptions(attention=True)).translate([SENTENCE])
    assert translation.attention is not None
    html = replace(translation, analysis=None)._repr_html_()
    assert "Attention of each token" in html
    assert columns(Elements(html))[-1] == "<end>"


@pytest.mark.parametrize(
    ("translator", "reason"),
    [
        (of_letters(models.CTC), "This model has no decoder"),
        (of_letters(models.INSTANT, "position-wise"), "This model has no decoder"),
        (of_letters(models.SUTSKEVER), "The decoder of this model does not attend to the source"),
    ],
    ids=["ctc", "instant", "sutskever"],
)
def test_without_attention_the_probabilities_are_left(translator: Translator, reason: str) -> None:
    [translation] = translator.translate(["abcde"])
    html = translation._repr_html_()
    assert reason in html
    assert "Probability of each word" in html
    assert columns(Elements(html))[-1] == "<end>"


def test_a_line_that_is_said_backward_is_shown_forward() -> None:
    target = models.letters().reversed()
    trained = models.untrained(models.BAHDANAU, target=target)
    translator = Translator(trained, Sampling(temperature=3.0, seed=2), trained.recipe.translate)
    [translation] = translator.translate(["abcde"])
    assert translation.analysis is not None
    assert len(set(translation.text)) > 1
    words, looks = translation.analysis.words(), translation.analysis.word_attention()
    assert "".join(word.text for word in words) == "".join(word.name for word in words) == translation.text
    assert [word.first for word in words] == [*range(len(words))][::-1]
    assert "".join(looks.target[:-1]) == translation.text
    hypothesis = trace_translation(translator, "abcde").hypothesis
    np.testing.assert_allclose(looks.weights[:-1], attention_matrix(hypothesis, 5)[:-1][::-1], atol=1e-9)


@pytest.mark.parametrize(
    ("translation", "told"),
    [
        (Translation("", (EMPTY_OUTPUT,)), ""),
        (Translation("a", (FAILED_OUTPUT,)), "gives no translation a probability"),
        (Translation("a", (EMPTY_OUTPUT._replace(text="b", score=-1.0),), truncated=True), "was truncated"),
    ],
)
def test_little_is_shown_of_little(translation: Translation, told: str) -> None:
    html = translation._repr_html_()
    assert told in html
    assert "<table" not in html


def test_a_line_that_was_cut_at_its_spans_is_shown_by_its_pieces(translator: Translator) -> None:
    [translation] = translator.translate([Request("the cat https://a.b/c sees", protect=("urls",))])
    assert translation.protected[0].method == "split"
    found = shown(translation)
    assert "https://a.b/c" in columns(found)
    assert any("joined from parts" in word for word in found.words)
