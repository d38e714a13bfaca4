"""Sample sentences in a terminal: what is to be said, and how it is said as the run goes on."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from weft.watching.letters import cut
from weft.watching.plot import AXIS, colour_of, sign_of
from weft.watching.samples import Output, Sample, chosen

LABEL = 11  # cells before a sentence
HISTORY = 4  # outputs of one run, at most


def sample_lines(samples: Sequence[Sample], turn: int, width: int, room: int) -> list[Text]:
    """As many sentences as have room, with those whose turn it is first; none, if there is no room for one."""
    lines: list[Text] = []
    for place in range(len(samples)):
        sample = samples[(turn + place) % len(samples)]
        most = max(outputs_at_least(sample), min(HISTORY, room - len(lines) - 3))
        block = sample_block(sample, most, width)
        if len(lines) + len(block) <= room:
            lines += block
    return lines


def outputs_at_least(sample: Sample) -> int:
    """Of several runs, one of each; of one, the first and the last."""
    return max(2, len({output.run for output in sample.outputs}))


def sample_block(sample: Sample, most: int, width: int) -> list[Text]:
    """Source, reference and outputs, below a blank line."""
    wide = width - LABEL - 1
    return [
        Text(),
        Text().append(" source".ljust(LABEL), AXIS).append(cut(sample.source, wide)),
        Text().append(" reference".ljust(LABEL), AXIS).append(cut(sample.reference, wide)),
        *(output_line(output, wide) for output in chosen(sample.outputs, most)),
    ]


def output_line(output: Output, wide: int) -> Text:
    sign = Text().append(f" {sign_of(output.run, validation=True)} ", colour_of(output.run))
    return sign.append(f"{output.step:,}".ljust(LABEL - 3), AXIS).append(cut(output.text, wide), "bold")
