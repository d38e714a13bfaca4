"""`weft translate`: translate text, with its options for constraints, outputs, ensembles, backends and the
interactive prompt.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    require_option,
)
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.checkpoints.trained_model import TrainedModel
    from weft.decoding.constraints.glossary import Glossary
    from weft.decoding.constraints.request import RequestReader
    from weft.inference.backends import Backend
    from weft.inference.ensemble import EnsembleOptions
    from weft.inference.postprocessor import OutputOptions
    from weft.inference.translator import Translator
    from weft.text.sentences import SentenceSplitter
    from weft.text.span_patterns import SpanKind

FILE_NAME = re.compile(r"[/\\]|\.[A-Za-z0-9]{1,8}\Z")  # a path, or a name with a suffix

EnsembleMean = Literal["probabilities", "log-probabilities"]


def translate(
    model: ModelArgument,
    source: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="A file, or a text such as 'Hello, world.' Default: standard input."),
    ] = None,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="A text to translate.")] = None,
    output: OutputOption = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="The format of INPUT, such as po or markdown; text: lines."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also translate the texts of a document that have a translation.")
    ] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Type sentences, see probabilities, and choose other words.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write JSON lines, with scores, tokens and alternatives.")
    ] = False,
    no_split: Annotated[
        bool, typer.Option("--no-split", help="Translate each line as one sentence, even if it has several.")
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(help="The source language, whose rules split sentences: de, pt-BR. Default: that of the model."),
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Required translations: term, tab, translation.")
    ] = None,
    prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="A text that every output begins with.")] = None,
    json_input: Annotated[
        bool, typer.Option("--json-input", help='Read a JSON object per line: {"text": ..., "include": [...], ...}.')
    ] = False,
    protect: Annotated[
        str | None,
        typer.Option(
            metavar="KIND,KIND,...", help="Carry over: markup, urls, emails, placeholders, numbers, emoji; all; none."
        ),
    ] = None,
    alignments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write word alignments, such as 0-0 1-2.")
    ] = None,
    attention: Annotated[bool, typer.Option("--attention", help="Add the attention of each token to --json.")] = False,
    top_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Add the N most probable tokens at each position to --json.")
    ] = None,
    replace_unknown: Annotated[
        bool,
        typer.Option("--replace-unknown", help="Replace an unknown word by the source word with the most attention."),
    ] = False,
    dictionary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Translations for --replace-unknown: word, tab, translation.")
    ] = None,
    beam: BeamOption = None,
    n_best: Annotated[
        int | None, typer.Option(min=1, help="The number of alternatives in --json or --interactive.")
    ] = None,
    ensemble: Annotated[
        list[Path] | None, typer.Option(metavar="MODEL", help="Another model for an ensemble. Repeatable.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="W1,W2,...", help="The weight of each model of the ensemble. Default: all equal."),
    ] = None,
    mean: Annotated[
        EnsembleMean | None, typer.Option(help="What the ensemble averages. Default: probabilities.")
    ] = None,
    settings: SetOption = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = None,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Use the shortlist of weft shortlist.")] = False,
    device: DeviceOption = "auto",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Report the backend and why it was chosen.")] = False,
) -> None:
    """Translate text, one output line per input line, or a document, whose format is kept."""
    from weft.cli.document_command import (
        check_document_options,
        language_options,
        recognize_document,
        translate_document_file,
    )
    from weft.core.files import check_output_files
    from weft.core.lazy import Lazy
    from weft.inference.backends import BackendOptions, select_backend
    from weft.inference.text_translator import TextTranslator
    from weft.inference.translation_io import read_sources, write_translations
    from weft.text.sentences import SentenceSplitter

    needs_torch: dict[str, object] = {"--json": json, "--alignments": alignments, "--replace-unknown": replace_unknown}
    needs_torch |= {"--glossary": glossary, "--prefix": prefix, "--json-input": json_input}
    needs_torch |= {"--ensemble": ensemble, "--set": settings, "--n-best": n_best}
    others: dict[str, object] = {"INPUT": source, "--text": text, "--output": output, "--interactive": interactive}
    others |= {"--no-split": no_split, "--language": language, "--attention": attention, "--top-tokens": top_tokens}
    others |= {"--dictionary": dictionary, "--precision": precision, "--backend ctranslate2": backend == "ctranslate2"}
    others |= {"--protect": protect, "--format": file_format, "--overwrite": overwrite}
    _check_combination(needs_torch | others)
    input_file, given_text = _input_of(source, text)
    inputs = [file for file in (glossary, dictionary) if file is not None]
    check_output_files([output, alignments], [input_file, *inputs])
    reader, terms = _make_reader(prefix, json_input, protect), _read_terms(glossary)
    if language is not None:
        SentenceSplitter(language)  # an unknown language is reported first
    members, settings = parse_ensemble(ensemble, weights, mean), settings or []

    def load() -> "Translator":
        from weft.inference.loader import load_translator

        translator = load_translator(
            model, device=device, beam=beam, n_best=n_best, overrides=settings, ensemble=members, shortlist=shortlist
        )
        outputs = json, alignments, attention, top_tokens, replace_unknown, dictionary
        return replace(translator, output_options=parse_output_options(translator.trained, *outputs))

    if interactive:
        _print_backend("torch: --interactive is set", verbose)
        _start_prompt(load(), reader, terms, settings, n_best)
        return
    reasons = tuple(f"{option} is set" for option, value in needs_torch.items() if value)
    options = BackendOptions(backend, precision, beam, reasons, shortlist, device)
    loaded = Lazy(load)
    selected, reason = select_backend(model, options, loaded)
    _print_backend(reason, verbose)
    if selected.source_codec.modality != "text":
        text_options = {"--json-input": json_input, "--glossary": glossary, "--protect": protect}
        text_options |= {"--text": given_text, "--no-split": no_split, "--language": language}
        refuse_options("this model reads images", text_options, "for text")
    is_document = selected.source_codec.modality == "text" and given_text is None and not json_input
    document = recognize_document(input_file, file_format) if is_document else None
    splitter = None if no_split else find_splitter(selected, language)
    translator = TextTranslator(selected, loaded, splitter, reader.protect, glossary=terms)
    if document is not None:
        line_options = {"--json": json, "--alignments": alignments, "--prefix": prefix}
        document_file = check_document_options(document, input_file, output, line_options)
        document_options = language_options(model, overwrite=overwrite)
        translate_document_file(translator, document_file, document, document_options, output)
        return
    refuse_options("the input is lines of text", {"--overwrite": overwrite}, "for documents")
    lines = iter(given_text.split("\n")) if given_text is not None else read_sources(selected.source_codec, input_file)
    if given_text is None and input_file is None and sys.stdin.isatty():
        translator = translator.unbuffered()  # a person who types lines gets each answer at once
    write_translations(translator, lines, output, as_json=json, request_reader=reader, alignments=alignments)


def _input_of(source: str | None, text: str | None) -> tuple[Path | None, str | None]:
    """Return the input file or the text: an argument that is no file is text if it does not look like a file name."""
    if source is None or text is not None:
        return None, text
    path = Path(source)
    is_text = any(map(str.isspace, source)) and not FILE_NAME.search(source)
    return (None, source) if is_text and not _exists(path) else (path, None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # longer than names of files, or with a null character
        return False


def _check_combination(options: Mapping[str, object]) -> None:
    """Raise UserError if options exclude or need each other; options: values by name, false if not set."""

    def select(*names: str) -> dict[str, object]:
        return {name: options[name] for name in names}

    if options["--interactive"]:
        files = select("INPUT", "--text", "--output", "--no-split", "--language", "--json", "--json-input")
        files |= select("--alignments", "--attention", "--top-tokens", "--format", "--overwrite")
        refuse_options("--interactive reads from the terminal", files, "for files and programs")
        backends = select("--backend ctranslate2", "--precision")
        refuse_options("--interactive needs the torch backend", backends, "for another backend")
        refuse_options("--interactive shows single outputs", select("--protect"), "for lines with spans")
    if options["--text"] is not None:
        refuse_options("--text is the text to translate", select("INPUT", "--format", "--overwrite"), "for files")
    if options["--json-input"]:
        refuse_options("--json-input reads lines", select("--format", "--overwrite"), "for documents")
    require_option("--json or --interactive", options["--json"] or options["--interactive"], select("--n-best"))
    require_option("--json", options["--json"], select("--attention", "--top-tokens"))
    require_option("--replace-unknown", options["--replace-unknown"], select("--dictionary"))
    if options["--no-split"]:
        refuse_options("--no-split: each line is one sentence", select("--language"), "for splitting lines")


def parse_output_options(
    trained: "TrainedModel",
    json: bool = False,
    alignments: Path | None = None,
    attention: bool = False,
    top_tokens: int | None = None,
    replace_unknown: bool = False,
    dictionary: Path | None = None,
) -> "OutputOptions":
    """Check the options against a model; --json includes alignments if the model has them."""
    from weft.decoding.constraints.glossary import read_dictionary
    from weft.inference.capabilities import attention_obstacle, check_output_options
    from weft.inference.postprocessor import OutputOptions

    check_output_options(trained, OutputOptions(alignment=alignments is not None), "--alignments")
    check_output_options(trained, OutputOptions(attention=attention), "--attention")
    check_output_options(trained, OutputOptions(replace_unknown=replace_unknown), "--replace-unknown")
    alignment = alignments is not None or (json and not attention_obstacle(trained))
    entries = {} if dictionary is None else read_dictionary(dictionary)
    return OutputOptions(alignment, attention, top_tokens or 0, replace_unknown, entries)


def _make_reader(prefix: str | None, json_input: bool, protect: str | None) -> "RequestReader":
    from weft.decoding.constraints.request import RequestReader

    return RequestReader(prefix or "", as_json=json_input, protect=parse_protect(protect))


def _read_terms(glossary: Path | None) -> "Glossary | None":
    from weft.decoding.constraints.glossary import read_glossary

    return None if glossary is None else read_glossary(glossary)


def parse_protect(protect: str | None) -> "tuple[SpanKind, ...] | None":
    """Parse the kinds of spans of --protect; None: the default."""
    from weft.text.span_patterns import SPAN_KINDS, parse_span_kinds

    if protect is None or protect in ("all", "none"):
        return {None: None, "all": SPAN_KINDS, "none": ()}[protect]
    try:
        return parse_span_kinds(name.strip() for name in protect.split(","))
    except UserError as error:
        raise UserError(f"--protect {protect}: {error}") from error


def find_splitter(backend: "Backend", language: str | None) -> "SentenceSplitter | None":
    """Return the sentence splitter for a model; None if it was not trained on sentences."""
    splitter = backend.sentence_splitter(language)
    if splitter is None and language is not None:
        raise UserError(f"--language {language}: this model translates whole lines, not sentences: omit --language")
    return splitter


def parse_ensemble(
    models: list[Path] | None, weights: str | None, mean: EnsembleMean | None
) -> "EnsembleOptions | None":
    """Return the ensemble of --ensemble, --weights and --mean, or None if there is only one model."""
    require_option("--ensemble MODEL", models, {"--weights": weights, "--mean": mean})
    if not models:
        return None
    from weft.inference.ensemble import EnsembleOptions

    return EnsembleOptions(tuple(models), None if weights is None else parse_weights(weights), mean or "probabilities")


def _start_prompt(
    translator: "Translator",
    reader: "RequestReader",
    glossary: "Glossary | None",
    settings: list[str],
    n_best: int | None,
) -> None:
    """Run the interactive prompt; without --n-best it shows all outputs of the beam."""
    from weft.cli.prompt import PromptState, run_prompt, with_all_outputs

    state = PromptState(translator, tuple(settings), reader, glossary)
    try:
        run_prompt(state if n_best is not None else with_all_outputs(state))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _print_backend(reason: str, verbose: bool) -> None:
    if verbose:
        print(f"weft: backend {reason}", file=sys.stderr)
