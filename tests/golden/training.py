"""Losses of every family and objective, and forced scores of what was trained."""

from pathlib import Path
from typing import Any

from golden import corpora, names, recipes
from golden.workshop import Workshop

Node = dict[str, Any]


def numbers_of_run(label: str, workshop: Workshop) -> Node:
    """Return losses, gradient norms and learning rates of each update, and forced scores after the last one."""
    out = workshop.run(label)
    updates = names.updates(out)
    numbers: Node = {
        "loss": hexes(update.loss for update in updates),
        "gradient norm": hexes(update.gradient_norm for update in updates),
        "learning rate": hexes(update.learning_rate for update in updates),
        **{part: hexes(update.parts[part] for update in updates) for part in updates[0].parts},
        "forced scores": [
            {"score": scored.score.hex(), "tokens": hexes(scored.token_scores)}
            for scored in names.forced_scores(out, probes(label, workshop.corpora))
        ],
    }
    validations = names.validations(out)
    if validations:
        numbers["validation"] = [
            {**{name: float(value).hex() for name, value in scores.items()}, "outputs": outputs}
            for scores, outputs in validations
        ]
    return numbers


def probes(label: str, folder: Path) -> list[tuple[str, str]]:
    """Return the pairs that a run scores."""
    data = recipes.RUNS[label].get("data", recipes.PAIRS)
    if data == recipes.PICTURES:
        rows = (folder / "pictures.tsv").read_text("utf-8").split("\n")[:3]
        return [(str(folder / name), text) for name, text in (row.split("\t") for row in rows)]
    if data == recipes.CASED:
        return [("Li Kato", "Li kato"), ("un arbo", "Un Arbo"), ("cist ninjo", "cist ninjo")]
    if data.get("monolingual"):
        return [("", target) for _, target in corpora.PROBES]
    return corpora.PROBES


def hexes(values: Any) -> list[str]:
    return [float(value).hex() for value in values]
