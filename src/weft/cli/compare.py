"""weft compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.comparing import Comparing, Lowercase, Metrics, Stem, SynonymFile, Tokenize
from weft.core.errors import UserError


def compare(
    references: Annotated[
        Path,
        typer.Argument(metavar="REFERENCES", help="A file of references; a .tsv has the source and its references."),
    ],
    systems: Annotated[
        list[Path], typer.Argument(metavar="SYSTEM", help="Files of translations; all are compared with the first.")
    ],
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="What was translated.")] = None,
    reference: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Further references. May be repeated.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The training text in the language of the translations.")
    ] = None,
    metric: Metrics = None,
    test: Annotated[
        Literal["bootstrap", "randomisation"],
        typer.Option(help="How p is found: paired bootstrap, or approximate randomisation."),
    ] = "randomisation",
    samples: Annotated[
        int | None, typer.Option(min=100, help="How many are drawn. Default: 1000, and 10000 for randomisation.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another number, other samples.")] = 12345,
    lowercase: Lowercase = False,
    tokenize: Tokenize = None,
    stem: Stem = None,
    synonyms: SynonymFile = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with sentences side by side.")] = None,
    by: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The metric of the sentences on that page. Default: chrf.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(min=1, help="How many sentences of each kind that page shows. Default: 10.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare systems on the same lines: scores, intervals, whether they differ from the first, and where."""
    from weft.data.lines import read_lines
    from weft.engine.output import check_output
    from weft.metric.compare import Comparison, Settings
    from weft.metric.compare import compare as compare_systems
    from weft.metric.material import read_material
    from weft.metric.render_comparison import as_json, render
    from weft.metric.significance import SAMPLES, TRIALS
    from weft.report.page import compare_on_page

    for option, value in (("--by", by), ("--sentences", sentences)):
        if value is not None and html is None:
            raise UserError(f"{option} is about the page that --html writes: add --html FILE, or leave {option} out.")
    read = [references, *(reference or []), *systems, source, train, synonyms]
    check_output(html, [file for file in read if file is not None])
    metrics, one = metric or ["bleu", "chrf", "ter"], by or "chrf"
    options = Comparing(lowercase, tokenize, stem, synonyms).options([*metrics, one])
    settings = Settings(metrics, options, test, samples or SAMPLES, samples or TRIALS, seed)
    material = read_material([references, *(reference or [])], systems, source)

    def compared() -> Comparison:
        return compare_systems(material, settings, None if train is None else read_lines(train))

    found = compared() if html is None else compare_on_page(compared, html, one, sentences or 10)
    print(as_json(found) if json else render(found))
