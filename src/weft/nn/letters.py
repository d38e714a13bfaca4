"""Vectors of words, made of their letters."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.marks import FIRST_PIECE
from weft.core.types import Count, Make, Rate, Vocabulary, Whole
from weft.nn.initial import normal
from weft.nn.placing import Merge, Placing
from weft.nn.positions import Positions
from weft.nn.stack import stack

NO_LETTER, BEGIN_WORD, END_WORD, FIRST_LETTER = range(4)


class Letters(nn.Module):
    """x = P highway(max_t tanh(F_w * c_t) for each width w), c the vectors of a token's letters. Kim et al. 2016.

    A convolution of each width w looks for `filters` w patterns in the word, wherever they stand; words that look alike
    begin alike, whether they were seen often or once. The defaults are those of the paper's small model. Only the first
    `longest` letters are read. What is computed for a word is computed once for each batch.
    """

    weight: nn.Parameter | None = None
    spellings: Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        dim: Count = 256,
        letter_dim: Count = 15,
        widths: tuple[Count, ...] = (1, 2, 3, 4, 5, 6),
        filters: Count = 25,
        highways: Whole = 1,
        longest: Count = 24,
        positions: Make[Positions] | None = None,
        merge: Merge = "sum",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        self.placing = Placing(dim, positions, merge, dropout)
        self.dim, self.limit = self.placing.dim, self.placing.limit
        if not widths:
            raise ValueError("widths: give at least one, such as [2, 3, 4]")
        spelled = spell(vocabulary, longest)
        self.register_buffer("spellings", torch.tensor(spelled), persistent=False)
        self.letters = nn.Parameter(normal(1 + max(map(max, spelled)), letter_dim))
        self.convolutions = stack([nn.Conv1d(letter_dim, filters * width, width) for width in widths])
        self.highways = stack([Highway(filters * sum(widths)) for _ in range(highways)])
        self.projection = nn.Linear(filters * sum(widths), dim)

    def forward(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        words, places = torch.unique(ids, return_inverse=True)
        placed: Tensor = self.placing(F.embedding(places, self._vectors(self.spellings[words])), first)
        return placed

    def _vectors(self, spelled: Tensor) -> Tensor:
        """The letters of words [W,L] -> [W,D]."""
        past = (spelled == NO_LETTER)[:, None]  # [W,1,L]
        letters = F.embedding(spelled, self.letters).transpose(1, 2).masked_fill(past, 0)  # [W,·,L]
        found = []
        for convolution in self.convolutions:
            (width,) = convolution.kernel_size
            windows = torch.tanh(convolution(F.pad(letters, (0, width - 1))))
            found.append(windows.masked_fill(past, -1).amax(-1))
        x = torch.cat(found, -1)
        for highway in self.highways:
            x = highway(x)
        projected: Tensor = self.projection(x)
        return projected


class Highway(nn.Module):
    """y = t relu(W x + b) + (1 - t) x, t = sigmoid(V x + c). Srivastava et al. 2015; c begins at -2, so x goes by."""

    def __init__(self, dim: int):
        super().__init__()
        self.change = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)
        nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, x: Tensor) -> Tensor:
        return torch.lerp(x, torch.relu(self.change(x)), torch.sigmoid(self.gate(x)))


def spell(vocabulary: Vocabulary, longest: int) -> list[list[int]]:
    """The letters of every token as numbers, in rows of one length; a mark is a letter of its own."""
    alphabet = sorted({letter for piece in vocabulary[FIRST_PIECE:] for letter in piece[:longest]})
    numbers = {letter: number for number, letter in enumerate(alphabet, FIRST_LETTER + FIRST_PIECE)}
    words = [
        *([FIRST_LETTER + mark] for mark in range(min(FIRST_PIECE, len(vocabulary)))),
        *([numbers[letter] for letter in piece[:longest]] for piece in vocabulary[FIRST_PIECE:]),
    ]
    width = 2 + max(map(len, words))
    return [[BEGIN_WORD, *word, END_WORD] + [NO_LETTER] * (width - 2 - len(word)) for word in words]
