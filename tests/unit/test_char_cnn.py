"""Character CNN embeddings."""

import torch
from torch.testing import assert_close

from weft.core.special_tokens import SPECIAL_TOKENS
from weft.nn.char_cnn import PAD_CHAR, WORD_END, WORD_START, CharCNN, Highway, vocabulary_characters

WORDS = [*SPECIAL_TOKENS, "ab", "abc", "b", "<pad>"]


def test_words_have_boundary_characters_and_special_tokens_their_own() -> None:
    pad, begin, end, ab, abc, b, text = vocabulary_characters(WORDS, max_word_length=9)
    assert len({tuple(row) for row in (pad, begin, end, text)}) == 4
    assert pad[0] == WORD_START
    assert pad[2] == WORD_END
    assert ab[1:3] == abc[1:3]
    assert [len(row) for row in (pad, begin, end, ab, abc, b, text)] == [7] * 7
    assert abc[4:] == [WORD_END, PAD_CHAR, PAD_CHAR]
    assert vocabulary_characters(WORDS, max_word_length=2)[3] == vocabulary_characters(WORDS, max_word_length=2)[4]


def test_words_equal_up_to_the_maximum_length_share_a_vector() -> None:
    torch.manual_seed(0)
    first = torch.zeros(1, dtype=torch.long)
    whole, short = CharCNN(WORDS, dim=6), CharCNN(WORDS, dim=6, max_word_length=2)
    ids = torch.tensor([[3, 4]])
    assert not torch.allclose(*whole(ids, first)[0])
    assert_close(*short(ids, first)[0])


def test_vector_follows_the_equation_of_the_paper() -> None:
    """Maximum over windows of tanh(F * c), highway, projection: computed explicitly for one word."""
    torch.manual_seed(0)
    embedding = CharCNN(WORDS, dim=6, char_dim=3, kernel_sizes=(2, 3), filters=4).double()
    characters = embedding.characters[torch.tensor(vocabulary_characters(WORDS, 24)[5][:3])]  # begin, b, end
    padded = torch.cat([characters, torch.zeros(4, 3, dtype=torch.double)])
    features = []
    for convolution in embedding.convolutions:
        (width,) = convolution.kernel_size
        windows = [padded[start : start + width] for start in range(3)]
        bias = convolution.get_parameter("bias")
        scores = [torch.einsum("fcw,wc->f", convolution.weight, window) + bias for window in windows]
        features.append(torch.stack(scores).tanh().amax(0))
    x = torch.cat(features)
    (highway,) = embedding.highways
    gate = torch.sigmoid(highway.gate(x))
    x = gate * torch.relu(highway.transform(x)) + (1 - gate) * x
    expected = embedding.projection(x)
    assert_close(embedding(torch.tensor([[5]]), torch.zeros(1, dtype=torch.long))[0, 0], expected)


def test_highway_initially_passes_its_input() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 8)
    assert (Highway(8)(x) - x).abs().mean() < 0.3 * x.abs().mean()
