"""A look at some of the pairs of a corpus while it is tokenized: as `weft check` looks at all of them."""

from collections import Counter
from collections.abc import Sequence

from weft.data.kinds import NAMES
from weft.data.looking import look, look_at_line
from weft.data.pairs import Pair
from weft.data.scripts import count_strangers, script_of
from weft.data.tally import Looked

ENOUGH = 10_000  # pairs: a fraction of a second


class SampledLook:
    """Looks at every nth of `count` pairs. one_sided: the source says nothing."""

    def __init__(self, count: int, *, one_sided: bool):
        self._step = 1 + count // ENOUGH
        self._sides = (1,) if one_sided else (0, 1)
        self._pairs = 0
        self._found: Counter[int] = Counter()
        self._scripts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, pairs: Sequence[Pair], first: int) -> None:
        """Look at some of these, of which the first has the number `first`."""
        for pair in pairs[-first % self._step :: self._step]:
            self._pairs += 1
            self._found[look(*pair) if len(self._sides) == 2 else look_at_line(pair[1])] += 1
            for side in self._sides:
                self._scripts[side][script_of(pair[side])] += 1

    def looked(self) -> Looked:
        counts = {
            name: sum(count for found, count in self._found.items() if found & kind) for name, kind in NAMES.items()
        }
        counts["script"] = max(map(count_strangers, self._scripts))  # a pair may be one on both sides
        return Looked(self._pairs, {name: count for name, count in counts.items() if count})
