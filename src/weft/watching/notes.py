"""What is to be said of runs in sentences: what was diagnosed, how they ended, what they wait for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.text import Text

from weft.core.numbers import clock
from weft.store.run_log import Record
from weft.watching.letters import wrapped
from weft.watching.plot import colour_of, sign_of
from weft.watching.run import Watched

WARNING = "bold color(166)"
LOW = 28  # lines of a terminal


def notes(runs: Sequence[Watched], width: int, room: int) -> list[Text]:
    """Below a blank line. In a low terminal each has two lines, and the latest are shown."""
    each, most = (2, 4) if room < LOW else (room, room // 3)
    lines = [line for number, run in enumerate(runs) for line in notes_of(run, number, width, each)]
    return [Text(), *lines[-most:]] if lines else []


def notes_of(run: Watched, number: int, width: int, most: int) -> list[Text]:
    """Each in so many lines at most."""
    told = [*map(finding_told, run.history.findings), *(("", text) for text in state_told(run))]
    return [line for title, text in told for line in note(number, title, text, width, most)]


def note(number: int, title: str, text: str, width: int, most: int) -> list[Text]:
    """After the sign of the run, with the title marked."""
    lines = [Text(f"  {line}") for line in wrapped(title + text, width - 2, most)]
    lines[0] = Text().append(f"{sign_of(number)} ", colour_of(number)).append_text(lines[0][2:])
    lines[0].stylize(WARNING, 2, 2 + len(title))
    return lines


def finding_told(finding: Record) -> tuple[str, str]:
    """A title, and a sentence or three."""
    cause, setting = finding.get("cause", ""), finding.get("setting", "")
    told = f" {finding.get('what', '')}."
    told += f" Likely cause: {cause}. What to change: {setting}." if cause and setting else ""
    return f"! {finding['diagnosis']} at step {finding['step']:,}:", told


def state_told(run: Watched) -> list[str]:
    """Why nothing new comes; nothing as long as the run goes on."""
    progress, folder = run.progress(), shlex.quote(str(run.folder))
    again = f"weft train --resume {folder}"
    match progress.state:
        case "waiting":
            return [f"Nothing is in {folder} yet." if run.plan is None else "It has begun, and tells of no step yet."]
        case "silent":
            return [f"Nothing new for {clock(progress.silence)}. If it was stopped, this goes on with it: {again}"]
        case "patience":
            return ["It ended since validation no longer improved."]
        case "broken":
            return [f"It stopped there. This goes on from its last good weights: {again}"]
    return []
