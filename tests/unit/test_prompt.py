"""A person who types sentences: what each line comes to, without a terminal."""

import builtins
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from unit import models
from unit.untrained import SENTENCE
from weft.control.asking import Asking
from weft.engine.reading import reading_of
from weft.engine.translator import Translator
from weft.inspect.places import written_of
from weft.prompt import loop
from weft.prompt.answering import answer
from weft.prompt.commands import COMMANDS
from weft.prompt.layout import evenly, fitting
from weft.prompt.searching import search_of, telling_all
from weft.prompt.state import State
from weft.search.greedy import Greedy
from weft.text.learners import Character, Whitespace, Word

REFERENCE = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.fixture(scope="module")
def fresh() -> State:
    """A model of whole words, which has learned nothing but has opinions."""
    words = Word(min_count=1).learn([f"{SENTENCE} li kato ruja videt un hundo"])
    trained = models.untrained(models.BAHDANAU, 16, source=words, target=words, translate={"search": "greedy"})
    return State(Translator(trained, Greedy(), trained.recipe.translate))


@pytest.fixture(scope="module")
def begun(fresh: State) -> State:
    """After a sentence."""
    return answer(SENTENCE, fresh).state


def rendered(shown: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(shown)
    return file.getvalue()


def after(state: State, *lines: str) -> State:
    for line in lines:
        state = answer(line, state).state
    return state


def text(state: State) -> str:
    assert state.translation is not None
    return state.translation.text


def test_a_sentence_is_shown_word_by_word(fresh: State, begun: State) -> None:
    shown = rendered(answer(SENTENCE, fresh).shown)
    assert begun.translation is not None
    written = written_of(begun.translation, 3)
    assert text(begun) == fresh.translator.translate([SENTENCE])[0].text
    for number, place in enumerate([*written.places, written.end], 1):
        assert place.name in shown
        assert re.search(rf"\b{number} \d+%", shown)
    assert f"log-probability {written.score:.2f}" in shown


def test_a_blank_line_does_nothing(begun: State) -> None:
    assert answer("  ", begun) == ("", begun)


def test_others_at_a_place_are_chosen_by_their_number(begun: State) -> None:
    shown = rendered(answer(":2", begun).shown)
    assert begun.translation is not None
    place = written_of(begun.translation, 8).places[1]
    assert len(re.findall(r"^ +\d+ .*%", shown, re.MULTILINE)) == len(place.others) > 2
    assert "as it is" in shown
    for number, other in enumerate(place.others, 1):
        chosen = after(begun, f":2 {number}")
        assert text(chosen).startswith(other.prefix)
    assert text(after(begun, ":2 3")) != text(begun)


def test_a_choice_is_taken_back(begun: State) -> None:
    chosen = after(begun, ":1 3", ":2 2")
    assert text(chosen) != text(begun)
    assert text(after(chosen, ":undo")) == text(after(begun, ":1 3"))
    assert after(chosen, ":undo", ":undo").asked == begun.asked
    assert text(after(chosen, ":undo", ":undo")) == text(begun)


def test_a_word_can_be_put_at_a_place(begun: State) -> None:
    assert begun.translation is not None
    [first, second, *_] = written_of(begun.translation, 1).places
    lead = second.text[: len(second.text) - len(second.text.lstrip())]
    assert text(after(begun, ":2 cat")).startswith(f"{first.text}{lead}cat")
    end = len(written_of(begun.translation, 1).places) + 1
    assert text(after(begun, f":{end} cat")).startswith(f"{text(begun)} cat")


def test_a_translation_begins_as_it_is_told(begun: State) -> None:
    chosen = after(begun, ":prefix a cat")
    assert text(chosen).startswith("a cat")
    assert "as chosen up to place 2" in rendered(answer(":prefix a cat", begun).shown)
    assert text(after(chosen, ":prefix")) == text(begun)


def test_another_sentence_begins_anew(begun: State) -> None:
    chosen = after(begun, ":prefix a cat", "the dog")
    assert [one.text for one in chosen.asked] == ["the dog"]
    assert chosen.asked[0].prefix == ""


def test_the_search_is_switched_and_tried_at_once(begun: State) -> None:
    wide = after(begun, ":beam 3")
    assert wide.translation is not None
    assert len(wide.translation.alternatives) == 3
    shown = rendered(answer(":beam 3", begun).shown)
    assert "outputs of the search" in shown
    for one in wide.translation.alternatives:
        assert f"{one.score:.2f}" in shown
    assert search_of(after(wide, ":search {type: diverse, size: 4, groups: 2, best: 2}").translator)["groups"] == 2
    assert rendered(answer(":search", after(begun, ":beam 1")).shown, 300).strip().startswith("{type: beam, size: 1,")
    assert text(after(wide, ":beam 1")) == text(begun)


def test_outputs_are_drawn_and_drawn_again(begun: State) -> None:
    drawn = after(begun, ":sample 4 9.5")
    assert drawn.translation is not None
    assert len(drawn.translation.alternatives) == 4
    assert search_of(drawn.translator)["temperature"] == 9.5
    others = after(drawn, ":again")
    assert search_of(others.translator)["best"] == 4
    assert others.translation != drawn.translation
    assert after(begun, ":sample 4 9.5").translation == drawn.translation


def test_a_search_can_be_switched_before_the_first_sentence(fresh: State) -> None:
    shown, wide = answer(":beam 2", fresh)
    assert "next sentence" in rendered(shown)
    assert after(wide, SENTENCE).translation == after(fresh, SENTENCE, ":beam 2").translation


def test_a_beam_tells_all_that_it_has(fresh: State) -> None:
    assert telling_all(fresh) == fresh
    wide = telling_all(replace(after(fresh, ":beam 3"), settings=("translate.search={type: beam, size: 3}",)))
    assert search_of(wide.translator)["best"] == 3


def test_what_is_asked_of_every_sentence_is_asked(fresh: State) -> None:
    asking = replace(fresh, asking=Asking(prefix="a cat"))
    assert text(after(asking, SENTENCE)).startswith("a cat")


def test_all_words_and_their_others(begun: State) -> None:
    shown = rendered(answer(":words", begun).shown)
    assert begun.translation is not None
    for place in written_of(begun.translation, 8).places:
        assert place.name in shown


def test_attention_is_told_in_percent(begun: State) -> None:
    shown = rendered(answer(":attention", begun).shown)
    assert begun.translation is not None
    assert begun.translation.sight is not None
    looks = begun.translation.sight.looks()
    [head, *rows] = shown.split("\n")[3 : 4 + len(looks.target)]
    assert head.split() == [*looks.source]
    for row, name, weights in zip(rows, looks.target, looks.weights.tolist(), strict=True):
        assert row.split() == [name, *(f"{100 * one:.0f}" if one >= 0.005 else "·" for one in weights)]


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("line", [SENTENCE, ":2", ":words", ":attention", ":beam 3", ":help", ":search", ":bem"])
def test_nothing_is_wider_than_the_terminal(begun: State, line: str, width: int) -> None:
    shown = rendered(answer(line, begun).shown, width)
    assert shown.strip()
    assert max(len(row.rstrip()) for row in shown.split("\n")) <= width


def test_rows_are_filled() -> None:
    assert fitting([3, 3, 3, 30, 1], 14) == [[0, 1], [2], [3], [4]]
    assert fitting([3, 3], 10) == [[0, 1]]
    assert fitting([], 14) == []
    assert evenly([3] * 6, 22) == [[0, 1, 2], [3, 4, 5]]
    assert evenly([3] * 5, 22) == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (":bem 3", "there is no command :bem; is it :beam?"),
        (":xyz", ":help tells all"),
        (":", ":help tells all"),
        (":a", ":a could be :attention or :again: write more of it"),
        (":0", "there is no place 0: the first is 1"),
        (":99", "there is no place 99"),
        (f":{'9' * 5000}", "there is no command"),
        (":2 99", "there is no 99 at place 2: write :2"),
        (":2 猫", "the target's tokenizer has never seen"),
        (":prefix 猫", "the target's tokenizer has never seen"),
        (":beam", 'a number of at least 1, as :beam 5, found ""'),
        (":beam wide", 'found "wide"'),
        (":beam 0", 'found "0"'),
        (":sample 3 warm", 'a temperature is a number above 0, as in :sample 5 0.8, found "warm"'),
        (":sample 3 0", "temperature"),
        (":again", "greedy draws nothing at random"),
        (":undo", "nothing was chosen in this sentence"),
        (":undo 2", ':undo takes nothing after it, and there is "2"'),
        (":search {type: bem}", 'configuration: translate.search: unknown type "bem"; did you mean "beam"?'),
        (":search {type: ", "YAML"),
    ],
)
def test_a_mistake_is_told_and_changes_nothing(begun: State, line: str, told: str) -> None:
    shown, state = answer(line, begun)
    assert told in " ".join(rendered(shown, 300).split())
    assert state is begun


@pytest.mark.parametrize("line", [":1", ":words", ":attention", ":undo", ":prefix a", ":1 2"])
def test_without_a_sentence_there_is_nothing_to_look_at(fresh: State, line: str) -> None:
    shown, state = answer(line, fresh)
    assert "type a sentence first" in rendered(shown)
    assert state is fresh


def test_a_beginning_of_a_name_will_do(begun: State) -> None:
    assert rendered(answer(":att", begun).shown) == rendered(answer(":attention", begun).shown)
    assert text(after(begun, ":b 3")) == text(after(begun, ":beam 3"))


def test_two_colons_begin_a_sentence(fresh: State) -> None:
    assert after(fresh, "::2 cats").asked[0].text == ":2 cats"


def test_every_command_is_told_by_help_and_in_the_reference(begun: State) -> None:
    shown, reference = rendered(answer(":help", begun).shown), REFERENCE.read_text("utf-8")
    for command in COMMANDS:
        written = f":{command.name} {command.arguments}".rstrip()
        assert written in shown
        assert f"`{written}`" in reference


def letters(kind: dict[str, object]) -> State:
    trained = models.untrained(kind)
    settings = trained.recipe.translate
    reading = reading_of(trained, settings.reading, "translate.reading")
    return State(Translator(trained, Greedy(), settings, reading))


def test_a_model_without_steps_tells_what_it_can() -> None:
    """It has probabilities and others, but nothing that could be led."""
    state = after(letters(models.CTC), "abcde")
    assert "no decoder that could look at the source" in rendered(answer(":attention", state).shown)
    assert re.search(r"1 .*%", rendered(answer(":1", state).shown))
    assert "no decoder whose steps could be guided" in rendered(answer(":1 2", state).shown, 300)
    assert "has no decoder, so its frames are read" in rendered(answer(":sample", state).shown, 300)
    assert search_of(after(state, ":beam 4").translator)["type"] == "prefix-beam"


def test_what_a_model_says_cannot_steer_the_terminal() -> None:
    tokenizer = Character().learn(["\x1b\x07[ab"])
    trained = models.untrained(models.BAHDANAU, source=tokenizer, target=tokenizer)
    state = State(Translator(trained, Greedy(), trained.recipe.translate))
    begun = after(state, ":beam 3", "a\x1b[b", ":prefix \x1b\x07")
    assert text(begun).startswith("\x1b\x07")
    for line in (":prefix \x1b\x07", ":1", ":words", ":attention", ":\x1b"):
        shown = rendered(answer(line, begun).shown)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\ufffd" in shown


def test_words_that_look_like_markup_stay_words() -> None:
    words = Whitespace(min_count=1).learn(["[/red] :smile: [bold]"])
    trained = models.untrained(models.BAHDANAU, source=words, target=words)
    begun = after(State(Translator(trained, Greedy(), trained.recipe.translate)), "[bold] a", ":prefix [/red] :smile:")
    for line in (":prefix [/red] :smile:", ":1", ":2", ":words", ":attention", ":[/red]"):
        assert "[/red]" in rendered(answer(line, begun).shown)


def test_letters_are_places_too() -> None:
    """Where a space is a piece by itself, the letter after it is what could be another."""
    tokenizer = Character().learn(["ab ba a b"])
    trained = models.untrained(models.BAHDANAU, source=tokenizer, target=tokenizer)
    begun = after(State(Translator(trained, Greedy(), trained.recipe.translate)), "ab ba", ":prefix ab ba")
    shown = rendered(answer(":2", begun).shown)
    [here] = [row for row in shown.split("\n") if "as it is" in row]
    assert here.split()[1] == "b"


class Typist:
    """Somebody at a terminal, who types lines and presses keys."""

    def __init__(self, *keys: str | BaseException, line: str = ""):
        self.keys, self.line = iter(keys), line

    def input(self, _prompt: str) -> str:
        pressed = next(self.keys, EOFError())
        if isinstance(pressed, BaseException):
            raise pressed
        return pressed


def test_keys_end_it_as_people_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(typist: Typist) -> list[str]:
        monkeypatch.setattr(builtins, "input", typist.input)
        monkeypatch.setattr(loop, "begun", lambda: typist.line)
        return list(loop.typed())

    assert lines(Typist("a", "b", EOFError(), "c")) == ["a", "b"]
    assert lines(Typist("a", KeyboardInterrupt(), "b", line="begun")) == ["a", "b"]
    with pytest.raises(KeyboardInterrupt):
        lines(Typist("a", KeyboardInterrupt(), "b"))


def test_what_takes_too_long_is_broken_off(begun: State, monkeypatch: pytest.MonkeyPatch) -> None:
    typist, states, file = Typist("one", "two", ":quit", "three"), [begun], io.StringIO()

    def slow(line: str, state: State) -> object:
        states.append(state)
        if line == "one":
            raise KeyboardInterrupt
        return answer(line, state)

    monkeypatch.setattr(builtins, "input", typist.input)
    monkeypatch.setattr(loop, "answer", slow)
    loop.converse(begun, Console(file=file, width=80))
    assert "broken off" in file.getvalue()
    assert states[2] is begun
    assert next(typist.keys) == "three"
