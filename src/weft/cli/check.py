"""`weft check`: data quality checks."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import JsonOption, OutputOption, print_result, require_option, split_settings
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.core.codec import Modality
    from weft.data.checks.quality_check import CheckInputs

USAGE = (
    "There is nothing to check. Use one of:\n"
    "  weft check train.en train.de     two text files, or one .tsv or .jsonl\n"
    "  weft check RECIPE                the data of a recipe"
)


def check(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE|FILES... [KEY=VALUE]...",
            help="A recipe; or the training data: two text files, or one .tsv, .jsonl, .csv, .parquet, .po, .tmx or "
            ".xlf. Then settings to change, for example data.max_length=100.",
        ),
    ] = None,
    valid: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Validation data: one .tsv, or two files.")
    ] = None,
    test: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Test data: one .tsv, or two files.")] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="A model whose tokenizers find unknown tokens.")
    ] = None,
    fix: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a cleaned copy of the training data.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="A kind of problem that --fix ignores. Repeatable.")
    ] = None,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Find bad data before training starts. Exits with code 1 if serious problems were found and not fixed."""
    from json import dumps
    from tempfile import TemporaryDirectory

    from weft.core.files import check_result_file
    from weft.core.progress_bar import progress_bar
    from weft.data.checks.cleaning import check_cleaning_output, clean_training_data
    from weft.data.checks.problem_kinds import FIXABLE, parse_ignored_kinds
    from weft.data.checks.problem_report import check_reports_to_json, format_check_reports, has_serious_problems
    from weft.data.checks.quality_check import check_corpora

    files, settings = split_settings(data)
    if not files:
        raise UserError(USAGE)
    require_option("--fix FOLDER", fix, {"--ignore": ignore})
    ignored = parse_ignored_kinds(ignore or [])
    inputs = read_check_inputs(files, settings, {"valid": valid or [], "test": test or []}, tokenizer)
    if fix is not None:
        check_cleaning_output(fix, inputs)
    used = [path for corpora in inputs.data.files().values() for paths in corpora for path in paths]
    check_result_file(output, [*used, *map(Path, [*files, *(valid or []), *(test or [])])])
    with TemporaryDirectory(prefix="weft-") as name:
        with progress_bar("checking") as show:
            checked = check_corpora(inputs, Path(name), lambda split, done: show(f"checking {split}", done))
        if fix is not None:
            cleaned = clean_training_data(inputs, checked, ignored, fix, Path(name))
            print(f"weft: {cleaned.summary(fix)}", file=sys.stderr)
    reports = checked.corpora
    result = dumps(check_reports_to_json(reports), ensure_ascii=False) if json else format_check_reports(reports)
    print_result(result, output)
    if has_serious_problems(reports, 0 if fix is None else FIXABLE & ~ignored):
        raise typer.Exit(1)


def read_check_inputs(
    names: Sequence[str], settings: Sequence[str], held_out: Mapping[str, Sequence[str]], tokenizer: Path | None
) -> "CheckInputs":
    """Collect the data to check.

    names: a recipe, or data files. settings: changes to the recipe. held_out: files of valid and test. tokenizer: a
    run or model folder; by default the model that training would start from.
    """
    from weft.checkpoints.manifest import check_manifest
    from weft.checkpoints.model_folder import find_model, load_tokenizers
    from weft.config.recipe_catalog import is_recipe_argument
    from weft.data.checks.quality_check import CheckInputs, list_corpus_files
    from weft.data.data_config import DataConfig

    data = DataConfig(train=tuple(names))
    source: Modality = "text"
    is_recipe = is_recipe_argument(names)
    if is_recipe or settings:
        from weft.config.recipe import load_recipe
        from weft.text.text_config import source_modality

        recipe = load_recipe(Path(names[0]) if is_recipe else {"data": {"train": [*names]}}, settings)
        data, source = recipe.data, source_modality(recipe.text)
        if not data.files().get("train"):
            raise UserError("data.train: names no files, so there is nothing to check")
        if tokenizer is None and recipe.train.initial_model is not None:
            tokenizer = Path(recipe.train.initial_model).expanduser()
    files = data.files() | {split: [list(map(Path, paths))] for split, paths in held_out.items() if paths}
    splits = {split: list_corpus_files(corpora, data) for split, corpora in files.items()}
    if tokenizer is None:
        return CheckInputs(splits, data, source, None)
    folder = find_model(tokenizer)
    check_manifest(folder)
    return CheckInputs(splits, data, source, load_tokenizers(folder))
