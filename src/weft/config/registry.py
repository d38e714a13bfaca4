"""The registry: role -> name -> class, for everything that a recipe can name.

Components of trained models are in a literal table here, those of training in training_registry.py, which is imported
only when one of its roles is used: translating needs neither losses nor optimizers. The laws discover components here.
"""

from collections.abc import Iterator, Mapping

from weft.data.image_codec import ImageCodecTrainer
from weft.decoding.beam import BeamSearch
from weft.decoding.ctc_decoder import BestPathDecoder, PrefixBeamDecoder
from weft.decoding.diverse_beam import DiverseBeamSearch
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.greedy import GreedySearch
from weft.decoding.length_penalty import (
    AverageLengthPenalty,
    GNMTLengthPenalty,
    LengthPenalty,
    NoLengthPenalty,
    WordReward,
)
from weft.decoding.non_autoregressive import PositionwiseDecoder
from weft.decoding.sampling import Sampling
from weft.decoding.search import FrameDecoder, Search
from weft.models.convs2s import ConvS2SDecoder, ConvS2SEncoder
from weft.models.decoders.bahdanau import BahdanauDecoder
from weft.models.decoders.cho import ChoDecoder
from weft.models.decoders.gnmt import GNMTDecoder
from weft.models.decoders.luong import LuongDecoder
from weft.models.decoders.sutskever import SutskeverDecoder
from weft.models.empty_slots import NoDecoder, NoEncoder
from weft.models.encoders.chain import EncoderChain, IdentityEncoder
from weft.models.encoders.convolutional import ConvolutionalEncoder
from weft.models.encoders.image_cnn import ImageEncoder
from weft.models.encoders.recurrent import RecurrentEncoder
from weft.models.heads import AlignedHead, CTCHead, DenseHead, LinearHead
from weft.models.kalchbrenner import KalchbrennerDecoder, KalchbrennerEncoder
from weft.models.slots import Decoder, Embedder, Encoder, FrameHead, Head
from weft.models.transformer import TransformerDecoder, TransformerEncoder
from weft.nn.attention import AttentionWindow, GlobalWindow, LocalMonotonicWindow, LocalPredictiveWindow
from weft.nn.attention_scores import (
    AdditiveScore,
    AttentionScore,
    ConcatScore,
    CosineScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ScaledDotScore,
)
from weft.nn.bridges import Bridge, CopyBridge, LearnedBridge, LinearBridge, ZeroBridge
from weft.nn.cells.cell import RecurrentCell
from weft.nn.cells.elman import ElmanCell
from weft.nn.cells.gru import GRUCell
from weft.nn.cells.lstm import LSTMCell
from weft.nn.cells.wrappers import StackedCell, VariationalDropoutCell
from weft.nn.char_cnn import CharCNN
from weft.nn.embedding import NoEmbedding, PixelEmbedding, TokenEmbedding
from weft.nn.positional_encoding import LearnedPositions, PositionalEncoding, SinusoidalPositions
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    ByteTokenizerTrainer,
    CharacterTokenizerTrainer,
    CodecTrainer,
    TokenizerTrainer,
    UnigramTokenizerTrainer,
    WhitespaceTokenizerTrainer,
    WordPieceTokenizerTrainer,
    WordTokenizerTrainer,
)

TOKENIZERS: Mapping[str, type] = {
    "character": CharacterTokenizerTrainer,
    "byte": ByteTokenizerTrainer,
    "whitespace": WhitespaceTokenizerTrainer,
    "word": WordTokenizerTrainer,
    "bpe": BPETokenizerTrainer,
    "wordpiece": WordPieceTokenizerTrainer,
    "unigram": UnigramTokenizerTrainer,
}

INFERENCE_COMPONENTS: Mapping[type, Mapping[str, type]] = {
    TokenizerTrainer: TOKENIZERS,
    CodecTrainer: {**TOKENIZERS, "image": ImageCodecTrainer},
    Embedder: {"tokens": TokenEmbedding, "char-cnn": CharCNN, "pixels": PixelEmbedding, "none": NoEmbedding},
    PositionalEncoding: {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions},
    Encoder: {
        "transformer": TransformerEncoder,
        "recurrent": RecurrentEncoder,
        "convolutional": ConvolutionalEncoder,
        "convs2s": ConvS2SEncoder,
        "kalchbrenner": KalchbrennerEncoder,
        "identity": IdentityEncoder,
        "image": ImageEncoder,
        "chain": EncoderChain,
        "none": NoEncoder,
    },
    Decoder: {
        "transformer": TransformerDecoder,
        "sutskever": SutskeverDecoder,
        "cho": ChoDecoder,
        "bahdanau": BahdanauDecoder,
        "luong": LuongDecoder,
        "gnmt": GNMTDecoder,
        "convs2s": ConvS2SDecoder,
        "kalchbrenner": KalchbrennerDecoder,
        "none": NoDecoder,
    },
    FrameHead: {"ctc": CTCHead, "aligned": AlignedHead, "dense": DenseHead},
    Head: {"linear": LinearHead},
    RecurrentCell: {
        "elman": ElmanCell,
        "gru": GRUCell,
        "lstm": LSTMCell,
        "stacked": StackedCell,
        "variational": VariationalDropoutCell,
    },
    Bridge: {"zeros": ZeroBridge, "learned": LearnedBridge, "copy": CopyBridge, "linear": LinearBridge},
    AttentionScore: {
        "dot": DotScore,
        "scaled-dot": ScaledDotScore,
        "general": GeneralScore,
        "additive": AdditiveScore,
        "concat": ConcatScore,
        "cosine": CosineScore,
        "location": LocationScore,
    },
    AttentionWindow: {"global": GlobalWindow, "local-m": LocalMonotonicWindow, "local-p": LocalPredictiveWindow},
    Search: {
        "greedy": GreedySearch,
        "sampling": Sampling,
        "beam": BeamSearch,
        "diverse": DiverseBeamSearch,
        "exhaustive": ExhaustiveSearch,
    },
    FrameDecoder: {
        "best-path": BestPathDecoder,
        "prefix-beam": PrefixBeamDecoder,
        "position-wise": PositionwiseDecoder,
    },
    LengthPenalty: {
        "none": NoLengthPenalty,
        "average": AverageLengthPenalty,
        "gnmt": GNMTLengthPenalty,
        "reward": WordReward,
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
