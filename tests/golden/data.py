"""Tokens and batches of each kind of tokenizer, the numbers of the data report, and problems found in files."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from golden import names, recipes
from golden.workshop import Workshop

Node = dict[str, Any]
Computation = Callable[[Workshop], Node]

TEXTS = ["li kato ruja videt un hundo", "The café № 5: ½ ﬁsh, naïve 日本", "  two  spaces ", "UPPER Lower"]


def tokenized(label: str) -> Computation:
    """Return the computation of tokens of fixed texts and of the batches of two epochs."""

    def compute(workshop: Workshop) -> Node:
        text = recipes.TOKENIZERS[label]
        data = names.prepared(recipes.data_recipe(text, recipes.TOKENIZED, workshop.corpora, workshop.runs))
        return {
            "vocabulary sizes": list(names.vocabulary_sizes(data)),
            "texts": [[joined(row), text] for row, text in names.tokens_and_text(data, TEXTS)],
            **{
                f"epoch {epoch}": [
                    [f"{pair}: {joined(source)} -> {joined(target)}" for pair, source, target in batch]
                    for batch in names.batches(data, epoch, max_tokens=160)
                ]
                for epoch in (1, 2)
            },
            "report": floats_as_hex(names.data_report(data)),
        }

    return compute


def reported(label: str) -> Computation:
    """Return the computation of the data report, and of the order of pairs in the first epoch."""

    def compute(workshop: Workshop) -> Node:
        node = recipes.data_recipe(recipes.WORDS, recipes.DATA_CASES[label], workshop.corpora, workshop.runs)
        data = names.prepared(node)
        order = [joined(pair for pair, _, _ in batch) for batch in names.batches(data, 0, max_tokens=160)]
        return {"report": floats_as_hex(names.data_report(data)), "pairs of batches": order}

    return compute


def checked(workshop: Workshop) -> Node:
    """Compute the problems found in files with planted ones, with and without tokenizers."""
    folder = workshop.corpora
    files = [folder / f"planted.{ending}" for ending in ("src", "tgt")]
    held_out = [folder / f"valid.{ending}" for ending in ("src", "tgt")]
    run = workshop.run("transformer")
    found: Node = {}
    for name, tokenizer in (("without tokenizer", None), ("with tokenizer", run)):
        problems, cleaned = names.data_problems(files, held_out, workshop.runs / f"check-{len(found)}", tokenizer)
        digest = sha256("\n".join(cleaned).encode()).hexdigest()
        found[name] = {"problems": problems, "cleaned lines": len(cleaned), "digest of cleaned lines": digest}
    return found


def measured(_workshop: Workshop) -> Node:
    """Compute every metric on fixed lines."""
    hypotheses = ["li kato ruja videt un hundo", "cist arbo havet kaso 12", "un un un un", "www.example.org un kato"]
    references = [["li kato ruja videt un hundo"], ["cist arbo havet li kaso 12", "li arbo 12"], ["un ninjo"], ["x"]]
    sources = ["the red cat sees a dog", "this tree has the house 12", "un un un un", "www.example.org a cat"]
    scores = names.metric_scores(hypotheses, references, sources)
    return {name: [value.hex() for value in values] for name, values in scores.items()}


def joined(numbers: Any) -> str:
    return " ".join(map(str, numbers))


def floats_as_hex(node: Any) -> Any:
    match node:
        case dict():
            return {key: floats_as_hex(value) for key, value in node.items()}
        case list():
            return [floats_as_hex(value) for value in node]
        case float():
            return node.hex()
    return node


DATA: dict[str, Computation] = {
    **{f"tokenizer: {label}": tokenized(label) for label in recipes.TOKENIZERS},
    **{f"data report: {label}": reported(label) for label in recipes.DATA_CASES},
    "data check": checked,
    "metrics": measured,
}
