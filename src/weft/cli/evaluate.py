"""weft evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Beam, Device, Settings
from weft.core.errors import UserError


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
    metric: Annotated[list[str] | None, typer.Option(help="bleu, chrf, ter, exact, wer, cer. May be repeated.")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    tokenize: Annotated[
        str, typer.Option(help="sacrebleu's tokenizer for BLEU: 13a, intl, zh, ja-mecab, char, none ...")
    ] = "13a",
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
    from weft.engine.perplexity import evaluate_text, is_text, load_for
    from weft.metric.lines import Options
    from weft.metric.render import as_json, render

    options = Options(lowercase=lowercase, tokenize=tokenize)
    metrics = metric or ["bleu", "chrf", "ter", "exact", "wer", "cer"]
    if what.is_dir() and is_text(files):
        trained = load_for(files[0], what, device)
        if metric or lowercase or tokenize != "13a" or output is not None or beam is not None or settings:
            raise UserError(
                f"{what} is a language model, of which the perplexity is measured: leave out --metric, --lowercase, "
                "--tokenize, --output, --beam and --set, which are for translations."
            )
        scores = evaluate_text(trained, files[0])
    elif what.is_dir():
        examples = read_examples(files)
        translator = load_translator(what, device=device, beam=beam, overrides=settings or [])
        scores = evaluate_model(translator, examples, metrics, options, output)
    elif not what.exists():
        raise UserError(f"{what}: there is no such file or folder")
    elif output is not None or beam is not None or settings or device != "auto":
        raise UserError(
            f"{what} is a file of translations: leave out --output, --beam, --set and --device, which are for a model."
        )
    else:
        scores = evaluate_file(what, files, metrics, options)
    print(as_json(scores) if json else render(scores))
