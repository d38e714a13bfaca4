"""A translation as the last value of a cell: what a notebook is given to show."""

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from unit import models
from unit.test_comparison_page import Elements
from unit.untrained import SENTENCE, untrained
from weft.control.request import Request
from weft.core.padded import Padded
from weft.core.state import Hypothesis
from weft.engine.asked import Asked
from weft.engine.finding import Finder
from weft.engine.reading import reading_of
from weft.engine.telling import weights_of
from weft.engine.translation import FAILED, NOTHING, Translation
from weft.engine.translator import Translator
from weft.engine.wanted import Wanted
from weft.inspect.attention import align
from weft.inspect.translating import translate
from weft.search.beam import Beam
from weft.search.greedy import Greedy
from weft.search.sampling import Sampling
from weft.text.learners import Character


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def translator(request: pytest.FixtureRequest) -> Translator:
    return untrained(request.param, Beam(size=3, best=3))


def of_letters(kind: dict[str, object], reading: str = "best-path") -> Translator:
    trained = models.untrained(kind, translate={"reading": reading})
    settings = trained.recipe.translate
    return Translator(trained, Greedy(), settings, reading_of(trained, settings.reading, "translate.reading"))


def shown(translation: Translation) -> Elements:
    return Elements(translation._repr_html_())


def columns(found: Elements) -> list[str]:
    """The titles of the columns' names."""
    return [value or "" for name, value in found.attributes if name == "title"]


def test_what_is_seen_is_what_the_search_saw(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    assert translation.sight is not None
    looks, drawn = translation.sight.looks(), align(translator, SENTENCE)
    assert (looks.source, looks.target) == (drawn.source, drawn.target)
    np.testing.assert_allclose(looks.weights, drawn.weights, atol=1e-6)


def test_a_text_that_was_drawn_is_not_drawn_again() -> None:
    """Another seed than that of its line would draw another one."""
    trained = models.untrained(models.BAHDANAU)
    translations = Translator(trained, Sampling(temperature=3.0), trained.recipe.translate).translate(["abcde"] * 8)
    assert len({one.text for one in translations}) > 1
    for one in translations:
        assert one.sight is not None
        assert "".join(word.text for word in one.sight.words()) == one.text
        assert one.sight.looks().target[:-1] == tuple(word.name for word in one.sight.words())


def test_the_words_of_both_sides_and_their_weights_are_shown(translator: Translator) -> None:
    [translation] = translator.translate([SENTENCE])
    assert translation.sight is not None
    found = shown(translation)
    looks = translation.sight.looks()
    cells = [f"{100 * value:.0f}" for row in looks.weights.tolist() for value in row if value >= 0.005]
    assert [word for word in found.words if word in set(cells)] == cells
    assert set(looks.source) <= set(columns(found))
    assert [*looks.target] == [word for word in found.words if word in looks.target][-len(looks.target) :]
    assert SENTENCE in found.words
    for number in (translation.score, *(one.score for one in translation.alternatives[1:])):
        assert any(f"{number:.2f}" in word for word in found.words)
    assert "2 alternatives" in found.words


def test_nothing_is_looked_at_before_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    translator, looks, really = untrained("bahdanau"), list[int](), Finder.forced

    def forced(finder: Finder, asked: Sequence[Asked], targets: Padded) -> list[Hypothesis]:
        looks.append(len(asked))
        return really(finder, asked, targets)

    monkeypatch.setattr(Finder, "forced", forced)
    [translation] = translator.translate([SENTENCE])
    assert repr([translation])
    assert looks == []
    assert "<table" in translation._repr_html_()
    assert looks == [1]


def test_text_stays_text() -> None:
    tokenizer = Character().learn(["<b>&'\"ab"])
    trained = models.untrained(models.BAHDANAU, source=tokenizer, target=tokenizer)
    translator = Translator(trained, Sampling(best=20, temperature=9.0), trained.recipe.translate)
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
        assert again.sight is None
        assert translation.sight is not None
        found = shown(again)
        assert any("kept without its model" in word for word in found.words)
        assert "<end>" in columns(found)


def test_what_was_told_with_the_translation_is_shown_without_the_model(translator: Translator) -> None:
    [translation] = replace(translator, wanted=Wanted(attention=True)).translate([SENTENCE])
    assert translation.looked is not None
    html = replace(translation, sight=None)._repr_html_()
    assert "Where each piece looked" in html
    assert columns(Elements(html))[-1] == "<end>"


@pytest.mark.parametrize(
    ("translator", "reason"),
    [
        (of_letters(models.CTC), "This model has no decoder that could look at the source"),
        (of_letters(models.INSTANT, "positions"), "This model has no decoder that could look at the source"),
        (of_letters(models.SUTSKEVER), "The decoder of this model does not look at the source"),
    ],
    ids=["ctc", "instant", "sutskever"],
)
def test_without_attention_the_probabilities_are_left(translator: Translator, reason: str) -> None:
    [translation] = translator.translate(["abcde"])
    html = translation._repr_html_()
    assert reason in html
    assert "How probable each word was" in html
    assert columns(Elements(html))[-1] == "<end>"


def test_a_line_that_is_said_backward_is_shown_forward() -> None:
    target = models.letters().backward()
    trained = models.untrained(models.BAHDANAU, target=target)
    translator = Translator(trained, Sampling(temperature=3.0, seed=2), trained.recipe.translate)
    [translation] = translator.translate(["abcde"])
    assert translation.sight is not None
    assert len(set(translation.text)) > 1
    words, looks = translation.sight.words(), translation.sight.looks()
    assert "".join(word.text for word in words) == "".join(word.name for word in words) == translation.text
    assert [word.first for word in words] == [*range(len(words))][::-1]
    assert "".join(looks.target[:-1]) == translation.text
    hypothesis = translate(translator, "abcde").hypothesis
    np.testing.assert_allclose(looks.weights[:-1], weights_of(hypothesis, 5)[:-1][::-1], atol=1e-9)


@pytest.mark.parametrize(
    ("translation", "told"),
    [
        (Translation("", (NOTHING,)), ""),
        (Translation("a", (FAILED,)), "finds no translation possible"),
        (Translation("a", (NOTHING._replace(text="b", score=-1.0),), cut=True), "was cut"),
    ],
)
def test_little_is_shown_of_little(translation: Translation, told: str) -> None:
    html = translation._repr_html_()
    assert told in html
    assert "<table" not in html


def test_a_line_that_was_cut_at_its_spans_is_shown_by_its_pieces(translator: Translator) -> None:
    [translation] = translator.translate([Request("the cat https://a.b/c sees", protect=("urls",))])
    assert translation.protected[0].by == "cutting"
    found = shown(translation)
    assert "https://a.b/c" in columns(found)
    assert any("put together from parts" in word for word in found.words)
