"""Record the golden numbers of the current code: PYTHONPATH=tests python -m golden.record"""

import sys
from pathlib import Path

from golden import golden
from golden.workshop import opened


def main() -> None:
    """Write numbers.json, or the file that is named."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else golden.RECORDED
    numbers: golden.Node = {"machine": golden.machine()}
    with opened() as workshop:
        for section, label in golden.entries():
            numbers.setdefault(section, {})[label] = golden.compute(section, label, workshop)
    golden.write(numbers, path)
    print(f"{golden.count(numbers):,} values written to {path}")


if __name__ == "__main__":
    main()
