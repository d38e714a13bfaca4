"""Outputs of every search, of constraints, of several models together, and of language models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from golden import corpora, names, recipes
from golden.training import hexes
from golden.workshop import Workshop

Node = dict[str, Any]
Computation = Callable[[Workshop], Node]

LINES = [source for source, _ in corpora.PROBES]
CASED_LINES = ["Li Kato", "un arbo", "cist ninjo"]
GLOSSARY = """# a term, a tab, its translations
cat\tninjo|hundo
old house\tkaso pika
dog\t!hundo
\t!brava
"""
PARAGRAPHS = "The red cat sees a dog. This tree has the old house.\n\n  - a child hears this loud river\n"


def searched(label: str, settings: Mapping[str, recipes.Recipe], lines: Sequence[str]) -> Computation:
    """Return the computation of the outputs of a model with each of these settings."""

    def compute(workshop: Workshop) -> Node:
        found: Node = {}
        for name, node in settings.items():
            for other in recipes.SEARCHED:
                if f"'@{other}'" in str(node):
                    workshop.run(other)
            filled = recipes.fill(node, workshop.corpora, workshop.runs)
            found[name] = outputs(names.translate(names.translator(workshop.run(label), filled), lines))
        return found

    return compute


def outputs(found: Iterable[names.Output]) -> list[Node]:
    return [
        {
            "hypotheses": [hypothesis(found) for found in output.hypotheses],
            **({"constraints": [list(constraint) for constraint in output.constraints]} if output.constraints else {}),
            **({"truncated": True} if output.truncated else {}),
        }
        for output in found
    ]


def hypothesis(found: names.Hypothesis) -> Node:
    return {
        "text": found.text,
        "tokens": " ".join(found.tokens),
        "score": found.score.hex(),
        "token scores": hexes(found.token_scores),
        "finished": found.finished,
        "rank": None if found.rank is None else float(found.rank).hex(),
    }


def constraints(label: str) -> Computation:
    """Return the computation of outputs under constraints."""

    def compute(workshop: Workshop) -> Node:
        run, line = workshop.run(label), LINES[0]
        glossary = workshop.corpora / "glossary.tsv"
        glossary.write_text(GLOSSARY, "utf-8")
        cases: dict[str, Any] = {
            "prefix": [names.constrained(line, prefix="li hundo") for line in LINES],
            "biased prefix": [names.constrained(line, prefix="un arbo pika", prefix_bias=0.6) for line in LINES],
            "include": [names.constrained(line, include=[["flumo"]]) for line in LINES],
            "include any of several": [names.constrained(line, include=[["cist flumo", "li ninjo"]]) for line in LINES],
            "include two phrases": [names.constrained(line, include=[["mola"], ["arbo"]]) for line in LINES],
            "include in order": [names.constrained(line, include=[["mola"], ["arbo"]], ordered=True) for line in LINES],
            "exclude": [names.constrained(line, exclude=["li kato", "un"]) for line in LINES],
            "vocabulary": [names.constrained(line, vocabulary=["li", "kato", "videt", "un"]) for line in LINES],
            "prefix, include and exclude": [
                names.constrained(line, prefix="cist", include=[["havet"]], exclude=["alta"]) for line in LINES
            ],
            "glossary": names.with_glossary(glossary, LINES),
        }
        beam = names.translator(run, recipes.CONSTRAINED_SEARCH)
        greedy = names.translator(run, recipes.CONSTRAINED_GREEDY)
        found = {f"beam, {name}": outputs(names.translate(beam, lines)) for name, lines in cases.items()}
        single = [names.constrained(line, prefix="li hundo"), names.constrained(line, exclude=["kato"])]
        found["greedy, prefix and exclude"] = outputs(names.translate(greedy, single))
        without_repeats = names.translator(run, recipes.CONSTRAINED_WITHOUT_REPEATS)
        found["beam, blocked repeats with prefix and include"] = outputs(
            names.translate(
                without_repeats,
                [
                    names.constrained(line, prefix="li hundo"),
                    names.constrained(line, prefix="li hundo li hundo"),
                    names.constrained(line, prefix="un", include=[["li kato"], ["li kato"]]),
                ],
            )
        )
        lines = ["the red cat sees 42 {name} at www.example.org", "a dog <b>hears</b> x@example.org"]
        kinds = names.PROTECTED
        found["beam, protected spans"] = outputs(
            names.translate(beam, [names.constrained(line, protect=kinds) for line in lines])
        )
        return found

    return compute


def ensembles(workshop: Workshop) -> Node:
    own = workshop.run("transformer, searched")
    others = [workshop.run("second transformer"), workshop.run("bahdanau, searched")]
    settings = recipes.N_BEST_TO_RERANK
    return {
        "mean of probabilities": outputs(names.translate(names.translator(own, settings, others), LINES)),
        "weighted mean of log-probabilities": outputs(
            names.translate(names.translator(own, settings, others, [0.5, 0.3, 0.2], names.LOG_MEAN), LINES)
        ),
    }


def reranking(workshop: Workshop) -> Node:
    model = names.translator(workshop.run("transformer, searched"), recipes.N_BEST_TO_RERANK)
    scorers = [workshop.run("right-to-left bahdanau"), workshop.run("joint ctc, searched")]
    cases = {"equal weights": (None, 1.0), "weights, no length normalization": ([0.2, 0.5, 0.3], 0.0)}
    return {
        name: [
            [{"text": text, "scores": hexes(scores), "sum": total.hex()} for text, scores, total in ranked]
            for ranked in names.rerank(model, LINES, scorers, weights, alpha)
        ]
        for name, (weights, alpha) in cases.items()
    }


def completions(workshop: Workshop) -> Node:
    run = workshop.run("language model, searched")
    prompts = ["", "li kato", "the old"]
    return {
        "most probable": names.complete(run, prompts, 3),
        "sampled": names.complete(run, prompts, 3, temperature=1.0),
        "sampled, low temperature, another seed": names.complete(run, prompts, 3, temperature=0.5, seed=9),
    }


def analysis(label: str) -> Computation:
    """Return the computation of alignments, attention weights and alternatives of each token."""

    def compute(workshop: Workshop) -> Node:
        model = names.translator(workshop.run(label), recipes.CONSTRAINED_SEARCH, analysis=True)
        return {
            line: {
                "alignment": [list(pair) for pair in output.alignment or ()],
                "attention": [hexes(row) for row in output.attention or ()],
                "alternatives": [[[token, score.hex()] for token, score in tokens] for tokens in output.alternatives],
            }
            for line, output in zip(LINES, names.translate(model, LINES), strict=True)
        }

    return compute


def additions(workshop: Workshop) -> Node:
    """Compute additions to a trained model, a vocabulary shortlist and a calibration, and translated paragraphs."""
    run = workshop.run("second transformer")
    size = names.learn_vocabulary_shortlist(run, 3, 5)
    model = names.translator(run, recipes.CONSTRAINED_SEARCH, shortlist=True)
    files: list[Path] = [workshop.corpora / name for name in ("train.src", "train.tgt")]
    good, error, confidences = names.calibrate(run, files, 60.0)
    return {
        "mean size of shortlists": size.hex(),
        "beam with shortlist": outputs(names.translate(model, LINES)),
        "calibration": {
            "share of good lines": good.hex(),
            "calibration error": error.hex(),
            "confidences": hexes(confidences),
        },
        "paragraphs": names.translate_paragraphs(model, PARAGRAPHS),
    }


SEARCHES: dict[str, Computation] = {
    "transformer": searched("transformer, searched", recipes.SEARCHES, LINES),
    "bahdanau": searched("bahdanau, searched", recipes.SEARCHES, LINES),
    "right-to-left bahdanau": searched(
        "right-to-left bahdanau", {name: recipes.SEARCHES[name] for name in ("greedy", "beam n_best=3")}, LINES
    ),
    "joint ctc": searched("joint ctc, searched", recipes.JOINT_SEARCHES, LINES),
    "ctc": searched("ctc, searched", recipes.CTC_SEARCHES, LINES),
    "instant": searched("instant, searched", recipes.INSTANT_SEARCHES, CASED_LINES),
    "constraints, words": constraints("transformer, searched"),
    "constraints, subwords": constraints("subword transformer"),
    "ensemble": ensembles,
    "rerank": reranking,
    "complete": completions,
    "analysis, transformer": analysis("transformer, searched"),
    "analysis, bahdanau": analysis("bahdanau, searched"),
    "shortlist, calibration, paragraphs": additions,
}
