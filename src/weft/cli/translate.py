"""`weft translate`: translate text, with its options for constraints, outputs, ensembles, backends and the
interactive prompt.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from weft.cli.options import (
    BackendOption,
    BeamOption,
    DeviceOption,
    ModelArgument,
    OutputOption,
    PrecisionOption,
    SetOption,
    parse_weights,
    refuse_options,
)
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.checkpoints.trained_model import TrainedModel
    from weft.decoding.constraints.request import RequestReader
    from weft.inference.ensemble import EnsembleOptions
    from weft.inference.postprocessor import OutputOptions
    from weft.inference.translator import Translator
    from weft.text.protected_spans import SpanKind

EnsembleMean = Literal["probabilities", "log-probabilities"]

InputArgument = Annotated[
    Path | None, typer.Argument(metavar="INPUT", help="The text to translate. Default: standard input.")
]
InteractiveOption = Annotated[
    bool, typer.Option("--interactive", "-i", help="Type sentences, see probabilities, and choose other words.")
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="Write JSON lines, with scores, tokens and alternatives.")
]
ParagraphsOption = Annotated[
    bool, typer.Option("--paragraphs", help="Split lines into sentences, translate each, and keep the layout.")
]
LanguageOption = Annotated[
    str | None, typer.Option(help="The source language for --paragraphs, for example de or pt-BR. Default: en.")
]
GlossaryOption = Annotated[
    Path | None, typer.Option("--glossary", metavar="FILE", help="Required translations: term, tab, translation.")
]
PrefixOption = Annotated[str | None, typer.Option(metavar="TEXT", help="A text that every output begins with.")]
JsonInputOption = Annotated[
    bool, typer.Option("--json-input", help='Read a JSON object per line: {"text": ..., "include": [...], ...}.')
]
ProtectOption = Annotated[
    str | None, typer.Option(metavar="KIND,KIND,...", help="Copy urls, emails, numbers, placeholders, markup; or all.")
]
AlignmentsOption = Annotated[
    Path | None, typer.Option("--alignments", metavar="FILE", help="Also write word alignments, such as 0-0 1-2.")
]
AttentionOption = Annotated[bool, typer.Option("--attention", help="Add the attention of each token to --json.")]
TopTokensOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Add the N most probable tokens at each position to --json.")
]
ReplaceUnknownOption = Annotated[
    bool, typer.Option("--replace-unknown", help="Replace an unknown word by the source word with the most attention.")
]
DictionaryOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Translations for --replace-unknown: word, tab, translation.")
]
NBestOption = Annotated[int | None, typer.Option(min=1, help="The number of alternatives in --json or --interactive.")]
EnsembleOption = Annotated[
    list[Path] | None, typer.Option("--ensemble", metavar="MODEL", help="Another model for an ensemble. Repeatable.")
]
WeightsOption = Annotated[
    str | None, typer.Option(metavar="W1,W2,...", help="The weight of each model of the ensemble. Default: all equal.")
]
MeanOption = Annotated[EnsembleMean | None, typer.Option(help="What the ensemble averages. Default: probabilities.")]
ShortlistOption = Annotated[bool, typer.Option("--shortlist", help="Use the shortlist of weft shortlist.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Report the backend and why it was chosen.")]


def translate(
    model: ModelArgument,
    input_file: InputArgument = None,
    output: OutputOption = None,
    interactive: InteractiveOption = False,
    json: JsonLinesOption = False,
    paragraphs: ParagraphsOption = False,
    language: LanguageOption = None,
    glossary: GlossaryOption = None,
    prefix: PrefixOption = None,
    json_input: JsonInputOption = False,
    protect: ProtectOption = None,
    alignments: AlignmentsOption = None,
    attention: AttentionOption = False,
    top_tokens: TopTokensOption = None,
    replace_unknown: ReplaceUnknownOption = False,
    dictionary: DictionaryOption = None,
    beam: BeamOption = None,
    n_best: NBestOption = None,
    ensemble: EnsembleOption = None,
    weights: WeightsOption = None,
    mean: MeanOption = None,
    settings: SetOption = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = None,
    shortlist: ShortlistOption = False,
    device: DeviceOption = "auto",
    verbose: VerboseOption = False,
) -> None:
    """Translate text, one output line per input line."""
    from weft.core.files import check_output_files
    from weft.inference.backends import BackendOptions, select_backend
    from weft.inference.translation_io import write_paragraphs, write_translations
    from weft.text.sentences import SentenceSplitter

    flags = OutputFlags(json, alignments, attention, top_tokens, replace_unknown, dictionary)
    if interactive:
        files = {"INPUT": input_file, "--output": output, "--paragraphs": paragraphs, "--language": language}
        files |= {"--json": json, "--json-input": json_input, "--alignments": alignments, "--attention": attention}
        _check_interactive_options({**files, "--top-tokens": top_tokens}, backend, precision, protect)
    elif n_best is not None and not json:
        raise UserError("--n-best needs --json or --interactive: add one of them, or omit --n-best.")
    _check_paragraph_options(paragraphs, language, json_input, alignments)
    flags.check()
    inputs = [file for file in (glossary, dictionary) if file is not None]
    check_output_files([output, alignments], [input_file, *inputs])
    reader = _make_reader(glossary, prefix, json_input, protect)
    splitter = SentenceSplitter(
        "en" if language is None else language
    )  # before the model is loaded, since the language may be unknown
    ensemble_options = parse_ensemble(ensemble, weights, mean)

    def load() -> Translator:
        from weft.inference.loader import load_translator

        translator = load_translator(
            model,
            device=device,
            beam=beam,
            n_best=n_best,
            overrides=settings or [],
            ensemble=ensemble_options,
            shortlist=shortlist,
        )
        return replace(translator, output_options=parse_output_options(flags, translator.trained))

    if interactive:
        _print_backend("torch: --interactive is set", verbose)
        _start_prompt(load(), reader, settings or [], n_best)
        return
    needs_torch = {**flags.needing_torch(reader), "--ensemble": ensemble, "--set": settings, "--n-best": n_best}
    reasons = tuple(f"{option} is set" for option, value in needs_torch.items() if value)
    selected = select_backend(model, BackendOptions(backend, precision, beam, reasons, shortlist, device), load)
    _print_backend(selected.reason, verbose)
    if paragraphs:
        write_paragraphs(selected.backend, splitter, input_file, output, as_json=json, request_reader=reader)
    else:
        write_translations(
            selected.backend, input_file, output, as_json=json, request_reader=reader, alignments=alignments
        )


class OutputFlags(NamedTuple):
    """The options for outputs besides the text."""

    json: bool
    alignments: Path | None
    attention: bool
    top_tokens: int | None
    replace_unknown: bool
    dictionary: Path | None

    def check(self) -> None:
        """Raise UserError if an option needs another one that is not set."""
        for option, value in (("--attention", self.attention), ("--top-tokens", self.top_tokens is not None)):
            if value and not self.json:
                raise UserError(f"{option} needs --json: add --json, or omit {option}.")
        if self.dictionary is not None and not self.replace_unknown:
            raise UserError("--dictionary needs --replace-unknown: add --replace-unknown, or omit --dictionary.")

    def needing_torch(self, reader: RequestReader) -> dict[str, object]:
        """Return the values of the options that only the torch backend supports."""
        return {
            "--json": self.json,
            "--alignments": self.alignments is not None,
            "--replace-unknown": self.replace_unknown,
            "--glossary": reader.glossary is not None,
            "--prefix": reader.prefix,
            "--json-input": reader.as_json,
            "--protect": reader.protect,
        }


def parse_output_options(flags: OutputFlags, trained: TrainedModel) -> OutputOptions:
    """Check the options against a model; --json includes alignments if the model has them."""
    from weft.decoding.constraints.glossary import read_dictionary
    from weft.inference.capabilities import attention_obstacle, check_output_options
    from weft.inference.postprocessor import OutputOptions

    if flags.alignments is not None:
        check_output_options(trained, OutputOptions(alignment=True), "--alignments")
    if flags.attention:
        check_output_options(trained, OutputOptions(attention=True), "--attention")
    if flags.replace_unknown:
        check_output_options(trained, OutputOptions(replace_unknown=True), "--replace-unknown")
    return OutputOptions(
        alignment=flags.alignments is not None or (flags.json and not attention_obstacle(trained)),
        attention=flags.attention,
        top_tokens=flags.top_tokens or 0,
        replace_unknown=flags.replace_unknown,
        dictionary={} if flags.dictionary is None else read_dictionary(flags.dictionary),
    )


def _make_reader(glossary: Path | None, prefix: str | None, json_input: bool, protect: str | None) -> RequestReader:
    from weft.decoding.constraints.glossary import read_glossary
    from weft.decoding.constraints.request import RequestReader

    terms = None if glossary is None else read_glossary(glossary)
    return RequestReader(terms, prefix or "", as_json=json_input, protect=parse_protect(protect))


def parse_protect(protect: str | None) -> tuple[SpanKind, ...]:
    """Parse the kinds of spans of --protect."""
    from weft.text.protected_spans import SPAN_KINDS, parse_span_kinds

    if protect is None:
        return ()
    try:
        return SPAN_KINDS if protect == "all" else parse_span_kinds(name.strip() for name in protect.split(","))
    except UserError as error:
        raise UserError(f"--protect {protect}: {error}") from error


def parse_ensemble(models: list[Path] | None, weights: str | None, mean: EnsembleMean | None) -> EnsembleOptions | None:
    """Return the ensemble of --ensemble, --weights and --mean, or None if there is only one model."""
    for option, value in (("--weights", weights), ("--mean", mean)):
        if value is not None and not models:
            raise UserError(f"{option} needs several models: add --ensemble MODEL, or omit {option}.")
    if not models:
        return None
    from weft.inference.ensemble import EnsembleOptions

    return EnsembleOptions(tuple(models), None if weights is None else parse_weights(weights), mean or "probabilities")


def _check_interactive_options(
    files: Mapping[str, object], backend: str, precision: str | None, protect: str | None
) -> None:
    refuse_options("--interactive reads from the terminal", files, "for files and programs")
    backends = {"--backend ctranslate2": backend == "ctranslate2", "--precision": precision}
    refuse_options("--interactive needs the torch backend", backends, "for another backend")
    refuse_options("--interactive shows single outputs", {"--protect": protect}, "for lines that may be split")


def _check_paragraph_options(paragraphs: bool, language: str | None, json_input: bool, alignments: Path | None) -> None:
    if language is not None and not paragraphs:
        raise UserError("--language needs --paragraphs: add --paragraphs, or omit --language.")
    if json_input and paragraphs:
        raise UserError("--json-input has one sentence per line, but --paragraphs has several: omit one of the two.")
    if alignments is not None and paragraphs:
        raise UserError(
            "--alignments has a row per line, but --paragraphs translates each sentence of a line: omit one of the "
            "two. With --json, each sentence has its alignment."
        )


def _start_prompt(translator: Translator, reader: RequestReader, settings: list[str], n_best: int | None) -> None:
    """Run the interactive prompt; without --n-best it shows all outputs of the beam."""
    from weft.cli.prompt import PromptState, run_prompt, with_all_outputs

    state = PromptState(translator, tuple(settings), reader)
    try:
        run_prompt(state if n_best is not None else with_all_outputs(state))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _print_backend(reason: str, verbose: bool) -> None:
    if verbose:
        print(f"weft: backend {reason}", file=sys.stderr)
