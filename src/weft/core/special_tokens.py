"""The special tokens. They have the first ids, and no text can contain them; a tokenizer's own ids follow."""

from collections.abc import Sequence
from typing import TypeAlias

PAD = 0
BOS = 1
EOS = 2
NUM_SPECIAL_TOKENS = 3
SPECIAL_TOKENS = ("<pad>", "<begin>", "<end>")

Vocabulary: TypeAlias = Sequence[str]  # the display text of each id: special tokens first, then a codec's own tokens
