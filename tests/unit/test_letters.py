"""Embeddings made of letters."""

import torch
from torch.testing import assert_close

from weft.core.codec import SPECIAL_TOKENS
from weft.nn.char_cnn import PAD_CHAR, WORD_END, WORD_START, CharCNN, Highway, vocabulary_characters

WORDS = [*SPECIAL_TOKENS, "ab", "abc", "b", "<pad>"]


def test_words_are_spelled_with_their_ends_and_marks_are_letters_of_their_own() -> None:
    pad, begin, end, ab, abc, b, text = vocabulary_characters(WORDS, max_word_length=9)
    assert len({tuple(row) for row in (pad, begin, end, text)}) == 4
    assert pad[0] == WORD_START
    assert pad[2] == WORD_END
    assert ab[1:3] == abc[1:3]
    assert [len(row) for row in (pad, begin, end, ab, abc, b, text)] == [7] * 7
    assert abc[4:] == [WORD_END, PAD_CHAR, PAD_CHAR]
    assert vocabulary_characters(WORDS, max_word_length=2)[3] == vocabulary_characters(WORDS, max_word_length=2)[4]


def test_words_alike_in_what_is_read_have_one_vector() -> None:
    torch.manual_seed(0)
    first = torch.zeros(1, dtype=torch.long)
    whole, short = CharCNN(WORDS, dim=6), CharCNN(WORDS, dim=6, max_word_length=2)
    ids = torch.tensor([[3, 4]])
    assert not torch.allclose(*whole(ids, first)[0])
    assert_close(*short(ids, first)[0])


def test_a_vector_is_the_papers_equation() -> None:
    """max over the windows of tanh(F * c), a highway, a projection: written out for one word."""
    torch.manual_seed(0)
    embedding = CharCNN(WORDS, dim=6, char_dim=3, kernel_sizes=(2, 3), filters=4).double()
    letters = embedding.characters[torch.tensor(vocabulary_characters(WORDS, 24)[5][:3])]  # begin, b, end
    padded = torch.cat([letters, torch.zeros(4, 3, dtype=torch.double)])
    found = []
    for convolution in embedding.convolutions:
        (width,) = convolution.kernel_size
        windows = [padded[at : at + width] for at in range(3)]
        bias = convolution.get_parameter("bias")
        scores = [torch.einsum("fcw,wc->f", convolution.weight, window) + bias for window in windows]
        found.append(torch.stack(scores).tanh().amax(0))
    x = torch.cat(found)
    (highway,) = embedding.highways
    gate = torch.sigmoid(highway.gate(x))
    x = gate * torch.relu(highway.transform(x)) + (1 - gate) * x
    expected = embedding.projection(x)
    assert_close(embedding(torch.tensor([[5]]), torch.zeros(1, dtype=torch.long))[0, 0], expected)


def test_a_highway_starts_nearly_open() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 8)
    assert (Highway(8)(x) - x).abs().mean() < 0.3 * x.abs().mean()
