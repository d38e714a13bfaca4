"""User errors of the commands that use a trained model or its outputs, as in user_errors.py."""

from system.user_errors import UserErrorCase, case

COMPARE = ["compare", "{corpus}/test.tgt", "{corpus}/test.src"]
EXPORT = ["export", "{run}", "--out", "{new}"]
ATTENTION = ["inspect", "attention", "{run}", "--output", "{new}.png"]
EVALUATE_METEOR = ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/test.tgt", "--metric", "meteor"]
GATES = ["inspect", "gates", "{recurrent}", "a cat", "--output", "{new}.png"]

INFERENCE_COMMANDS: dict[str, list[UserErrorCase]] = {
    "translate": [
        case(
            "language model",
            ["translate", "{language_model}", "{recipe}", "--output", "{new}"],
            "{language_model} is a language model, which reads no source",
            "weft complete MODEL PROMPT",
        ),
        case("unsupported document", ["translate", "{run}", "{bad}/a.pdf"], "{bad}/a.pdf: .pdf files", ".docx"),
        case("damaged subtitles", ["translate", "{run}", "{bad}/a.srt"], "{bad}/a.srt: line 1"),
        case(
            "document not UTF-8",
            ["translate", "{run}", "{bad}/a.md"],
            "{bad}/a.md: the text is not UTF-8: byte 0xE9 in line 1",
        ),
        case("DOCX on standard output", ["translate", "{run}", "{bad}/a.docx"], "--output FILE.docx"),
        case("damaged DOCX", ["translate", "{run}", "{bad}/a.docx", "--output", "{new}"], "{bad}/a.docx: "),
        case("JSON of a document", ["translate", "{run}", "{bad}/a.md", "--json"], "Markdown", "omit --json"),
        case("unknown format", ["translate", "{run}", "{bad}/a.md", "--format", "mark"], "--format mark", "markdown"),
        case("format of standard input", ["translate", "{run}", "--format", "po"], "--format needs a file"),
        case("overwrite lines", ["translate", "{run}", "{corpus}/test.src", "--overwrite"], "omit --overwrite"),
        case("damaged CSV glossary", ["translate", "{run}", "--glossary", "{bad}/a.csv"], "{bad}/a.csv, record 1"),
        case("missing model", ["translate", "{bad}/none"], "{bad}/none: there is no such folder"),
        case("folder without model", ["translate", "{bad}"], "{bad} is not a model folder"),
        case("file as model", ["translate", "{recipe}"], "{recipe} is not a model folder"),
        case(
            "damaged weights",
            ["translate", "{damaged}"],
            "{damaged}/weights.safetensors: is damaged: its content has changed",
        ),
        case("missing tokenizer", ["translate", "{incomplete}"], "{incomplete}/source.tokenizer.json: is missing"),
        case(
            "unexpected file in model", ["translate", "{extra_file}"], "{extra_file}/notes.txt: does not belong there"
        ),
        case("missing input", ["translate", "{run}", "{bad}/none.txt"], "{bad}/none.txt: there is no such file"),
        case("folder as input", ["translate", "{run}", "{bad}"], "{bad}: is a folder, not a file"),
        case(
            "input not UTF-8",
            ["translate", "{run}", "{bad}/latin.txt", "--output", "{new}"],
            "latin.txt, line 2: not UTF-8",
        ),
        case("standard input not UTF-8", ["translate", "{run}"], "standard input, line 2: not UTF-8"),
        case("output is a folder", ["translate", "{run}", "--output", "{bad}"], "{bad}: is a folder"),
        case(
            "output is the input", ["translate", "{bad}", "{recipe}", "--output", "{recipe}"], "{recipe}: is read from"
        ),
        case(
            "output in missing folder",
            ["translate", "{run}", "--output", "{bad}/none/x"],
            "there is no folder {bad}/none",
        ),
        case(
            "full disk",
            ["translate", "{run}", "{corpus}/test.src", "--output", "/dev/full"],
            "/dev/full: the disk is full",
        ),
        case("beam of zero", ["translate", "{run}", "--beam", "0"], "--beam", "greater than or equal to 1"),
        case("beam of text", ["translate", "{run}", "--beam", "wide"], "--beam", "integer"),
        case(
            "n-best above beam",
            ["translate", "{run}", "--json", "--beam", "2", "--n-best", "3"],
            "best is 3",
            "size is 2",
        ),
        case("unknown backend", ["translate", "{run}", "--backend", "steam"], "--backend", "steam"),
        case("unknown precision", ["translate", "{run}", "--precision", "int4"], "--precision", "int4"),
        case(
            "unsupported backend",
            ["translate", "{recurrent}", "--backend", "ctranslate2", "--json"],
            "--backend ctranslate2",
            "model.encoder is recurrent",
            "model.decoder is bahdanau",
            "--json",
        ),
        case(
            "int8 and sampling",
            ["translate", "{run}", "--precision", "int8", "--set", "translate.search=sampling"],
            "--set",
        ),
        case("int8 and torch", ["translate", "{run}", "--precision", "int8", "--backend", "torch"], "--precision int8"),
        case("n-best without JSON", ["translate", "{run}", "--n-best", "3"], "--n-best", "--json"),
        case(
            "interactive with input file",
            ["translate", "{run}", "{recipe}", "--interactive"],
            "--interactive",
            "omit INPUT",
        ),
        case(
            "interactive with JSON and output",
            ["translate", "{run}", "--interactive", "--json", "--attention", "--top-tokens", "2", "--output", "{new}"],
            "--interactive reads from the terminal: omit --output, --json, --attention, --top-tokens, which are for",
        ),
        case("interactive with JSON input", ["translate", "{run}", "-i", "--json-input"], "omit --json-input"),
        case("interactive with --no-split", ["translate", "{run}", "-i", "--no-split"], "omit --no-split"),
        case("interactive with alignments", ["translate", "{run}", "-i", "--alignments", "{new}"], "omit --alignments"),
        case(
            "interactive with protected spans",
            ["translate", "{run}", "-i", "--protect", "urls"],
            "omit --protect",
            "lines with spans",
        ),
        case(
            "interactive with another backend",
            ["translate", "{run}", "-i", "--backend", "ctranslate2", "--precision", "int8"],
            "omit --backend ctranslate2, --precision, which are for another backend",
        ),
        case(
            "interactive language model",
            ["translate", "{language_model}", "-i"],
            "is a language model",
            "weft complete",
        ),
        case(
            "language without splitting",
            ["translate", "{run}", "--language", "de", "--no-split"],
            "--no-split: each line is one sentence: omit --language",
        ),
        case(
            "invalid language code",
            ["translate", "{run}", "{recipe}", "--language", "German", "--output", "{new}"],
            'language "German": not a language code. Use a code such as en, de or pt-BR',
        ),
        case(
            "sentences not UTF-8",
            ["translate", "{run}", "{bad}/latin.txt", "--no-split", "--output", "{new}"],
            "{bad}/latin.txt, line 2: not UTF-8",
        ),
        case(
            "missing input without splitting",
            ["translate", "{run}", "{bad}/none.txt", "--no-split"],
            "none.txt: there is no such file",
        ),
        case(
            "sentences on a full disk",
            ["translate", "{run}", "{corpus}/test.src", "--no-split", "--output", "/dev/full"],
            "/dev/full: the disk is full",
        ),
        case(
            "two texts",
            ["translate", "{run}", "{recipe}", "--text", "A cat."],
            "--text is the text to translate: omit INPUT, which is for files",
        ),
        case(
            "fusion weight without language model",
            ["translate", "{run}", "--set", "translate.fusion.weight=0.5"],
            "--set translate.fusion.weight=0.5: there is no language model",
        ),
        case("unknown setting", ["translate", "{run}", "--set", "translate.bem=2"], 'translate: unknown setting "bem"'),
        case("training setting", ["translate", "{run}", "--set", "train.steps=2"], "train.steps", "translate."),
        case("unavailable device", ["translate", "{run}", "--device", "cuda:99"], "--device cuda:99 cannot be used"),
        case("model without shortlist", ["translate", "{run}", "--shortlist"], "has no shortlist", "weft shortlist"),
    ],
    "complete": [
        case("no arguments", ["complete"], "Missing argument 'MODEL'"),
        case("folder without model", ["complete", "{bad}", "a"], "{bad} is not a model folder"),
        case(
            "translation model",
            ["complete", "{run}", "the", "cat"],
            "{run} is not a language model: it translates",
            "weft train language-model",
        ),
        case(
            "zero samples",
            ["complete", "{language_model}", "a", "--samples", "0"],
            "--samples",
            "greater than or equal to 1",
        ),
        case(
            "zero temperature", ["complete", "{language_model}", "a", "--temperature", "0"], "--temperature", "0.0001"
        ),
        case(
            "beam search with seed",
            ["complete", "{language_model}", "a", "--beam-search", "--seed", "2"],
            "omit",
            "--seed",
        ),
        case(
            "unknown device", ["complete", "{language_model}", "a", "--device", "tpu9"], "--device tpu9 cannot be used"
        ),
        case(
            "prompt too long",
            ["complete", "{language_model}", *["cat"] * 41],
            "has 41 tokens, but this model reads at most 40: give a shorter one",
        ),
    ],
    "evaluate": [
        case(
            "output is the list of synonyms",
            [*EVALUATE_METEOR, "--synonyms", "{recipe}", "--output", "{recipe}"],
            "{recipe}: is read from",
        ),
        case(
            "missing translations", ["evaluate", "{bad}/none", "{corpus}/test.tgt"], "{bad}/none: there is no such file"
        ),
        case("no reference", ["evaluate", "{corpus}/test.tgt"], "Missing argument"),
        case("missing reference", ["evaluate", "{corpus}/test.tgt", "{bad}/none"], "{bad}/none: there is no such file"),
        case(
            "source without references",
            ["evaluate", "{run}", "{corpus}/test.src"],
            "{corpus}/test.src is a source without references",
            "weft evaluate MODEL TEST.tsv",
        ),
        case(
            "table without tab for a model",
            ["evaluate", "{run}", "{bad}/ragged.tsv"],
            "{bad}/ragged.tsv, line 2: expected",
            "got no tab",
        ),
        case(
            "table without tab for translations",
            ["evaluate", "{corpus}/test.tgt", "{bad}/ragged.tsv"],
            "{bad}/ragged.tsv, line 2:",
        ),
        case("empty table", ["evaluate", "{run}", "{bad}/empty.tsv"], "{bad}/empty.tsv: is empty"),
        case("missing table", ["evaluate", "{run}", "{bad}/none.tsv"], "{bad}/none.tsv: there is no such file"),
        case(
            "table and references",
            ["evaluate", "{run}", "{bad}/ragged.tsv", "{corpus}/test.tgt"],
            "{bad}/ragged.tsv has its own references, in its columns: omit {corpus}/test.tgt",
        ),
        case(
            "different line counts",
            ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "{corpus}/train.tgt"],
            "{corpus}/train.tgt has 400 lines, {corpus}/test.tgt has 20",
        ),
        case(
            "different line counts for a model",
            ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/train.tgt"],
            "{corpus}/train.tgt has 400 lines, {corpus}/test.src has 20",
        ),
        case("empty files", ["evaluate", "{bad}/empty.txt", "{bad}/empty.txt"], "{bad}/empty.txt", "no lines"),
        case(
            "unknown metric",
            ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--metric", "belu"],
            'unknown metric "belu"; did you mean "bleu"?',
        ),
        case(
            "unknown metric for a model",
            ["evaluate", "{run}", "{corpus}/test.src", "{corpus}/test.tgt", "--metric", "belu", "--output", "{new}"],
            'unknown metric "belu"; did you mean "bleu"?',
        ),
        case(
            "unknown tokenizer",
            ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--tokenize", "14a"],
            "unknown tokenizer '14a'. Use one of",
        ),
        case(
            "tokenizer without a metric that uses it",
            ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--metric", "wer", "--tokenize", "char"],
            "--tokenize only affects bleu, meteor, repetition, copy: add one of them with --metric",
        ),
        case(
            "comparison with a tokenizer that no metric uses",
            ["compare", "{corpus}/test.tgt", "{corpus}/test.tgt", "--metric", "wer", "--tokenize", "char"],
            "--tokenize only affects bleu, meteor, repetition, copy: add one of them with --metric",
        ),
        case(
            "model to compare without a source",
            ["compare", "{corpus}/test.tgt", "{run}"],
            "{run} is a model, and there is no source for it to translate: add --source FILE",
        ),
        case(
            "beam to compare translations",
            ["compare", "{corpus}/test.tgt", "{corpus}/test.tgt", "--beam", "2"],
            "All systems are files of translations: omit --beam, which is for models",
        ),
        case(
            "comparison written into a missing folder",
            ["compare", "{corpus}/test.tgt", "{corpus}/test.src", "--output", "{new}/x.json"],
            "there is no folder {new}",
        ),
        case(
            "comparison written over a system",
            ["compare", "{corpus}/test.tgt", "{corpus}/test.src", "--output", "{corpus}/test.src"],
            "{corpus}/test.src: is read from",
        ),
        case(
            "stemmer with a language model",
            ["evaluate", "{language_model}", "{corpus}/test.src", "--stem", "german"],
            "{language_model} is a language model, scored by its perplexity: omit --stem, which is for",
        ),
        case(
            "beam with translations",
            ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--beam", "2"],
            "{corpus}/test.tgt is a file of translations",
            "--beam",
        ),
        case(
            "translations of translations",
            ["evaluate", "{corpus}/test.tgt", "{corpus}/test.tgt", "--translations", "{new}"],
            "{corpus}/test.tgt is a file of translations",
            "--translations",
        ),
        case(
            "output is a reference",
            ["evaluate", "{bad}", "{corpus}/test.src", "{corpus}/train.tgt", "{recipe}", "--output", "{recipe}"],
            "{recipe}: is read from",
        ),
        case(
            "metric with a language model",
            ["evaluate", "{language_model}", "{corpus}/test.src", "--metric", "bleu"],
            "{language_model} is a language model, scored by its perplexity: omit --metric",
        ),
        case(
            "references with a language model",
            ["evaluate", "{language_model}", "{corpus}/test.src", "{corpus}/test.tgt"],
            "{language_model} is a language model, which reads no source",
            "weft evaluate MODEL TEXT",
        ),
        case(
            "missing text for a language model",
            ["evaluate", "{language_model}", "{bad}/none"],
            "{bad}/none: there is no such file",
        ),
        case(
            "empty text for a language model",
            ["evaluate", "{language_model}", "{bad}/empty.txt"],
            "{bad}/empty.txt: is empty",
        ),
    ],
    "compare": [
        case("no system", ["compare", "{corpus}/test.tgt"], "Missing argument"),
        case("missing system", ["compare", "{corpus}/test.tgt", "{bad}/none"], "{bad}/none: there is no such file"),
        case(
            "different line counts", ["compare", "{corpus}/test.tgt", "{corpus}/train.tgt"], "has 400 lines", "has 20"
        ),
        case("same system twice", [*COMPARE, "{corpus}/test.src"], "test.src is given twice"),
        case("unknown metric", [*COMPARE, "--metric", "belu"], 'unknown metric "belu"; did you mean "bleu"?'),
        case("unknown tokenizer", [*COMPARE, "--tokenize", "14a"], "unknown tokenizer '14a'. Use one of"),
        case(
            "tokenizer without a metric that uses it",
            [*COMPARE, "--metric", "wer", "--tokenize", "char"],
            "--tokenize only affects bleu, meteor, repetition, copy: add one of them with --metric",
        ),
        case("unknown significance test", [*COMPARE, "--test", "t"], "'t' is not one of 'bootstrap', 'randomization'"),
        case("missing training text", [*COMPARE, "--train", "{bad}/none"], "{bad}/none: there is no such file"),
        case("page in missing folder", [*COMPARE, "--html", "{bad}/none/x.html"], "there is no folder {bad}/none"),
        case(
            "sentence metric without page",
            [*COMPARE, "--sentence-metric", "wer"],
            "--sentence-metric needs --html FILE: add it",
        ),
        case("copy metric without source", [*COMPARE, "--metric", "copy"], "copy needs the source", "--source FILE"),
    ],
    "edit-distance": [
        case("single string", ["edit-distance", "a"], "Missing argument"),
        case("negative cost", ["edit-distance", "a", "b", "--insert", "-1"], "--insert", "greater than or equal to 0"),
        case(
            "infinite cost", ["edit-distance", "a", "b", "--insert", "inf"], "--insert inf: the cost of an edit must be"
        ),
    ],
    "export": [
        case("no format", EXPORT, "--format"),
        case("unknown format", [*EXPORT, "--format", "steam"], "--format", "steam"),
        case("no output folder", ["export", "{run}", "--format", "onnx"], "--out"),
        case(
            "folder without model",
            ["export", "{bad}", "--format", "onnx", "--out", "{new}"],
            "{bad} is not a model folder",
        ),
        case(
            "damaged weights",
            ["export", "{damaged}", "--format", "onnx", "--out", "{new}"],
            "weights.safetensors: is damaged",
        ),
        case(
            "output exists",
            ["export", "{run}", "--format", "ctranslate2", "--out", "{bad}"],
            "{bad} exists already",
            "another --out",
        ),
        case(
            "output below a file",
            ["export", "{run}", "--format", "onnx", "--out", "{recipe}/x"],
            "{recipe} is no folder",
            "another --out",
        ),
        case(
            "precision with onnx", [*EXPORT, "--format", "onnx", "--precision", "int8"], "--precision int8", "omit it"
        ),
        case(
            "shortlist with onnx",
            [*EXPORT, "--format", "onnx", "--shortlist"],
            "--shortlist needs --format ctranslate2",
        ),
        case("model without shortlist", [*EXPORT, "--format", "ctranslate2", "--shortlist"], "has no shortlist"),
        case(
            "verify with ctranslate2", [*EXPORT, "--format", "ctranslate2", "--verify"], "--verify needs --format onnx"
        ),
        case(
            "unsupported by ctranslate2",
            ["export", "{recurrent}", "--format", "ctranslate2", "--out", "{new}"],
            "{recurrent}/best: cannot be exported to CTranslate2",
            "model.encoder is recurrent",
            "model.decoder is bahdanau",
        ),
        case(
            "unsupported by onnx",
            ["export", "{recurrent}", "--format", "onnx", "--out", "{new}"],
            "{recurrent}/best: cannot be exported to ONNX",
            "model.encoder is recurrent",
            "model.decoder is bahdanau",
        ),
    ],
    "shortlist": [
        case("language model", ["shortlist", "{language_model}"], "reads no text"),
        case("single file", ["shortlist", "{run}", "{recipe}"], "{recipe}"),
        case("zero per token", ["shortlist", "{run}", "--per-token", "0"], "--per-token", "greater than or equal to 1"),
    ],
    "inspect": [
        case("no subcommand", ["inspect", "{run}", "a cat"], "No such command"),
        case("attention without sentence", ["inspect", "attention", "{run}"], "Missing argument 'SENTENCE'"),
        case(
            "attention of missing model",
            ["inspect", "attention", "{bad}/none", "a cat"],
            "{bad}/none: there is no such folder",
        ),
        case(
            "attention of empty sentence",
            [*ATTENTION, " "],
            'the sentence is empty: write one in quotation marks, such as "A man sleeps."',
        ),
        case("sentence without quotation marks", [*ATTENTION, "a", "cat"], "unexpected extra argument", "cat"),
        case(
            "attention in unknown format",
            ["inspect", "attention", "{run}", "a cat", "--output", "{new}.jpg"],
            "{new}.jpg: unknown figure format; use a name that ends with .png, .svg or .pdf",
        ),
        case(
            "attention output is the input",
            ["inspect", "attention", "{bad}", "{recipe}", "--output", "{recipe}"],
            "{recipe}: is read from",
        ),
        case(
            "frames output is the input",
            ["inspect", "frames", "{bad}", "{recipe}", "--output", "{recipe}"],
            "{recipe}: is read from",
        ),
        case(
            "attention in missing folder",
            ["inspect", "attention", "{run}", "a cat", "--output", "{bad}/none/x.png"],
            "there is no folder {bad}/none",
        ),
        case("layer zero", [*ATTENTION, "a cat", "--layer", "0"], "--layer", "greater than or equal to 1"),
        case("unknown layer", [*ATTENTION, "a cat", "--layer", "2"], "--layer 2: this decoder has layers 1 to 1"),
        case(
            "unknown head",
            [*ATTENTION, "a cat", "--layer", "1", "--head", "3"],
            "--head 3: this layer has heads 1 to 2",
        ),
        case("head without layer", [*ATTENTION, "a cat", "--head", "1"], "--head 1: the layer is missing", "--layer N"),
        case(
            "layer of a recurrent model",
            ["inspect", "attention", "{recurrent}", "a cat", "--output", "{new}.png", "--layer", "1"],
            "this model has one attention with one head: leave out --layer and --head",
        ),
        case(
            "attention with training setting",
            [*ATTENTION, "a cat", "--set", "train.steps=2"],
            "train.steps",
            "translate.",
        ),
        case(
            "gates of a Transformer",
            ["inspect", "gates", "{run}", "a cat", "--output", "{new}.png"],
            "this model has no recurrent cells",
            "weft inspect attention",
        ),
        case(
            "gradients of a Transformer",
            ["inspect", "gradients", "{run}", "a cat", "--output", "{new}.png"],
            "this model has no recurrent cells",
            "weft inspect attention",
        ),
        case(
            "gates of empty sentence",
            ["inspect", "gates", "{recurrent}", "", "--output", "{new}.png"],
            "sentence is empty",
        ),
        case("gradients of empty sentence", ["inspect", "gradients", "{recurrent}", " "], "the sentence is empty"),
        case(
            "gates of missing model", ["inspect", "gates", "{bad}/none", "a cat"], "{bad}/none: there is no such folder"
        ),
        case(
            "gradients of folder without model",
            ["inspect", "gradients", "{bad}", "a cat"],
            "{bad} is not a model folder",
        ),
        case(
            "gates in unknown format",
            ["inspect", "gates", "{recurrent}", "a cat", "--output", "{new}.txt"],
            "{new}.txt: unknown figure format; use a name that ends with .png, .svg or .pdf",
        ),
        case(
            "gradients in unknown format",
            ["inspect", "gradients", "{recurrent}", "a cat", "--output", "{new}"],
            "{new}: unknown figure format; use a name that ends with .png, .svg or .pdf",
        ),
        case(
            "gradients in missing folder",
            ["inspect", "gradients", "{recurrent}", "a cat", "--output", "{bad}/none/x.png"],
            "there is no folder {bad}/none",
        ),
        case(
            "search tree in unknown format",
            ["inspect", "search", "{run}", "a cat", "--text", "--output", "{new}.txt"],
            "{new}.txt: unknown figure format; use a name that ends with .png, .svg or .pdf",
        ),
        case("search tree of empty sentence", ["inspect", "search", "{run}", " "], "the sentence is empty"),
        case(
            "search tree of a language model", ["inspect", "search", "{language_model}", "a cat"], "is a language model"
        ),
        case("unknown side", [*GATES, "--side", "middle"], "'middle' is not one of 'encoder', 'decoder'"),
        case(
            "unknown module",
            [*GATES, "--module", "encoder.1"],
            "no gates at encoder.1: this model has gates at encoder.0.forward, encoder.0.backward, decoder",
        ),
        case(
            "module of the other side",
            [*GATES, "--side", "encoder", "--module", "decoder"],
            "no gates at decoder in encoder: this model has gates at encoder.0.forward",
        ),
        case(
            "units of several gates",
            [*GATES, "--units", "--module", "decoder"],
            "--units shows one gate: select it with --module, as one of decoder.reset, decoder.update",
        ),
    ],
    "show": [
        case("no arguments", ["show"], "weft show RECIPE"),
        case("missing recipe", ["show", "{bad}/none"], "{bad}/none: no such recipe file"),
        case("folder without model", ["show", "{bad}"], "{bad} is not a model folder"),
        case("invalid setting", ["show", "{recipe}", "model.tie=al"], "model.tie: should be one of", 'mean "all"?'),
        case("setting for a model", ["show", "{run}", "train.steps=3"], "{run}", "train.steps=3"),
    ],
    "serve": [
        case("no arguments", ["serve"], "There is nothing to serve", "weft serve RUN...", "--training RUN"),
        case("training of a model folder", ["serve", "--training", "{run}/best"], "{run}/best: is a model folder"),
        case("training of a file", ["serve", "{run}", "--training", "{recipe}"], "{recipe}: is a file", "--out"),
        case("training twice", ["serve", "--training", "{run}", "--training", "{run}"], "{run} is given twice"),
        case(
            "missing model",
            ["serve", "{bad}/none", "--languages", "en:de", "--port", "0"],
            "{bad}/none: there is no such",
        ),
        case("folder without model", ["serve", "{bad}"], "{bad} is not a model folder"),
        case("damaged weights", ["serve", "{damaged}", "--port", "0"], "{damaged}/weights.safetensors: is damaged"),
        case(
            "language model",
            ["serve", "{language_model}", "--languages", "en:de", "--port", "0"],
            "is a language model",
        ),
        case(
            "unknown languages",
            ["serve", "{language_model}", "--port", "0"],
            "{language_model}: the languages of this model are not known",
            "--languages en:de, once for each model",
        ),
        case("invalid languages", ["serve", "{run}", "--languages", "english"], "--languages english", "en:de"),
        case("too few languages", ["serve", "{run}", "{recurrent}", "--languages", "en:de"], "1 times for 2 models"),
        case("unknown limit", ["serve", "{run}", "--limit", "speed=1"], '--limit speed=1: there is no limit "speed"'),
        case(
            "limit is not a number", ["serve", "{run}", "--limit", "queue=none"], "--limit queue=none", "whole number"
        ),
        case("beam above its limit", ["serve", "{run}", "--beam", "5", "--limit", "beam=3"], "--beam 5", "beam=3"),
        case("missing key file", ["serve", "{run}", "--api-keys", "{bad}/none"], "{bad}/none: there is no such file"),
        case("keys too short", ["serve", "{run}", "--api-keys", "{recipe}"], "{recipe}, line", "at least 16"),
        case("unusable host", ["serve", "{run}", "--host", "256.1.1.1"], "--host 256.1.1.1", "cannot listen there"),
        case(
            "allowed host is a URL",
            ["serve", "{run}", "--allowed-host", "http://a.b"],
            "--allowed-host http://a.b",
            "translate.example.org",
        ),
        case("port out of range", ["serve", "{run}", "--port", "70000"], "--port", "65535"),
        case(
            "unsupported backend",
            ["serve", "{recurrent}", "--backend", "ctranslate2", "--port", "0"],
            "--backend ctranslate2",
            "model.decoder is bahdanau",
        ),
    ],
}
