"""Compare the current code with the golden numbers: PYTHONPATH=tests python -m golden.compare

Exit code 1 if any value differs.
"""

import sys
import time

from golden import golden
from golden.workshop import opened

MOST = 5  # differences shown for each entry


def main() -> None:
    """Print how many values are equal and how many differ, and the first differences of each entry."""
    recorded, began = golden.read(), time.monotonic()
    exact = recorded["machine"] == golden.machine()
    print("the recorded machine: to the bit" if exact else "another machine: within the tolerance of each section")
    equal = different = 0
    with opened() as workshop:
        for section, label in golden.entries():
            expected = recorded.get(section, {}).get(label, {})
            try:
                computed = golden.compute(section, label, workshop)
            except Exception as error:  # noqa: BLE001 (whatever broke, the other entries are still compared)
                computed = {"failed": f"{type(error).__name__}: {error}"}
            found = golden.differences(section, label, expected, computed, exact=exact)
            different += len(found)
            equal += max(0, golden.count(expected) - len(found))
            for difference in found[:MOST]:
                print(difference)
            if len(found) > MOST:
                print(f"{section} / {label}: {len(found) - MOST} more")
    known = {(section, label) for section, labels in recorded.items() if section != "machine" for label in labels}
    for section, label in sorted(known - {*golden.entries()}):
        different += 1
        print(f"{section} / {label}: recorded, but not computed")
    outcome = "equal" if exact else "equal or not compared"
    print(f"{equal:,} values {outcome}, {different:,} different, in {time.monotonic() - began:.0f} seconds")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
