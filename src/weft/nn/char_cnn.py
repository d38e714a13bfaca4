"""Character CNN: word vectors computed from characters. Kim et al. 2016."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.setting_types import Factory, NonNegativeInt, PositiveInt, Rate
from weft.core.special_tokens import NUM_SPECIAL_TOKENS, Vocabulary
from weft.nn.layers import module_list, normal_init
from weft.nn.positional_encoding import PositionalEncoding, PositionMerge, PositionMerger

PAD_CHAR, WORD_START, WORD_END, FIRST_CHAR = range(4)


class CharCNN(nn.Module):
    """x = P highway(max_t tanh(F_w * c_t) for each kernel size w), c = the vectors of a token's characters.

    A convolution of size w has `filters` w filters; words with similar spelling begin with similar vectors. The
    defaults are those of the paper's small model. Only the first `max_word_length` characters are read. The vector of a
    word is computed once per batch.
    """

    weight: nn.Parameter | None = None
    spellings: Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        dim: PositiveInt = 256,
        char_dim: PositiveInt = 15,
        kernel_sizes: tuple[PositiveInt, ...] = (1, 2, 3, 4, 5, 6),
        filters: PositiveInt = 25,
        highway_layers: NonNegativeInt = 1,
        max_word_length: PositiveInt = 24,
        positions: Factory[PositionalEncoding] | None = None,
        merge: PositionMerge = "sum",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        self.merger = PositionMerger(dim, positions, merge, dropout)
        self.dim, self.max_length = self.merger.dim, self.merger.max_length
        if not kernel_sizes:
            raise ValueError("kernel_sizes: give at least one, such as [2, 3, 4]")
        spellings = vocabulary_characters(vocabulary, max_word_length)
        self.register_buffer("spellings", torch.tensor(spellings), persistent=False)
        self.characters = nn.Parameter(normal_init(1 + max(map(max, spellings)), char_dim))
        self.convolutions = module_list([nn.Conv1d(char_dim, filters * size, size) for size in kernel_sizes])
        self.highways = module_list([Highway(filters * sum(kernel_sizes)) for _ in range(highway_layers)])
        self.projection = nn.Linear(filters * sum(kernel_sizes), dim)

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        words, index = torch.unique(ids, return_inverse=True)
        return self.merger(F.embedding(index, self._word_vectors(self.spellings[words])), first)

    def _word_vectors(self, spellings: Tensor) -> Tensor:
        """The characters of words [W,L] -> [W,D]."""
        padding = (spellings == PAD_CHAR)[:, None]  # [W,1,L]
        characters = F.embedding(spellings, self.characters).transpose(1, 2).masked_fill(padding, 0)  # [W,·,L]
        pooled = []
        for convolution in self.convolutions:
            (size,) = convolution.kernel_size
            windows = torch.tanh(convolution(F.pad(characters, (0, size - 1))))
            pooled.append(windows.masked_fill(padding, -1).amax(-1))
        x = torch.cat(pooled, -1)
        for highway in self.highways:
            x = highway(x)
        return self.projection(x)


class Highway(nn.Module):
    """y = t relu(W x + b) + (1 - t) x, t = sigmoid(V x + c). Srivastava et al. 2015; c starts at -2, so that y ≈ x."""

    def __init__(self, dim: int):
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)
        nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, x: Tensor) -> Tensor:
        return torch.lerp(x, torch.relu(self.transform(x)), torch.sigmoid(self.gate(x)))


def vocabulary_characters(vocabulary: Vocabulary, max_word_length: int) -> list[list[int]]:
    """Return the character ids of every token, padded to equal length; a special token is a character of its own."""
    words = [token[:max_word_length] for token in vocabulary[NUM_SPECIAL_TOKENS:]]
    alphabet = sorted({character for word in words for character in word})
    ids = {character: number for number, character in enumerate(alphabet, FIRST_CHAR + NUM_SPECIAL_TOKENS)}
    rows = [
        *([FIRST_CHAR + token] for token in range(min(NUM_SPECIAL_TOKENS, len(vocabulary)))),
        *([ids[character] for character in word] for word in words),
    ]
    width = 2 + max(map(len, rows))
    return [[WORD_START, *row, WORD_END] + [PAD_CHAR] * (width - 2 - len(row)) for row in rows]
