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
from weft.cli import prompt
from weft.cli.prompt import COMMANDS, PromptState, answer_line, search_settings, with_all_outputs
from weft.cli.prompt_display import balance_rows, fit_rows
from weft.decoding.constraints.request_reader import RequestReader
from weft.decoding.greedy import GreedySearch
from weft.inference.loader import make_frame_decoder
from weft.inference.translator import Translator
from weft.text.tokenizer_training import CharacterTokenizerTrainer, WhitespaceTokenizerTrainer, WordTokenizerTrainer
from weft.visualize.word_alternatives import annotate_translation

REFERENCE = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.fixture(scope="module")
def fresh() -> PromptState:
    """A model of whole words, which has learned nothing but has opinions."""
    words = WordTokenizerTrainer(min_frequency=1).train([f"{SENTENCE} li kato ruja videt un hundo"])
    trained = models.untrained(models.BAHDANAU, 16, source=words, target=words, translate={"search": "greedy"})
    return PromptState(Translator(trained, GreedySearch(), trained.recipe.translate))


@pytest.fixture(scope="module")
def begun(fresh: PromptState) -> PromptState:
    """After a sentence."""
    return answer_line(SENTENCE, fresh).state


def rendered(shown: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(shown)
    return file.getvalue()


def after(state: PromptState, *lines: str) -> PromptState:
    for line in lines:
        state = answer_line(line, state).state
    return state


def text(state: PromptState) -> str:
    assert state.translation is not None
    return state.translation.text


def test_a_sentence_is_shown_word_by_word(fresh: PromptState, begun: PromptState) -> None:
    shown = rendered(answer_line(SENTENCE, fresh).shown)
    assert begun.translation is not None
    written = annotate_translation(begun.translation, 3)
    assert text(begun) == fresh.translator.translate([SENTENCE])[0].text
    for number, place in enumerate([*written.words, written.end], 1):
        assert place.name in shown
        assert re.search(rf"\b{number} \d+%", shown)
    assert f"log-probability {written.score:.2f}" in shown


def test_a_blank_line_does_nothing(begun: PromptState) -> None:
    assert answer_line("  ", begun) == ("", begun)


def test_others_at_a_place_are_chosen_by_their_number(begun: PromptState) -> None:
    shown = rendered(answer_line(":2", begun).shown)
    assert begun.translation is not None
    place = annotate_translation(begun.translation, 8).words[1]
    assert len(re.findall(r"^ +\d+ .*%", shown, re.MULTILINE)) == len(place.alternatives) > 2
    assert "current" in shown
    for number, other in enumerate(place.alternatives, 1):
        chosen = after(begun, f":2 {number}")
        assert text(chosen).startswith(other.prefix)
    assert text(after(begun, ":2 3")) != text(begun)


def test_a_choice_is_taken_back(begun: PromptState) -> None:
    chosen = after(begun, ":1 3", ":2 2")
    assert text(chosen) != text(begun)
    assert text(after(chosen, ":undo")) == text(after(begun, ":1 3"))
    assert after(chosen, ":undo", ":undo").requests == begun.requests
    assert text(after(chosen, ":undo", ":undo")) == text(begun)


def test_a_word_can_be_put_at_a_place(begun: PromptState) -> None:
    assert begun.translation is not None
    [first, second, *_] = annotate_translation(begun.translation, 1).words
    lead = second.text[: len(second.text) - len(second.text.lstrip())]
    assert text(after(begun, ":2 cat")).startswith(f"{first.text}{lead}cat")
    end = len(annotate_translation(begun.translation, 1).words) + 1
    assert text(after(begun, f":{end} cat")).startswith(f"{text(begun)} cat")


def test_a_translation_begins_as_it_is_told(begun: PromptState) -> None:
    chosen = after(begun, ":prefix a cat")
    assert text(chosen).startswith("a cat")
    assert "chosen up to position 2" in rendered(answer_line(":prefix a cat", begun).shown)
    assert text(after(chosen, ":prefix")) == text(begun)


def test_another_sentence_begins_anew(begun: PromptState) -> None:
    chosen = after(begun, ":prefix a cat", "the dog")
    assert [one.text for one in chosen.requests] == ["the dog"]
    assert chosen.requests[0].prefix == ""


def test_the_search_is_switched_and_tried_at_once(begun: PromptState) -> None:
    wide = after(begun, ":beam 3")
    assert wide.translation is not None
    assert len(wide.translation.alternatives) == 3
    shown = rendered(answer_line(":beam 3", begun).shown)
    assert "outputs of the search" in shown
    for one in wide.translation.alternatives:
        assert f"{one.score:.2f}" in shown
    assert (
        search_settings(after(wide, ":search {type: diverse, size: 4, groups: 2, n_best: 2}").translator)["groups"] == 2
    )
    assert (
        rendered(answer_line(":search", after(begun, ":beam 1")).shown, 300).strip().startswith("{type: beam, size: 1,")
    )
    assert text(after(wide, ":beam 1")) == text(begun)


def test_outputs_are_drawn_and_drawn_again(begun: PromptState) -> None:
    drawn = after(begun, ":sample 4 9.5")
    assert drawn.translation is not None
    assert len(drawn.translation.alternatives) == 4
    assert search_settings(drawn.translator)["temperature"] == 9.5
    others = after(drawn, ":resample")
    assert search_settings(others.translator)["n_best"] == 4
    assert others.translation != drawn.translation
    assert after(begun, ":sample 4 9.5").translation == drawn.translation


def test_a_search_can_be_switched_before_the_first_sentence(fresh: PromptState) -> None:
    shown, wide = answer_line(":beam 2", fresh)
    assert "next sentence" in rendered(shown)
    assert after(wide, SENTENCE).translation == after(fresh, SENTENCE, ":beam 2").translation


def test_a_beam_tells_all_that_it_has(fresh: PromptState) -> None:
    assert with_all_outputs(fresh) == fresh
    wide = with_all_outputs(replace(after(fresh, ":beam 3"), settings=("translate.search={type: beam, size: 3}",)))
    assert search_settings(wide.translator)["n_best"] == 3


def test_what_is_asked_of_every_sentence_is_asked(fresh: PromptState) -> None:
    asking = replace(fresh, reader=RequestReader(prefix="a cat"))
    assert text(after(asking, SENTENCE)).startswith("a cat")


def test_all_words_and_their_others(begun: PromptState) -> None:
    shown = rendered(answer_line(":words", begun).shown)
    assert begun.translation is not None
    for place in annotate_translation(begun.translation, 8).words:
        assert place.name in shown


def test_attention_is_told_in_percent(begun: PromptState) -> None:
    shown = rendered(answer_line(":attention", begun).shown)
    assert begun.translation is not None
    assert begun.translation.analysis is not None
    looks = begun.translation.analysis.word_attention()
    [head, *rows] = shown.split("\n")[3 : 4 + len(looks.target)]
    assert head.split() == [*looks.source]
    for row, name, weights in zip(rows, looks.target, looks.weights.tolist(), strict=True):
        assert row.split() == [name, *(f"{100 * one:.0f}" if one >= 0.005 else "·" for one in weights)]


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("line", [SENTENCE, ":2", ":words", ":attention", ":beam 3", ":help", ":search", ":bem"])
def test_nothing_is_wider_than_the_terminal(begun: PromptState, line: str, width: int) -> None:
    shown = rendered(answer_line(line, begun).shown, width)
    assert shown.strip()
    assert max(len(row.rstrip()) for row in shown.split("\n")) <= width


def test_rows_are_filled() -> None:
    assert fit_rows([3, 3, 3, 30, 1], 14) == [[0, 1], [2], [3], [4]]
    assert fit_rows([3, 3], 10) == [[0, 1]]
    assert fit_rows([], 14) == []
    assert balance_rows([3] * 6, 22) == [[0, 1, 2], [3, 4, 5]]
    assert balance_rows([3] * 5, 22) == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (":bem 3", "unknown command :bem; did you mean :beam?"),
        (":xyz", ":help lists all"),
        (":", ":help lists all"),
        (":s", ":s could be :sample or :search: type more of it"),
        (":0", "there is no position 0: the first is 1"),
        (":99", "there is no position 99"),
        (f":{'9' * 5000}", "unknown command"),
        (":2 99", "there is no alternative 99 at position 2: type :2"),
        (":2 猫", "the target tokenizer does not know"),
        (":prefix 猫", "the target tokenizer does not know"),
        (":beam", 'a number of at least 1, for example :beam 5, found ""'),
        (":beam wide", 'found "wide"'),
        (":beam 0", 'found "0"'),
        (":sample 3 warm", 'a temperature is a number above 0, for example :sample 5 0.8, found "warm"'),
        (":sample 3 0", "temperature"),
        (":resample", "greedy search does not sample"),
        (":undo", "nothing was chosen in this sentence"),
        (":undo 2", ':undo takes no argument, found "2"'),
        (":search {type: bem}", 'configuration: translate.search: unknown type "bem"; did you mean "beam"?'),
        (":search {type: ", "YAML"),
    ],
)
def test_a_mistake_is_told_and_changes_nothing(begun: PromptState, line: str, told: str) -> None:
    shown, state = answer_line(line, begun)
    assert told in " ".join(rendered(shown, 300).split())
    assert state is begun


@pytest.mark.parametrize("line", [":1", ":words", ":attention", ":undo", ":prefix a", ":1 2"])
def test_without_a_sentence_there_is_nothing_to_look_at(fresh: PromptState, line: str) -> None:
    shown, state = answer_line(line, fresh)
    assert "type a sentence first" in rendered(shown)
    assert state is fresh


def test_a_beginning_of_a_name_will_do(begun: PromptState) -> None:
    assert rendered(answer_line(":att", begun).shown) == rendered(answer_line(":attention", begun).shown)
    assert text(after(begun, ":b 3")) == text(after(begun, ":beam 3"))


def test_two_colons_begin_a_sentence(fresh: PromptState) -> None:
    assert after(fresh, "::2 cats").requests[0].text == ":2 cats"


def test_every_command_is_told_by_help_and_in_the_reference(begun: PromptState) -> None:
    shown, reference = rendered(answer_line(":help", begun).shown), REFERENCE.read_text("utf-8")
    for command in COMMANDS:
        written = f":{command.name} {command.arguments}".rstrip()
        assert written in shown
        assert f"`{written}`" in reference


def letters(kind: dict[str, object]) -> PromptState:
    trained = models.untrained(kind)
    settings = trained.recipe.translate
    reading = make_frame_decoder(trained, settings.frame_decoder, "translate.frame_decoder")
    return PromptState(Translator(trained, GreedySearch(), settings, reading))


def test_a_model_without_steps_tells_what_it_can() -> None:
    """It has probabilities and others, but nothing that could be led."""
    state = after(letters(models.CTC), "abcde")
    assert "no decoder, so there is no attention" in rendered(answer_line(":attention", state).shown)
    assert re.search(r"1 .*%", rendered(answer_line(":1", state).shown))
    assert "no decoder, so its outputs cannot be constrained" in rendered(answer_line(":1 2", state).shown, 300)
    assert "has no decoder, so its frames are decoded" in rendered(answer_line(":sample", state).shown, 300)
    assert search_settings(after(state, ":beam 4").translator)["type"] == "prefix-beam"


def test_what_a_model_says_cannot_steer_the_terminal() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["\x1b\x07[ab"])
    trained = models.untrained(models.BAHDANAU, source=tokenizer, target=tokenizer)
    state = PromptState(Translator(trained, GreedySearch(), trained.recipe.translate))
    begun = after(state, ":beam 3", "a\x1b[b", ":prefix \x1b\x07")
    assert text(begun).startswith("\x1b\x07")
    for line in (":prefix \x1b\x07", ":1", ":words", ":attention", ":\x1b"):
        shown = rendered(answer_line(line, begun).shown)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\ufffd" in shown


def test_words_that_look_like_markup_stay_words() -> None:
    words = WhitespaceTokenizerTrainer(min_frequency=1).train(["[/red] :smile: [bold]"])
    trained = models.untrained(models.BAHDANAU, source=words, target=words)
    begun = after(
        PromptState(Translator(trained, GreedySearch(), trained.recipe.translate)), "[bold] a", ":prefix [/red] :smile:"
    )
    for line in (":prefix [/red] :smile:", ":1", ":2", ":words", ":attention", ":[/red]"):
        assert "[/red]" in rendered(answer_line(line, begun).shown)


def test_letters_are_places_too() -> None:
    """Where a space is a piece by itself, the letter after it is what could be another."""
    tokenizer = CharacterTokenizerTrainer().train(["ab ba a b"])
    trained = models.untrained(models.BAHDANAU, source=tokenizer, target=tokenizer)
    begun = after(PromptState(Translator(trained, GreedySearch(), trained.recipe.translate)), "ab ba", ":prefix ab ba")
    shown = rendered(answer_line(":2", begun).shown)
    [here] = [row for row in shown.split("\n") if "current" in row]
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
        monkeypatch.setattr(prompt, "pending_input", lambda: typist.line)
        return list(prompt.typed_lines())

    assert lines(Typist("a", "b", EOFError(), "c")) == ["a", "b"]
    assert lines(Typist("a", KeyboardInterrupt(), "b", line="begun")) == ["a", "b"]
    with pytest.raises(KeyboardInterrupt):
        lines(Typist("a", KeyboardInterrupt(), "b"))


def test_what_takes_too_long_is_broken_off(begun: PromptState, monkeypatch: pytest.MonkeyPatch) -> None:
    typist, states, file = Typist("one", "two", ":quit", "three"), [begun], io.StringIO()

    def slow(line: str, state: PromptState) -> object:
        states.append(state)
        if line == "one":
            raise KeyboardInterrupt
        return answer_line(line, state)

    monkeypatch.setattr(builtins, "input", typist.input)
    monkeypatch.setattr(prompt, "answer_line", slow)
    prompt.run_terminal_prompt(begun, Console(file=file, width=80))
    assert "interrupted" in file.getvalue()
    assert states[2] is begun
    assert next(typist.keys) == "three"
