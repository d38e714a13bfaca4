"""Checks corpora: each file is read once to look at every pair, and again as far as places are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.check.findings import Findings, findings
from weft.check.fixing import Fixed, Fixer
from weft.check.inputs import Inputs
from weft.check.judging import Held, Judge, held_in, mark_leaks
from weft.check.survey import Survey, Surveyor
from weft.core.errors import UserError
from weft.data.kinds import IDENTICAL, LEAKED_PAIR, LEAKED_SOURCE, LONG, NUMBERS, RATIO, TARGETS, UNEVEN, UNKNOWN

TRAIN = "train"


class Checked(NamedTuple):
    """What was found in each corpus, training first, and what must not be in training."""

    corpora: tuple[Findings, ...]
    held: Held | None


def check(inputs: Inputs, folder: Path, progress: Callable[[str, int], None]) -> Checked:
    """Look at all corpora; what is needed meanwhile is in `folder`, which is empty."""
    surveys = {name: _survey(name, inputs, folder / name, progress) for name in inputs.splits}
    others = [survey for name, survey in surveys.items() if name != TRAIN]
    held = held_in(others) if others else None
    found = {
        name: _judged(name, survey, surveys[TRAIN], held if name == TRAIN else None, inputs, folder)
        for name, survey in surveys.items()
    }
    looked_for = _looked_for(inputs)
    told = tuple(findings(name, inputs.splits[name], found[name], looked_for, surveys[name].tokens) for name in surveys)
    return Checked(told, held)


def fix(inputs: Inputs, checked: Checked, kept: int, out: Path, folder: Path) -> Fixed:
    """Write a cleaned copy of the training data into `out`."""
    if checked.corpora[0].count("unpaired"):
        raise UserError(
            "--fix cannot know which lines belong together where one file has more lines than the other: "
            "find the line from which on they are shifted, and repair that first"
        )
    return Fixer(inputs.splits[TRAIN], kept, one_sided=inputs.one_sided).fix(out, checked.held, folder)


def _looked_for(inputs: Inputs) -> int:
    """The kinds that can be found: not all of lines without a source, tokenizers or other corpora."""
    missing = 0
    if inputs.one_sided:
        missing |= IDENTICAL | RATIO | TARGETS | NUMBERS | UNEVEN
    if inputs.tokenizer is None:
        missing |= LONG | UNEVEN | UNKNOWN
    if len(inputs.splits) == 1:
        missing |= LEAKED_SOURCE | LEAKED_PAIR
    return ~missing


def _survey(name: str, inputs: Inputs, path: Path, progress: Callable[[str, int], None]) -> Survey:
    files = inputs.splits[name]
    surveyor = Surveyor(one_sided=inputs.one_sided, tokens=inputs.tokens(), progress=lambda done: progress(name, done))
    survey = surveyor.survey(files.rows(), path)
    if not len(survey.records):
        unit = "line" if inputs.data.one_sided else "pair"
        raise UserError(f"{' + '.join(map(str, files.shards[0].paths))}: empty, there is no {unit} in it")
    return survey


def _judged(
    name: str, survey: Survey, train: Survey, held: Held | None, inputs: Inputs, folder: Path
) -> NDArray[np.uint32]:
    found = Judge(survey, held, one_sided=inputs.one_sided).judge(folder / f"{name}.found")
    if name != TRAIN:
        mark_leaks(found, survey, train)
    return found
