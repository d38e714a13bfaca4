"""What was found to go wrong while the run went on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.markup.elements import Html, element, join, text
from weft.report.document import Section
from weft.report.run.gathering import Gathered
from weft.report.run.opening import note


def diagnosis(gathered: Gathered) -> Section:
    findings = gathered.known.history.findings
    if findings:
        return Section("Diagnosis", "Diagnosis", [element("ul", join(map(_finding, findings)), "findings")])
    watched = "Nothing was found wrong: rates, gradients, drift, repetition, copies and vocabulary are watched."
    told = watched if gathered.outcome.step else "Nothing is known yet."
    return Section("Diagnosis", "Diagnosis", [note(told)])


def _finding(record: Mapping[str, Any]) -> Html:
    name = element("strong", str(record["diagnosis"]).replace("-", " "))
    where = element("small", f"step {record['step']:,}" if record["step"] else "before training")
    rows = (("what was seen", "what"), ("likely cause", "cause"), ("what to change", "setting"))
    entries = (element("div", join([element("dt", name), element("dd", str(record[key]))])) for name, key in rows)
    return element("li", join([element("p", join([name, text(" "), where])), element("dl", join(entries))]))
