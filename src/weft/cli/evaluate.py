"""weft evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.comparing import Comparing, Lowercase, Metrics, Stem, SynonymFile, Tokenize
from weft.cli.options import Beam, Device, Settings, refuse
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.metric.score import Score


def evaluate(
    what: Annotated[
        Path, typer.Argument(metavar="MODEL|TRANSLATIONS", help="A run or model folder, or a file of translations.")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="For a model: the source, then its references. For translations: the references. For both, one .tsv "
            "will do: the first column is the source, the others are its references. For a language model: a text.",
        ),
    ],
    metric: Metrics = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = None,
    stem: Stem = None,
    synonyms: SynonymFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Annotated[Path | None, typer.Option(help="Keep the translations in this file.")] = None,
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Score a model's translations, or a file of them, against one or several references; or measure how well a
    language model foresees a text.

    \b
    weft evaluate MODEL TEST.tsv
    weft evaluate MODEL SOURCE REFERENCE...
    weft evaluate TRANSLATIONS REFERENCE...
    weft evaluate LANGUAGE_MODEL TEXT
    """
    from weft.engine.evaluation import evaluate_file, evaluate_model, read_examples
    from weft.engine.load import load_translator
    from weft.engine.output import check_output
    from weft.engine.perplexity import evaluate_text, is_text, load_for
    from weft.metric.evaluate import USUAL

    if not what.exists():
        raise UserError(f"{what}: there is no such file or folder")
    searching = {"--output": output, "--beam": beam, "--set": settings}
    how = {"--lowercase": lowercase, "--tokenize": tokenize, "--stem": stem, "--synonyms": synonyms}
    if what.is_dir() and is_text(files):
        trained = load_for(files[0], what, device)
        told = f"{what} is a language model, of which the perplexity is measured"
        refuse(told, {"--metric": metric, **how, **searching}, "for translations")
        print_scores(evaluate_text(trained, files[0]), as_json=json)
        return
    metrics, comparing = metric or USUAL, Comparing(lowercase, tokenize, stem, synonyms)
    options = comparing.options(metrics)
    comparing.check_words(metrics)
    if what.is_dir():
        check_output(output, files)
        examples = read_examples(files)
        translator = load_translator(what, device=device, beam=beam, overrides=settings or [])
        print_scores(evaluate_model(translator, examples, metrics, options, output), as_json=json)
    else:
        refuse(f"{what} is a file of translations", {**searching, "--device": device != "auto"}, "for a model")
        print_scores(evaluate_file(what, files, metrics, options), as_json=json)


def print_scores(scores: Sequence[Score], *, as_json: bool) -> None:
    from weft.metric import render

    print(render.as_json(scores) if as_json else render.render(scores))
