"""The compared searches and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeAlias

from weft.core.errors import UserError

Settings: TypeAlias = tuple[str, ...]  # values of --set; everything else as in the run

GREEDY = "greedy"

SEARCHES: Mapping[str, Settings] = {
    GREEDY: ("translate.search=greedy",),
    "beam-2": ("translate.search={type: beam, size: 2, length_penalty: average}",),
    "beam-5": ("translate.search={type: beam, size: 5, length_penalty: average}",),
    "beam-10": ("translate.search={type: beam, size: 10, length_penalty: average}",),
    "beam-5-none": ("translate.search={type: beam, size: 5, length_penalty: none}",),
    "beam-5-none-greedy": (
        "translate.search={type: beam, size: 5, length_penalty: none, stop_rule: limit, keep_greedy: true}",
    ),
    "beam-5-gnmt": ("translate.search={type: beam, size: 5, length_penalty: {type: gnmt, alpha: 0.6}}",),
    "beam-5-reward": ("translate.search={type: beam, size: 5, length_penalty: {type: reward, gamma: 0.5}}",),
    "beam-5-coverage": (
        "translate.search={type: beam, size: 5, length_penalty: {type: gnmt, alpha: 0.6}, coverage_penalty: 0.2}",
    ),
    "diverse": ("translate.search={type: diverse, size: 6, groups: 3, diversity: 0.5, length_penalty: average}",),
    "sampling": ("translate.search={type: sampling, seed: 1}",),
    "top-k": ("translate.search={type: sampling, top_k: 10, seed: 1}",),
    "top-p": ("translate.search={type: sampling, top_p: 0.9, seed: 1}",),
    "min-p": ("translate.search={type: sampling, min_p: 0.1, seed: 1}",),
    "mbr-chrf": ("translate.search={type: sampling, seed: 1}", "translate.mbr={samples: 32, cost: chrf}"),
    "mbr-bleu": ("translate.search={type: sampling, seed: 1}", "translate.mbr={samples: 32, cost: bleu}"),
    "mbr-chrf-top-p": (
        "translate.search={type: sampling, top_p: 0.9, seed: 1}",
        "translate.mbr={samples: 32, cost: chrf}",
    ),
}


def parse_searches(names: str | None) -> list[str]:
    """Split a comma-separated list of searches, without duplicates; None selects all."""
    if names is None:
        return list(SEARCHES)
    searches = [name.strip() for name in names.split(",")]
    for name in searches:
        if name not in SEARCHES:
            nearest = get_close_matches(name, SEARCHES, n=1)
            hint = f" Is it {nearest[0]}?" if nearest else ""
            raise UserError(f'--searches: "{name}" is none of {", ".join(SEARCHES)}.{hint}')
    return list(dict.fromkeys(searches))
