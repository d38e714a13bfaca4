"""What is told before training of data that looks bad: the same kinds, from the same shares on, as `weft check`."""

from weft.check.kinds import KINDS
from weft.data.kinds import EMPTY, NAMES
from weft.data.tally import Looked

IN_THE_TABLE = EMPTY  # what the table before training tells itself, of all pairs


def warnings(looked: Looked) -> list[str]:
    """A line for each serious kind that was found in the pairs that were looked at, and what to do."""
    told = []
    for name, count in looked.found.items():
        about, share = KINDS[NAMES[name]], count / looked.pairs
        if about.serious is not None and share >= about.serious and not NAMES[name] & IN_THE_TABLE:
            told.append(f"warning: {about.title} in {share:.1%} of the training data: {about.meaning}")
    return [*told, "weft check tells where, and its --fix writes a cleaned copy"] if told else []
