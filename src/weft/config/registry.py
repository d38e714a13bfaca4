"""The registry: role -> name -> class, for everything that a recipe can name.

Components of trained models are in the table here, those of training in training_registry.py, which is imported only
when one of its roles is used: translating needs neither losses nor optimizers. The laws discover components here.
"""

from collections.abc import Iterator, Mapping

from weft.data.image_codec import ImageCodecTrainer
from weft.decoding import ctc_decoder, length_penalty
from weft.decoding.beam import BeamSearch
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.greedy import GreedySearch
from weft.decoding.non_autoregressive import PositionwiseDecoder
from weft.decoding.sampling import Sampling
from weft.decoding.search import FrameDecoder, Search
from weft.models import convs2s, heads, interfaces, kalchbrenner, transformer
from weft.models.decoders.bahdanau import BahdanauDecoder
from weft.models.decoders.cho import ChoDecoder
from weft.models.decoders.gnmt import GNMTDecoder
from weft.models.decoders.luong import LuongDecoder
from weft.models.decoders.sutskever import SutskeverDecoder
from weft.models.encoders.chain import EncoderChain, IdentityEncoder
from weft.models.encoders.convolutional import ConvolutionalEncoder
from weft.models.encoders.image_cnn import ImageEncoder
from weft.models.encoders.recurrent import RecurrentEncoder
from weft.nn import attention, attention_scores, bridges, embedding, positional_encoding
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.elman import ElmanCell
from weft.nn.cells.gru import GRUCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.cells.wrappers import StackedCell, VariationalDropoutCell
from weft.nn.char_cnn import CharCNN
from weft.text import tokenizer_training

TOKENIZERS: Mapping[str, type] = {
    "character": tokenizer_training.CharacterTokenizerTrainer,
    "byte": tokenizer_training.ByteTokenizerTrainer,
    "whitespace": tokenizer_training.WhitespaceTokenizerTrainer,
    "word": tokenizer_training.WordTokenizerTrainer,
    "bpe": tokenizer_training.BPETokenizerTrainer,
    "wordpiece": tokenizer_training.WordPieceTokenizerTrainer,
    "unigram": tokenizer_training.UnigramTokenizerTrainer,
}

INFERENCE_COMPONENTS: Mapping[type, Mapping[str, type]] = {
    tokenizer_training.TokenizerTrainer: TOKENIZERS,
    tokenizer_training.CodecTrainer: {**TOKENIZERS, "image": ImageCodecTrainer},
    interfaces.Embedder: {
        "tokens": embedding.TokenEmbedding,
        "char-cnn": CharCNN,
        "pixels": embedding.PixelEmbedding,
        "none": embedding.NoEmbedding,
    },
    positional_encoding.PositionalEncoding: {
        "sinusoidal": positional_encoding.SinusoidalPositions,
        "learned": positional_encoding.LearnedPositions,
    },
    interfaces.Encoder: {
        "transformer": transformer.TransformerEncoder,
        "recurrent": RecurrentEncoder,
        "convolutional": ConvolutionalEncoder,
        "convs2s": convs2s.ConvS2SEncoder,
        "kalchbrenner": kalchbrenner.KalchbrennerEncoder,
        "identity": IdentityEncoder,
        "image": ImageEncoder,
        "chain": EncoderChain,
        "none": interfaces.NoEncoder,
    },
    interfaces.Decoder: {
        "transformer": transformer.TransformerDecoder,
        "sutskever": SutskeverDecoder,
        "cho": ChoDecoder,
        "bahdanau": BahdanauDecoder,
        "luong": LuongDecoder,
        "gnmt": GNMTDecoder,
        "convs2s": convs2s.ConvS2SDecoder,
        "kalchbrenner": kalchbrenner.KalchbrennerDecoder,
        "none": interfaces.NoDecoder,
    },
    interfaces.Head: {"linear": heads.LinearHead},
    interfaces.FrameHead: {"ctc": heads.CTCHead, "aligned": heads.AlignedHead, "dense": heads.DenseHead},
    RecurrentCell: {
        "elman": ElmanCell,
        "gru": GRUCell,
        "lstm": LSTMCell,
        "stacked": StackedCell,
        "variational": VariationalDropoutCell,
    },
    bridges.Bridge: {
        "zeros": bridges.ZeroBridge,
        "learned": bridges.LearnedBridge,
        "copy": bridges.CopyBridge,
        "linear": bridges.LinearBridge,
    },
    attention_scores.AttentionScore: {
        "dot": attention_scores.DotScore,
        "scaled-dot": attention_scores.ScaledDotScore,
        "general": attention_scores.GeneralScore,
        "additive": attention_scores.AdditiveScore,
        "concat": attention_scores.ConcatScore,
        "cosine": attention_scores.CosineScore,
        "location": attention_scores.LocationScore,
    },
    attention.AttentionWindow: {
        "global": attention.GlobalWindow,
        "local-m": attention.LocalMonotonicWindow,
        "local-p": attention.LocalPredictiveWindow,
    },
    Search: {
        "greedy": GreedySearch,
        "sampling": Sampling,
        "beam": BeamSearch,
        "diverse": DiverseBeamSearch,
        "exhaustive": ExhaustiveSearch,
    },
    FrameDecoder: {
        "best-path": ctc_decoder.BestPathDecoder,
        "prefix-beam": ctc_decoder.PrefixBeamDecoder,
        "position-wise": PositionwiseDecoder,
    },
    length_penalty.LengthPenalty: {
        "none": length_penalty.NoLengthPenalty,
        "average": length_penalty.AverageLengthPenalty,
        "gnmt": length_penalty.GNMTLengthPenalty,
        "reward": length_penalty.WordReward,
    },
}


class _LazyRegistry(Mapping[type, Mapping[str, type]]):
    """All components; those of training are imported when a role is not among those of inference."""

    def __getitem__(self, role: type) -> Mapping[str, type]:
        return INFERENCE_COMPONENTS[role] if role in INFERENCE_COMPONENTS else _training_components()[role]

    def __iter__(self) -> Iterator[type]:
        yield from INFERENCE_COMPONENTS
        yield from _training_components()

    def __len__(self) -> int:
        return len(INFERENCE_COMPONENTS) + len(_training_components())


def _training_components() -> Mapping[type, Mapping[str, type]]:
    from weft.config.training_registry import TRAINING_COMPONENTS

    return TRAINING_COMPONENTS


REGISTRY = _LazyRegistry()
