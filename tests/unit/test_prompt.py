"""The interactive prompt: the answer to each line, tested without a terminal."""

import builtins
import io
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from rich.style import Style

from unit import models
from unit.translators import SENTENCE
from weft.cli import prompt
from weft.cli.prompt import COMMANDS, PromptState, answer_line, search_settings, with_all_outputs
from weft.cli.prompt_display import balance_rows, fit_rows
from weft.decoding.constraints.request import RequestReader
from weft.decoding.greedy import GreedySearch
from weft.inference.loader import make_frame_decoder
from weft.inference.probability_scale import LEVELS, probability_level
from weft.inference.translator import Translator
from weft.text.tokenizer_training import CharacterTokenizerTrainer, WhitespaceTokenizerTrainer, WordTokenizerTrainer
from weft.visualize.word_alternatives import annotate_translation, word_alternatives

REFERENCE = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.fixture(scope="module")
def fresh() -> PromptState:
    """An untrained word-level model."""
    words = WordTokenizerTrainer(min_frequency=1).train([f"{SENTENCE} li kato ruja videt un hundo"])
    trained = models.untrained_model(models.BAHDANAU, 16, source=words, target=words, translate={"search": "greedy"})
    return PromptState(Translator(trained, GreedySearch(), trained.recipe.translate))


@pytest.fixture(scope="module")
def started(fresh: PromptState) -> PromptState:
    """The state after the first sentence."""
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


def test_sentence_is_displayed_word_by_word(fresh: PromptState, started: PromptState) -> None:
    shown = rendered(answer_line(SENTENCE, fresh).shown)
    assert started.translation is not None
    annotated = annotate_translation(started.translation)
    assert text(started) == fresh.translator.translate([SENTENCE])[0].text
    for number, word in enumerate([*annotated.words, annotated.end], 1):
        assert word.name in shown
        assert re.search(rf"\b{number} \d+%", shown)
    assert f"log-probability {annotated.score:.2f}" in shown


def test_words_have_the_color_of_their_probability(fresh: PromptState, started: PromptState) -> None:
    shown = Console(width=200, record=True, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    shown.print(answer_line(SENTENCE, fresh).shown)
    text = shown.export_text(styles=True)
    assert started.translation is not None
    for word in annotate_translation(started.translation).words:
        level = probability_level(min(1.0, math.exp(sum(word.scores))))
        assert Style.parse(f"bold {level.terminal}").render(word.name).removesuffix("\x1b[0m") in text
    for level in LEVELS:
        assert f"{level.description}" in text


def test_blank_line_does_nothing(started: PromptState) -> None:
    assert answer_line("  ", started) == ("", started)


def test_alternative_is_chosen_by_number(started: PromptState) -> None:
    shown = rendered(answer_line(":2", started).shown)
    assert started.translation is not None
    alternatives = word_alternatives(started.translation, annotate_translation(started.translation).words[1], 8)
    assert len(re.findall(r"^ +\d+ .*%", shown, re.MULTILINE)) == len(alternatives) > 2
    assert "current" in shown
    for number, alternative in enumerate(alternatives, 1):
        chosen = after(started, f":2 {number}")
        assert text(chosen).startswith(alternative.prefix)
    assert text(after(started, ":2 3")) != text(started)


def test_undo_reverts_a_choice(started: PromptState) -> None:
    chosen = after(started, ":1 3", ":2 2")
    assert text(chosen) != text(started)
    assert text(after(chosen, ":undo")) == text(after(started, ":1 3"))
    assert after(chosen, ":undo", ":undo").requests == started.requests
    assert text(after(chosen, ":undo", ":undo")) == text(started)


def test_word_can_be_set_at_a_position(started: PromptState) -> None:
    assert started.translation is not None
    [first, second, *_] = annotate_translation(started.translation).words
    lead = second.text[: len(second.text) - len(second.text.lstrip())]
    assert text(after(started, ":2 cat")).startswith(f"{first.text}{lead}cat")
    end = len(annotate_translation(started.translation).words) + 1
    assert text(after(started, f":{end} cat")).startswith(f"{text(started)} cat")


def test_translation_starts_with_the_prefix(started: PromptState) -> None:
    chosen = after(started, ":prefix a cat")
    assert text(chosen).startswith("a cat")
    assert "chosen up to position 2" in rendered(answer_line(":prefix a cat", started).shown)
    assert text(after(chosen, ":prefix")) == text(started)


def test_new_sentence_discards_the_prefix(started: PromptState) -> None:
    chosen = after(started, ":prefix a cat", "the dog")
    assert [request.text for request in chosen.requests] == ["the dog"]
    assert chosen.requests[0].prefix == ""


def test_changed_search_is_applied_immediately(started: PromptState) -> None:
    wide = after(started, ":beam 3")
    assert wide.translation is not None
    assert len(wide.translation.alternatives) == 3
    shown = rendered(answer_line(":beam 3", started).shown)
    assert "outputs of the search" in shown
    for alternative in wide.translation.alternatives:
        assert f"{alternative.score:.2f}" in shown
    assert (
        search_settings(after(wide, ":search {type: diverse, size: 4, groups: 2, n_best: 2}").translator)["groups"] == 2
    )
    assert (
        rendered(answer_line(":search", after(started, ":beam 1")).shown, 300)
        .strip()
        .startswith("{type: beam, size: 1,")
    )
    assert text(after(wide, ":beam 1")) == text(started)


def test_outputs_are_sampled_and_resampled(started: PromptState) -> None:
    sampled = after(started, ":sample 4 9.5")
    assert sampled.translation is not None
    assert len(sampled.translation.alternatives) == 4
    assert search_settings(sampled.translator)["temperature"] == 9.5
    resampled = after(sampled, ":resample")
    assert search_settings(resampled.translator)["n_best"] == 4
    assert resampled.translation != sampled.translation
    assert after(started, ":sample 4 9.5").translation == sampled.translation


def test_search_can_be_changed_before_the_first_sentence(fresh: PromptState) -> None:
    shown, wide = answer_line(":beam 2", fresh)
    assert "next sentence" in rendered(shown)
    assert after(wide, SENTENCE).translation == after(fresh, SENTENCE, ":beam 2").translation


def test_beam_returns_all_hypotheses(fresh: PromptState) -> None:
    assert with_all_outputs(fresh) == fresh
    wide = with_all_outputs(replace(after(fresh, ":beam 3"), settings=("translate.search={type: beam, size: 3}",)))
    assert search_settings(wide.translator)["n_best"] == 3


def test_command_line_constraints_apply_to_every_sentence(fresh: PromptState) -> None:
    with_prefix = replace(fresh, reader=RequestReader(prefix="a cat"))
    assert text(after(with_prefix, SENTENCE)).startswith("a cat")


def test_words_command_lists_all_words(started: PromptState) -> None:
    shown = rendered(answer_line(":words", started).shown)
    assert started.translation is not None
    for word in annotate_translation(started.translation).words:
        assert word.name in shown


def test_attention_is_displayed_in_percent(started: PromptState) -> None:
    shown = rendered(answer_line(":attention", started).shown)
    assert started.translation is not None
    assert started.translation.analysis is not None
    attention = started.translation.analysis.word_attention()
    [head, *rows] = shown.split("\n")[3 : 4 + len(attention.target)]
    assert head.split() == [*attention.source]
    for row, name, weights in zip(rows, attention.target, attention.weights.tolist(), strict=True):
        assert row.split() == [name, *(f"{100 * weight:.0f}" if weight >= 0.005 else "·" for weight in weights)]


@pytest.mark.parametrize("width", [24, 40, 80, 200])
@pytest.mark.parametrize("line", [SENTENCE, ":2", ":words", ":attention", ":beam 3", ":help", ":search", ":bem"])
def test_output_fits_the_terminal_width(started: PromptState, line: str, width: int) -> None:
    shown = rendered(answer_line(line, started).shown, width)
    assert shown.strip()
    assert max(len(row.rstrip()) for row in shown.split("\n")) <= width


def test_rows_are_fitted_and_balanced() -> None:
    assert fit_rows([3, 3, 3, 30, 1], 14) == [[0, 1], [2], [3], [4]]
    assert fit_rows([3, 3], 10) == [[0, 1]]
    assert fit_rows([], 14) == []
    assert balance_rows([3] * 6, 22) == [[0, 1, 2], [3, 4, 5]]
    assert balance_rows([3] * 5, 22) == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("line", "message"),
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
def test_invalid_command_is_reported_and_changes_nothing(started: PromptState, line: str, message: str) -> None:
    shown, state = answer_line(line, started)
    assert message in " ".join(rendered(shown, 300).split())
    assert state is started


@pytest.mark.parametrize("line", [":1", ":words", ":attention", ":undo", ":prefix a", ":1 2"])
def test_command_without_a_sentence_is_reported(fresh: PromptState, line: str) -> None:
    shown, state = answer_line(line, fresh)
    assert "type a sentence first" in rendered(shown)
    assert state is fresh


def test_command_names_can_be_abbreviated(started: PromptState) -> None:
    assert rendered(answer_line(":att", started).shown) == rendered(answer_line(":attention", started).shown)
    assert text(after(started, ":b 3")) == text(after(started, ":beam 3"))


def test_double_colon_starts_a_sentence(fresh: PromptState) -> None:
    assert after(fresh, "::2 cats").requests[0].text == ":2 cats"


def test_every_command_is_in_help_and_reference(started: PromptState) -> None:
    shown, reference = rendered(answer_line(":help", started).shown), REFERENCE.read_text("utf-8")
    for command in COMMANDS:
        usage = f":{command.name} {command.arguments}".rstrip()
        assert usage in shown
        assert f"`{usage}`" in reference


def character_prompt(model: dict[str, object]) -> PromptState:
    trained = models.untrained_model(model)
    settings = trained.recipe.translate
    frame_decoder = make_frame_decoder(trained, settings.frame_decoder, "translate.frame_decoder")
    return PromptState(Translator(trained, GreedySearch(), settings, frame_decoder))


def test_model_without_decoder() -> None:
    """It has probabilities and alternatives, but its outputs cannot be constrained."""
    state = after(character_prompt(models.CTC), "abcde")
    assert "no decoder, so there is no attention" in rendered(answer_line(":attention", state).shown)
    assert re.search(r"1 .*%", rendered(answer_line(":1", state).shown))
    assert "no decoder, so its outputs cannot be constrained" in rendered(answer_line(":1 2", state).shown, 300)
    assert "has no decoder, so its frames are decoded" in rendered(answer_line(":sample", state).shown, 300)
    assert search_settings(after(state, ":beam 4").translator)["type"] == "prefix-beam"


def test_control_characters_are_replaced() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["\x1b\x07[ab"])
    trained = models.untrained_model(models.BAHDANAU, source=tokenizer, target=tokenizer)
    state = PromptState(Translator(trained, GreedySearch(), trained.recipe.translate))
    after_prefix = after(state, ":beam 3", "a\x1b[b", ":prefix \x1b\x07")
    assert text(after_prefix).startswith("\x1b\x07")
    for line in (":prefix \x1b\x07", ":1", ":words", ":attention", ":\x1b"):
        shown = rendered(answer_line(line, after_prefix).shown)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\ufffd" in shown


def test_rich_markup_is_displayed_literally() -> None:
    words = WhitespaceTokenizerTrainer(min_frequency=1).train(["[/red] :smile: [bold]"])
    trained = models.untrained_model(models.BAHDANAU, source=words, target=words)
    after_prefix = after(
        PromptState(Translator(trained, GreedySearch(), trained.recipe.translate)), "[bold] a", ":prefix [/red] :smile:"
    )
    for line in (":prefix [/red] :smile:", ":1", ":2", ":words", ":attention", ":[/red]"):
        assert "[/red]" in rendered(answer_line(line, after_prefix).shown)


def test_positions_can_be_characters() -> None:
    """If a space is a token of its own, alternatives are offered for the word after it."""
    tokenizer = CharacterTokenizerTrainer().train(["ab ba a b"])
    trained = models.untrained_model(models.BAHDANAU, source=tokenizer, target=tokenizer)
    after_prefix = after(
        PromptState(Translator(trained, GreedySearch(), trained.recipe.translate)), "ab ba", ":prefix ab ba"
    )
    shown = rendered(answer_line(":2", after_prefix).shown)
    [current] = [row for row in shown.split("\n") if "current" in row]
    assert current.split()[1].startswith("ba")


class Typist:
    """A simulated user who types lines and presses keys."""

    def __init__(self, *keys: str | BaseException, line: str = ""):
        self.keys, self.line = iter(keys), line

    def input(self, _prompt: str) -> str:
        pressed = next(self.keys, EOFError())
        if isinstance(pressed, BaseException):
            raise pressed
        return pressed


def test_end_of_file_and_interrupt_end_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(typist: Typist) -> list[str]:
        monkeypatch.setattr(builtins, "input", typist.input)
        monkeypatch.setattr(prompt, "pending_input", lambda: typist.line)
        return list(prompt.typed_lines())

    assert lines(Typist("a", "b", EOFError(), "c")) == ["a", "b"]
    assert lines(Typist("a", KeyboardInterrupt(), "b", line="begun")) == ["a", "b"]
    with pytest.raises(KeyboardInterrupt):
        lines(Typist("a", KeyboardInterrupt(), "b"))


def test_interrupt_cancels_a_slow_command(started: PromptState, monkeypatch: pytest.MonkeyPatch) -> None:
    typist, states, file = Typist("one", "two", ":quit", "three"), [started], io.StringIO()

    def slow(line: str, state: PromptState) -> object:
        states.append(state)
        if line == "one":
            raise KeyboardInterrupt
        return answer_line(line, state)

    monkeypatch.setattr(builtins, "input", typist.input)
    monkeypatch.setattr(prompt, "answer_line", slow)
    prompt.run_terminal_prompt(started, Console(file=file, width=80))
    assert "interrupted" in file.getvalue()
    assert states[2] is started
    assert next(typist.keys) == "three"
