"""The interactive prompt of `weft translate --interactive`: state, commands and the read loop."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from rich.console import Console, RenderableType
from rich.text import Text

from weft.cli.prompt_display import (
    dim_note,
    indent,
    make_table,
    render_all_alternatives,
    render_alternatives,
    render_attention,
    render_translation,
    with_blank_lines,
)
from weft.config.serialization import to_dict
from weft.config.yaml_files import dump_yaml_inline
from weft.core.errors import UserError
from weft.core.formatting import make_printable
from weft.decoding.constraints.glossary import Glossary
from weft.decoding.constraints.request import PLAIN_READER, Request, RequestReader
from weft.inference.capabilities import attention_obstacle, check_overrides
from weft.inference.loader import override_translator_search
from weft.inference.translation import Translation
from weft.inference.translation_io import read_input_lines
from weft.inference.translator import Translator
from weft.visualize.word_alternatives import AnnotatedTranslation, annotate_translation

ALTERNATIVE_COUNT = 8  # at each position
DEFAULT_SAMPLES = 5
COMMAND_SIGN = ":"
INPUT_PROMPT = "> "
WELCOME = "Type a sentence. :help lists the commands; Ctrl-D quits."


@dataclass(frozen=True)
class PromptState:
    """The state between two lines.

    settings: those of --set; the search of the translator may have changed since. reader, glossary: add constraints to
    every sentence. requests: those of the last sentence, one for each choice; `translation` is that of the last one.
    """

    translator: Translator
    settings: tuple[str, ...] = ()
    reader: RequestReader = PLAIN_READER
    glossary: Glossary | None = None
    requests: tuple[Request, ...] = ()
    translation: Translation | None = None
    is_over: bool = False


class PromptAnswer(NamedTuple):
    """The answer to a line, and the state after it."""

    shown: RenderableType
    state: PromptState


class PromptCommand(NamedTuple):
    """A command; any unambiguous beginning of its name is accepted. run: takes the text after the name."""

    name: str
    arguments: str
    description: str
    run: Callable[[PromptState, str], PromptAnswer]


def answer_line(line: str, state: PromptState) -> PromptAnswer:
    """Return the answer to a line; after an error, the message and the unchanged state."""
    try:
        return _dispatch_line(line, state)
    except UserError as error:
        lines = str(error).removeprefix("line 1: ").split("\n")
        return PromptAnswer(with_blank_lines(*(indent(Text(make_printable(line), "red")) for line in lines)), state)


def _dispatch_line(line: str, state: PromptState) -> PromptAnswer:
    """Translate a sentence or run a command; two command signs begin a sentence with one."""
    if not line.strip():
        return PromptAnswer("", state)
    if not line.startswith(COMMAND_SIGN) or line.startswith(2 * COMMAND_SIGN):
        requests = tuple(state.reader([line.removeprefix(COMMAND_SIGN)]))
        return _translate_last(state, _with_terms(state, requests))
    name, _, argument = line.removeprefix(COMMAND_SIGN).strip().partition(" ")
    argument = argument.strip()
    if _is_number(name):
        return _choose_word(state, int(name), argument)
    command = _find_command(name)
    if argument and not command.arguments:
        raise UserError(f':{command.name} takes no argument, found "{argument}"')
    return command.run(state, argument)


def _with_terms(state: PromptState, requests: tuple[Request, ...]) -> tuple[Request, ...]:
    return requests if state.glossary is None else tuple(map(state.glossary.apply, requests))


def _find_command(name: str) -> PromptCommand:
    matches = [command for command in COMMANDS if command.name.startswith(name)]
    exact = [command for command in matches if command.name == name]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if matches and name:
        names = " or ".join(f":{command.name}" for command in matches)
        raise UserError(f":{name} could be {names}: type more of it")
    nearest = get_close_matches(name, [command.name for command in COMMANDS], n=1)
    hint = f"; did you mean :{nearest[0]}?" if nearest else ""
    raise UserError(f"unknown command :{name}{hint} (:help lists all; a sentence that begins with a colon needs two)")


def search_settings(translator: Translator) -> dict[str, Any]:
    """Return the search, or the frame decoder of a model without a decoder, as in a recipe."""
    node: dict[str, Any] = to_dict(translator.settings)[_search_key(translator)]
    return node


def with_all_outputs(state: PromptState) -> PromptState:
    """Return a state whose search returns all outputs of its beam."""
    size = search_settings(state.translator).get("size")
    return state if size is None or state.translator.settings.mbr.samples else _with_beam(state, size)


def _with_beam(state: PromptState, size: int) -> PromptState:
    return replace(state, translator=override_translator_search(state.translator, size, size, state.settings))


def _with_search(state: PromptState, text: str) -> PromptState:
    """Another search or frame decoder, written as in a recipe."""
    overrides = [*state.settings, f"translate.{_search_key(state.translator)}={text}"]
    return replace(state, translator=override_translator_search(state.translator, None, None, overrides))


def _search_key(translator: Translator) -> str:
    return "search" if translator.trained.model.has_decoder else "frame_decoder"


def _translate_last(state: PromptState, requests: tuple[Request, ...]) -> PromptAnswer:
    [translation] = state.translator.stream(requests[-1:])
    after = replace(state, requests=requests, translation=translation)
    return PromptAnswer(render_translation(translation, requests[-1].prefix), after)


def _retranslate(state: PromptState) -> PromptAnswer:
    """Translate the sentence again after the search has changed."""
    if not state.requests:
        return PromptAnswer(dim_note("This is used for the next sentence."), state)
    return _translate_last(state, state.requests)


def _choose_word(state: PromptState, number: int, choice: str) -> PromptAnswer:
    """Show the alternatives at a position, or translate again with one of them."""
    annotated = annotate_translation(_require_translation(state), ALTERNATIVE_COUNT)
    words = [*annotated.words, annotated.end]
    if not 1 <= number <= len(words):
        raise UserError(f"there is no position {number}: the first is 1, the last, of the end, is {len(words)}")
    word = words[number - 1]
    if not choice:
        return PromptAnswer(render_alternatives(number, word), state)
    if not _is_number(choice):
        return _translate_with_prefix(state, _prefix_with_word(annotated, number, choice))
    if not 1 <= int(choice) <= len(word.alternatives):
        raise UserError(f"there is no alternative {choice} at position {number}: type :{number} to see them")
    return _translate_with_prefix(state, word.alternatives[int(choice) - 1].prefix)


def _prefix_with_word(annotated: AnnotatedTranslation, number: int, word: str) -> str:
    """The beginning of the translation, with this word at a position."""
    before = "".join(other.text for other in annotated.words[: number - 1])
    old = annotated.words[number - 1].text if number <= len(annotated.words) else " "
    return before + old[: len(old) - len(old.lstrip(" "))] + word


def _translate_with_prefix(state: PromptState, prefix: str) -> PromptAnswer:
    _require_translation(state)
    return _translate_last(state, (*state.requests, replace(state.requests[-1], prefix=prefix)))


def _undo_choice(state: PromptState, _argument: str) -> PromptAnswer:
    _require_translation(state)
    if len(state.requests) < 2:
        raise UserError("nothing was chosen in this sentence, so there is nothing to undo")
    return _translate_last(state, state.requests[:-1])


def _show_words(state: PromptState, _argument: str) -> PromptAnswer:
    annotated = annotate_translation(_require_translation(state), ALTERNATIVE_COUNT)
    return PromptAnswer(render_all_alternatives(annotated), state)


def _show_attention(state: PromptState, _argument: str) -> PromptAnswer:
    analysis = _require_translation(state).analysis
    if analysis is None:
        raise UserError("this translation has no attention to show")
    obstacle = attention_obstacle(analysis.trained)
    if obstacle:
        raise UserError(obstacle)
    return PromptAnswer(render_attention(analysis.word_attention()), state)


def _set_beam(state: PromptState, argument: str) -> PromptAnswer:
    return _retranslate(_with_beam(state, _parse_count(argument, ":beam 5")))


def _set_sampling(state: PromptState, argument: str) -> PromptAnswer:
    count_text, _, temperature_text = argument.partition(" ")
    count = _parse_count(count_text, ":sample 5 0.8") if count_text else DEFAULT_SAMPLES
    try:
        temperature = float(temperature_text) if temperature_text else 1.0
    except ValueError:
        message = f'a temperature is a number above 0, for example :sample 5 0.8, found "{temperature_text.strip()}"'
        raise UserError(message) from None
    check_overrides(state.translator.trained, ["translate.search=sampling"])
    search = dump_yaml_inline({"type": "sampling", "n_best": count, "temperature": temperature})
    return _retranslate(_with_search(state, search))


def _resample(state: PromptState, _argument: str) -> PromptAnswer:
    settings = search_settings(state.translator)
    if "seed" not in settings:
        raise UserError(f"{settings['type']} search does not sample, so it would find the same: type :sample first")
    return _retranslate(_with_search(state, dump_yaml_inline({**settings, "seed": settings["seed"] + 1})))


def _set_search(state: PromptState, argument: str) -> PromptAnswer:
    if argument:
        return _retranslate(_with_search(state, argument))
    return PromptAnswer(with_blank_lines(dim_note(dump_yaml_inline(search_settings(state.translator)), "")), state)


def _quit(state: PromptState, _argument: str) -> PromptAnswer:
    return PromptAnswer("", replace(state, is_over=True))


def _show_help(state: PromptState, _argument: str) -> PromptAnswer:
    table = make_table()
    rows = [(f":{command.name} {command.arguments}".rstrip(), command.description) for command in COMMANDS]
    for usage, description in [*BASIC_HELP, *rows]:
        table.add_row(Text(usage, "bold", no_wrap=True), Text(description))
    note = dim_note("The beginning of a name is enough, for example :b 3.")
    return PromptAnswer(with_blank_lines(indent(table), "", note), state)


def _require_translation(state: PromptState) -> Translation:
    if state.translation is None:
        raise UserError("there is no translation yet: type a sentence first")
    return state.translation


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


def _parse_count(text: str, example: str) -> int:
    if not _is_number(text) or int(text) < 1:
        raise UserError(f'expected a number of at least 1, for example {example}, found "{text}"')
    return int(text)


BASIC_HELP = (
    ("a sentence", "translate it: each word with its position and probability, then all outputs of the search"),
    (":3", "show the alternatives at position 3"),
    (":3 2", "choose the second of them, and let the rest change"),
    (":3 WORD", "choose this word there"),
)
COMMANDS = (
    PromptCommand("words", "", "show all words, each with its alternatives", _show_words),
    PromptCommand("attention", "", "show the attention of each word to the source", _show_attention),
    PromptCommand(
        "prefix", "[TEXT]", "force the beginning of the translation; without a text, nothing", _translate_with_prefix
    ),
    PromptCommand("undo", "", "undo the last choice", _undo_choice),
    PromptCommand("beam", "N", "search with a beam of this size; 1 is greedy", _set_beam),
    PromptCommand("sample", "[N] [TEMPERATURE]", "sample this many outputs instead", _set_sampling),
    PromptCommand("resample", "", "sample other outputs", _resample),
    PromptCommand(
        "search",
        "[SEARCH]",
        "show the search, or use another, such as {type: diverse, size: 6, groups: 3}",
        _set_search,
    ),
    PromptCommand("help", "", "show this help", _show_help),
    PromptCommand("quit", "", "quit; so does Ctrl-D", _quit),
)


def run_prompt(state: PromptState) -> None:
    """Answer lines until they end, or until :quit; Ctrl-C on an empty line raises KeyboardInterrupt."""
    console = Console(highlight=False)
    if sys.stdin.isatty() and sys.stdout.isatty():
        console.print(dim_note(WELCOME))
        run_terminal_prompt(state, console)
        return
    for line in read_input_lines(None):
        console.print(Text(make_printable(f"{INPUT_PROMPT}{line}")), soft_wrap=True)
        shown, state = answer_line(line, state)
        console.print(shown)
        if state.is_over:
            return


def run_terminal_prompt(state: PromptState, console: Console) -> None:
    """Answer typed lines; Ctrl-C interrupts an answer without losing the state."""
    with suppress(ImportError):  # not every system has it
        import readline  # noqa: F401  (gives `input` line editing and a history)
    for line in typed_lines():
        try:
            shown, state = answer_line(line, state)
        except KeyboardInterrupt:
            shown = dim_note("interrupted")
        console.print(shown)
        if state.is_over:
            return


def typed_lines() -> Iterator[str]:
    """Yield typed lines until Ctrl-D. Ctrl-C discards a partial line and raises on an empty one."""
    while True:
        try:
            line = input(INPUT_PROMPT)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            if not pending_input():
                raise
            continue
        yield line


def pending_input() -> str:
    """Return the partial line, if the system has readline."""
    with suppress(ImportError):
        import readline

        return readline.get_line_buffer()
    return ""
