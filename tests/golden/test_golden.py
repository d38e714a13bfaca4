"""The numbers of the code are those that were recorded: see golden.py."""

from collections.abc import Iterator

import pytest

from golden import golden
from golden.workshop import Workshop, opened

MOST = 10  # differences shown

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded() -> golden.Node:
    return golden.read()


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    with opened() as workshop:
        yield workshop


@pytest.mark.parametrize(("section", "label"), list(golden.entries()))
def test_numbers_are_the_recorded_ones(section: str, label: str, recorded: golden.Node, workshop: Workshop) -> None:
    exact = recorded["machine"] == golden.machine()
    computed = golden.compute(section, label, workshop)
    found = golden.differences(section, label, recorded[section][label], computed, exact=exact)
    assert not found, f"{len(found)} differences\n" + "\n".join(map(str, found[:MOST]))


def test_all_recorded_entries_are_computed(recorded: golden.Node) -> None:
    known = {(section, label) for section, labels in recorded.items() if section != "machine" for label in labels}
    assert known == {*golden.entries()}
