"""What the model of a run reached on lines that it was not trained on, and where it fails."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from weft.markup.elements import Html, element, join, table, text
from weft.metric.score import Score
from weft.report.bars import bars
from weft.report.document import Section
from weft.report.run.foreseen import Foreseen
from weft.report.run.gathering import Gathered
from weft.report.run.held import WORDS
from weft.report.run.measured import Lengths, Measured
from weft.report.run.opening import note
from weft.report.sentences import marks
from weft.report.tables import confusion, edits, signatures
from weft.report.tables import scores as score_table


def scores(gathered: Gathered) -> Section:
    """With intervals and signatures; or why there are none."""
    if gathered.measured is not None:
        content = _measured(gathered.measured, gathered)
    elif gathered.foreseen is not None:
        content = _foreseen(gathered.foreseen, gathered)
    else:
        content = [note(f"Nothing was measured: {gathered.unmeasured}.")]
    return Section("Scores", "Scores", [*content, *_further(gathered)])


def lengths(gathered: Gathered) -> Iterator[Section]:
    """Scores by length, where something was measured."""
    found = gathered.measured or gathered.foreseen
    if found is not None:
        yield Section(
            "Length", "By length", [note(f"{_capital(found.lengths.title)}."), _bars(found.lengths, gathered)]
        )


def words(gathered: Gathered) -> Iterator[Section]:
    """Which words were put for which."""
    if gathered.measured is not None:
        comparison = gathered.measured.comparison
        told = element("p", join([text("The commonest of them, and how often: "), *marks()]), "note")
        [found] = comparison.confusions()
        chips = element("ul", join(element("li", confusion(one)) for one in found), "chips")
        content = [edits(comparison), told, chips] if found else [note("No word differs.")]
        yield Section("Words", "Words that were changed", content)


def _bars(lengths: Lengths, gathered: Gathered) -> Html:
    measured = gathered.measured
    names = ["language model"] if measured is None else measured.comparison.names()
    return bars(lengths.classes, names, "lines")


def _measured(measured: Measured, gathered: Gathered) -> list[Html]:
    comparison = measured.comparison
    lines = f"The {comparison.names()[0]}{_step(gathered)} on {measured.held.told()}; search: {measured.search}."
    cut = [f"{measured.cut:,} of them were longer than it reads, and cut."] if measured.cut else []
    return [
        note(lines, *cut, f"{_capital(comparison.told())}.", *_changed(measured.held.name, measured.held.changed)),
        *([note(measured.before)] if measured.before else []),
        score_table(comparison),
        element("div", signatures(comparison), "signatures"),
    ]


def _foreseen(foreseen: Foreseen, gathered: Gathered) -> list[Html]:
    lines = f"The language model{_step(gathered)} on {foreseen.held.told()}; the less, the better."
    left = f"{foreseen.left_out:,} of them are left out: they have more pieces than the model has positions for."
    rows: list[list[Html | str]] = [[one.name, f"{one.value:.2f}", _signed(one)] for one in foreseen.scores]
    return [
        note(lines, *([left] if foreseen.left_out else []), *_changed(foreseen.held.name, foreseen.held.changed)),
        table(["", "value", "over"], rows),
    ]


def _signed(score: Score) -> str:
    """tokens:12|unknown:3 % -> 12 tokens, unknown 3 %."""
    what, *rest = score.signature.split("|")
    name, _, number = what.partition(":")
    return ", ".join([f"{int(number):,} {name}", *(one.replace(":", " ") for one in rest)])


def _step(gathered: Gathered) -> str:
    step = None if gathered.trained is None else gathered.trained.metrics.get("step")
    return f" (step {step:,})" if isinstance(step, int) else ""


def _changed(name: str, changed: bool) -> list[str]:
    return [f"The files of {WORDS[name]} have changed since the run began."] if changed else []


def _further(gathered: Gathered) -> list[Html]:
    """That there is test data, where it was not measured on."""
    known = gathered.known
    if gathered.wish.test or not known.recipe.data.test:
        return []
    command = element("code", f"weft report {shlex.quote(str(known.folder.path))} --test", "inline")
    return [element("p", join([text("The run names test data, which was not touched: "), command, text(".")]), "note")]


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
