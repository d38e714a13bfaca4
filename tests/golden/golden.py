"""All golden numbers: computed section by section, written as JSON, and compared with the recorded ones.

On the machine that recorded them everything must be equal to the bit. On another one floats differ by rounding, and the
difference grows with every update, so that ties flip. There each section has a rule of its own (`OTHER_MACHINE`).
"""

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from re import compile as pattern
from typing import Any, NamedTuple

import torch

from golden import names, recipes
from golden.data import DATA
from golden.searches import SEARCHES
from golden.server import SERVER
from golden.training import numbers_of_run
from golden.workshop import Workshop

Node = dict[str, Any]
Computation = Callable[[Workshop], Node]

RECORDED = Path(__file__).with_name("numbers.json")
MISSING = "(missing)"
HEXADECIMAL = pattern(r"-?0x[01]\.[0-9a-f]+p[+-][0-9]+|-?inf|nan")


def trained(labels: Mapping[str, Any]) -> dict[str, Computation]:
    return {label: partial(numbers_of_run, label) for label in labels}


SECTIONS: dict[str, Mapping[str, Computation]] = {
    "families": trained(recipes.FAMILIES),
    "objectives": trained(recipes.OBJECTIVES),
    "optimizers": trained(recipes.OPTIMIZERS),
    "half precision": trained(recipes.HALF_PRECISION),
    "models for searches": trained(recipes.SEARCHED),
    "searches": SEARCHES,
    "data": DATA,
    "server": SERVER,
}
UNSTABLE = {"accuracy", "outputs", *names.METRICS.values()}  # of a run: they jump where a token does


class Rule(NamedTuple):
    """How values are compared on another machine.

    relative: largest difference of two floats, relative to the larger of them or to `floor`; twenty times that for
    gradient norms. first: how many elements of each list are compared, since later updates diverge. texts: whether
    texts and whole numbers are compared; if not, only floats of outputs that have the same text are. without: keys
    that are not compared.
    """

    relative: float
    floor: float = 1e-3
    first: int | None = None
    texts: bool = True
    without: frozenset[str] = frozenset()

    def same(self, recorded: object, computed: object, key: str) -> bool:
        if not both_floats(recorded, computed):
            return recorded == computed or not self.texts
        first, second = float.fromhex(str(recorded)), float.fromhex(str(computed))
        allowed = self.relative * (20 if key == "gradient norm" else 1)
        return first == second or abs(first - second) <= allowed * max(abs(first), abs(second), self.floor)


class ToTheBit(Rule):
    """How values are compared on the same machine: all of them, to the bit."""

    def same(self, recorded: object, computed: object, key: str) -> bool:
        return recorded == computed and type(recorded) is type(computed)


EXACT = ToTheBit(0.0)
RUN = Rule(1e-3, first=20, without=frozenset(UNSTABLE))
OTHER_MACHINE: dict[str, Rule] = {
    "families": RUN,
    "objectives": RUN,
    "optimizers": RUN,
    "half precision": RUN._replace(relative=1e-2),
    "models for searches": RUN._replace(without=frozenset({*UNSTABLE, "forced scores"})),
    "searches": Rule(0.1, floor=1.0, texts=False),
    "data": Rule(1e-3),
    "server": Rule(1e-3, without=frozenset({"body", "events"})),
}


class Difference(NamedTuple):
    """A value that is not the recorded one, and its place."""

    place: str
    recorded: object
    computed: object

    def __str__(self) -> str:
        return f"{self.place}: recorded {shown(self.recorded)}, computed {shown(self.computed)}"


def compute(section: str, label: str, workshop: Workshop) -> Node:
    """Compute one entry of a section, as JSON reads it back."""
    torch.set_num_threads(1)
    node: Node = json.loads(json.dumps(SECTIONS[section][label](workshop)))
    return node


def entries() -> Iterator[tuple[str, str]]:
    """Return the section and label of each entry."""
    return ((section, label) for section, labels in SECTIONS.items() for label in labels)


def machine() -> Node:
    """Return what decides about the last bits of numbers."""
    return {
        "torch": torch.__version__,
        "cpu capability": torch.backends.cpu.get_cpu_capability(),
        "cpu": cpu_name(),
        "threads": 1,
    }


def cpu_name() -> str:
    """Return the model name of the processor, with its family and model number where the system shows them."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").split("\n\n")[0].split("\n")
    except OSError:
        return platform.processor()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return ", ".join(facts[key] for key in ("model name", "cpu family", "model") if key in facts)


def write(numbers: Node, path: Path = RECORDED) -> None:
    """Write numbers with sorted keys, lists of plain values on one line each."""
    path.write_text(as_text(numbers) + "\n", "utf-8", newline="\n")


def as_text(node: Any, indent: str = "") -> str:
    deeper = indent + " "
    match node:
        case dict() if node:
            rows = [f"{deeper}{json.dumps(key)}: {as_text(node[key], deeper)}" for key in sorted(node)]
            return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
        case list() if any(isinstance(value, dict | list) for value in node):
            return "[\n" + ",\n".join(deeper + as_text(value, deeper) for value in node) + f"\n{indent}]"
    return json.dumps(node, ensure_ascii=False)


def read() -> Node:
    numbers: Node = json.loads(RECORDED.read_text("utf-8"))
    return numbers


def differences(section: str, label: str, recorded: Any, computed: Any, *, exact: bool) -> list[Difference]:
    """Return all differences of an entry. exact: to the bit, as on the same machine."""
    rule = EXACT if exact else OTHER_MACHINE[section]
    return list(_differences((section, label), recorded, computed, rule))


def _differences(place: tuple[str, ...], recorded: Any, computed: Any, rule: Rule) -> Iterator[Difference]:
    match recorded, computed:
        case dict(), dict():
            if not rule.texts and recorded.get("text") != computed.get("text"):
                return
            for key in sorted({*recorded, *computed} - rule.without):
                yield from _differences((*place, key), recorded.get(key, MISSING), computed.get(key, MISSING), rule)
        case list(), list() if len(recorded) == len(computed):
            for number, pair in islice(enumerate(zip(recorded, computed, strict=True)), rule.first):
                yield from _differences((*place, str(number)), *pair, rule)
        case _:
            key = next(part for part in reversed(place) if not part.isdecimal())
            if not rule.same(recorded, computed, key):
                yield Difference(" / ".join(place), recorded, computed)


def both_floats(*values: object) -> bool:
    return all(isinstance(value, str) and HEXADECIMAL.fullmatch(value) for value in values)


def count(node: Any) -> int:
    """Return the number of values in an entry."""
    match node:
        case dict():
            return sum(map(count, node.values()))
        case list():
            return sum(map(count, node))
    return 1


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"{text} ({float.fromhex(str(value)):.9g})" if both_floats(value) else text[:200]
