"""The main commands in the order of use: train, translate, evaluate, show."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import weft as api
from system import toys
from system.commands import weft
from weft.checkpoints.manifest import check_manifest
from weft.config.recipe import load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import parse_yaml
from weft.training.mixed_precision import choose_precision, with_precision

LIBRARIES = {"torch", "numpy", "sacrebleu", "tokenizers", "safetensors", "rapidfuzz", "yaml", "matplotlib"}
HEAVY = LIBRARIES | {"weft.training.training_run"}


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").split("\n")[:-1]]


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


def scores_of(*arguments: str | Path) -> dict[str, float]:
    result = weft("evaluate", *arguments, "--json")
    assert (result.code, result.err) == (0, "")
    return {score["name"]: score["value"] for score in json.loads(result.out)}


def test_run_folder_has_exactly_the_expected_files(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == {
        "config.yaml",
        "data.json",
        "origin.json",
        "source.tokenizer.json",
        "log.jsonl",
        "checkpoints",
        "best",
        "last",
    }
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["step-00000050", "step-00000080"]
    for model in (run / "best", run / "last"):
        files = {"weights.safetensors", "config.json", "source.tokenizer.json", "metrics.json"}
        assert check_manifest(model).files.keys() == files
    for checkpoint in (run / "checkpoints").iterdir():
        files = {"weights.safetensors", "optimizer.safetensors", "average.safetensors", "state.json"}
        assert check_manifest(checkpoint).files.keys() == files


def test_log_has_progress_and_validation(run: Path) -> None:
    steps = [record["step"] for record in records(run) if "validation" not in record]
    assert steps == [1, 20, 40, 60, 80]
    validations = [record for record in records(run) if "validation" in record]
    assert [record["step"] for record in validations] == [40, 80]
    assert validations[1]["validation"]["loss"] < validations[0]["validation"]["loss"]
    assert validations[1]["validation"]["bleu"] > 10


def test_saved_configuration_has_all_defaults(run: Path) -> None:
    recipe = load_recipe(run.with_suffix(".yaml"))
    assert recipe.train.precision == "auto"
    precision, _ = choose_precision(recipe, torch.device("cpu"))  # chosen for this machine
    node = to_dict(with_precision(recipe, precision), REGISTRY)
    assert parse_yaml((run / "config.yaml").read_text("utf-8"), "config") == node
    assert json.loads((run / "best" / "config.json").read_text("utf-8")) == node


def test_all_ways_to_translate_agree(run: Path, corpus: Path, tmp_path: Path) -> None:
    source, output = corpus / "test.src", tmp_path / "out.tgt"
    from_file = weft("translate", run, source)
    assert (from_file.code, from_file.err) == (0, "")
    assert len(from_file.lines) == 20
    assert weft("translate", run, stdin=source.read_bytes()) == from_file
    assert weft("translate", run / "best", source) == from_file
    assert weft("translate", run, source, "--output", output).out == b""
    assert output.read_bytes() == from_file.out
    sources = lines_of(source)
    assert [translation.text for translation in api.load(run).translate(sources)] == from_file.lines


def test_copied_model_folder_translates(run: Path, corpus: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run / "best", tmp_path / "elsewhere")
    assert weft("translate", copy, corpus / "test.src") == weft("translate", run, corpus / "test.src")


def test_json_has_scores_tokens_and_alternatives(run: Path, corpus: Path) -> None:
    source = corpus / "test.src"
    result = weft("translate", run, source, "--json", "--beam", "4", "--n-best", "3")
    rows = [json.loads(line) for line in result.lines]
    assert [row["source"] for row in rows] == lines_of(source)
    for row in rows:
        assert row.keys() == {"source", "text", "score", "truncated", "alternatives", "alignment"}
        assert row["truncated"] is False
        assert len(row["alternatives"]) == 3
        first = row["alternatives"][0]
        assert (first["text"], first["score"]) == (row["text"], row["score"])
        for hypothesis in row["alternatives"]:
            assert hypothesis.keys() == {"text", "score", "tokens", "token_scores", "finished", "ranking_score"}
            assert len(hypothesis["token_scores"]) == len(hypothesis["tokens"])
            assert hypothesis["tokens"][-1] == "<end>"
            assert sum(hypothesis["token_scores"]) == pytest.approx(hypothesis["score"])
            assert hypothesis["text"] == "".join(hypothesis["tokens"][:-1]).replace("▁", " ").removeprefix(" ")
    assert [row["text"] for row in rows] == weft("translate", run, source, "--beam", "4").lines


def test_beam_of_one_equals_greedy_search(run: Path, corpus: Path) -> None:
    greedy = weft("translate", run, corpus / "test.src")
    assert weft("translate", run, corpus / "test.src", "--beam", "1") == greedy
    assert weft("translate", run, corpus / "test.src", "--set", "translate.search={type: beam, size: 1}") == greedy
    assert weft("translate", run, corpus / "test.src", "--set", "translate.batch_tokens=1") == greedy


def test_evaluate_reproduces_validation_scores(run: Path, corpus: Path, tmp_path: Path) -> None:
    valid = json.loads((run / "best" / "metrics.json").read_text("utf-8"))["validation"]
    output = tmp_path / "out.tgt"
    scores = scores_of(run, corpus / "valid.src", corpus / "valid.tgt", "--translations", output)
    assert scores.keys() == {"bleu", "chrf", "ter", "exact", "wer", "cer"}
    assert (scores["bleu"], scores["chrf"]) == (valid["bleu"], valid["chrf"])
    assert scores_of(output, corpus / "valid.tgt") == scores
    assert output.read_bytes() == weft("translate", run, corpus / "valid.src").out


def test_evaluate_with_several_references(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.tgt"
    output.write_bytes(weft("translate", runs["bahdanau"], corpus / "test.src").out)
    scores = scores_of(output, corpus / "test.tgt", output, "--metric", "exact", "--metric", "cer")
    assert scores == {"exact": 100.0, "cer": 0.0}
    table = weft("evaluate", output, corpus / "test.tgt", output, "--metric", "bleu").lines
    assert len(table) == 1
    assert table[0].startswith("bleu  100.00 ± 0.00  higher is better  nrefs:2|")


def test_evaluate_on_a_table(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    sources, targets = lines_of(corpus / "test.src"), lines_of(corpus / "test.tgt")
    outputs = weft("translate", runs["bahdanau"], corpus / "test.src").lines
    table, output = tmp_path / "test.tsv", tmp_path / "out.tgt"
    write_rows(table, zip(sources, targets, strict=True))
    scores = scores_of(runs["bahdanau"], table, "--translations", output)
    assert scores == scores_of(runs["bahdanau"], corpus / "test.src", corpus / "test.tgt")
    assert scores == scores_of(output, table)
    assert scores["exact"] < 100
    write_rows(table, [(sources[0], targets[0]), *zip(sources[1:], targets[1:], outputs[1:], strict=True)])
    expected = 100.0 if outputs[0] == targets[0] else 95.0
    assert scores_of(runs["bahdanau"], table, "--metric", "exact") == {"exact": expected}


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8", newline="\n")


def test_datasets_are_listed() -> None:
    result = weft("datasets", "list")
    assert (result.code, result.err) == (0, "")
    names = [line.split()[0] for line in result.lines[1:6]]
    assert names == ["tatoeba-en-es", "tatoeba-en-uk", "software-strings", "cmudict", "codespell"]
    assert result.lines[-1] == "Download one: weft datasets download NAME"


def test_show_describes_a_model(run: Path) -> None:
    result = weft("show", run)
    assert (result.code, result.err) == (0, "")
    head, _, settings = result.out.decode("utf-8").partition("\n\n")
    assert parse_yaml(settings, "settings") == json.loads((run / "best" / "config.json").read_text("utf-8"))
    assert "parameters" in head
    assert "tokens" in head
    assert "validation at step" in head


def test_show_prints_recipe_with_defaults(corpus: Path, tmp_path: Path) -> None:
    path = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus))
    result = weft("show", path, "model.encoder.layers=3", "train.seed=7")
    expected = to_dict(load_recipe(path, ["model.encoder.layers=3", "train.seed=7"]), REGISTRY)
    assert parse_yaml(result.out.decode("utf-8"), "shown") == expected


def test_help_imports_no_heavy_libraries() -> None:
    script = (
        "import sys\n"
        "from weft.cli.main import main\n"
        "for arguments in (['--help'], ['train', '--help'], ['--version']):\n"
        "    sys.argv = ['weft', *arguments]\n"
        "    try:\n        main()\n"
        "    except SystemExit as end:\n        assert not end.code\n"
        f"print('heavy:', *sorted({HEAVY} & sys.modules.keys()))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Usage: weft train" in result.stdout
    assert result.stdout.split("\n")[-2] == "heavy:"


@pytest.mark.slow
def test_module_output_is_utf8_with_ascii_terminal(runs: dict[str, Path]) -> None:
    """Output is UTF-8 even if PYTHONIOENCODING sets another encoding."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "weft", "translate", str(runs["bahdanau"]), "--json"]
    line = "the kleine Kätzchen 🐈 sees"
    result = subprocess.run(command, input=line.encode(), capture_output=True, env=environment, check=True)
    assert json.loads(result.stdout)["source"] == line
    assert result.stderr == b""
