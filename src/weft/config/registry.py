"""Everything a user can name, in one table: role -> name -> class. The laws find each part here."""

from collections.abc import Mapping

from weft.model.decoders.bahdanau import Bahdanau
from weft.model.decoders.cho import Cho
from weft.model.decoders.gnmt import GNMT
from weft.model.decoders.luong import Luong
from weft.model.decoders.sutskever import Sutskever
from weft.model.decoders.transformer import TransformerDecoder
from weft.model.encoders.nothing import Nothing
from weft.model.encoders.recurrent import Recurrent
from weft.model.encoders.transformer import TransformerEncoder
from weft.model.head import Linear as LinearHead
from weft.model.roles import Decoder, Embed, Encoder, Head
from weft.nn.bridges import Bridge, Copy, Zeros
from weft.nn.bridges import Learned as LearnedBridge
from weft.nn.bridges import Linear as LinearBridge
from weft.nn.cells.gru import GRU
from weft.nn.cells.lstm import LSTM
from weft.nn.cells.plain import Plain
from weft.nn.cells.role import Cell
from weft.nn.cells.stacked import Stacked
from weft.nn.cells.variational import Variational
from weft.nn.embedding import Embedding, NoEmbedding
from weft.nn.letters import Letters
from weft.nn.positions import Learned, Positions, Sinusoidal
from weft.nn.scores import Additive, Concat, Dot, General, Location, ScaledDot, Score
from weft.nn.scores import Cosine as CosineScore
from weft.nn.windows import Global, LocalMonotonic, LocalPredictive, Window
from weft.objective.cross_entropy import CrossEntropy
from weft.objective.feeding import Feeding, Free, Scheduled, Truth
from weft.objective.role import Objective
from weft.objective.truth import Constant, ExponentialDecay, InverseSigmoid, LinearDecay, TruthProbability
from weft.optim.averages import Average, Exponential, Last
from weft.optim.optimisers import SGD, Adadelta, Adam, AdamW, Optimiser
from weft.optim.schedules import Cosine, Halving, InverseSquareRoot, Linear, Schedule, WarmupStableDecay
from weft.search.beam import Beam
from weft.search.exhaustive import Exhaustive
from weft.search.greedy import Greedy
from weft.search.penalties import GNMT as GNMTLength  # noqa: N811 (a name, no constant)
from weft.search.penalties import Average as AverageLength
from weft.search.penalties import NoPenalty, Penalty
from weft.search.role import Search
from weft.search.sampling import Sampling
from weft.text.learners import BPE, Byte, Character, Learner, Unigram, Whitespace, Word, WordPiece

REGISTRY: Mapping[type, Mapping[str, type]] = {
    Learner: {
        "character": Character,
        "byte": Byte,
        "whitespace": Whitespace,
        "word": Word,
        "bpe": BPE,
        "wordpiece": WordPiece,
        "unigram": Unigram,
    },
    Embed: {"tokens": Embedding, "letters": Letters, "none": NoEmbedding},
    Positions: {"sinusoidal": Sinusoidal, "learned": Learned},
    Encoder: {"transformer": TransformerEncoder, "recurrent": Recurrent, "none": Nothing},
    Decoder: {
        "transformer": TransformerDecoder,
        "sutskever": Sutskever,
        "cho": Cho,
        "bahdanau": Bahdanau,
        "luong": Luong,
        "gnmt": GNMT,
    },
    Head: {"linear": LinearHead},
    Cell: {"plain": Plain, "gru": GRU, "lstm": LSTM, "stacked": Stacked, "variational": Variational},
    Bridge: {"zeros": Zeros, "learned": LearnedBridge, "copy": Copy, "linear": LinearBridge},
    Score: {
        "dot": Dot,
        "scaled-dot": ScaledDot,
        "general": General,
        "additive": Additive,
        "concat": Concat,
        "cosine": CosineScore,
        "location": Location,
    },
    Window: {"global": Global, "local-m": LocalMonotonic, "local-p": LocalPredictive},
    Feeding: {"truth": Truth, "scheduled": Scheduled, "free": Free},
    TruthProbability: {
        "constant": Constant,
        "linear": LinearDecay,
        "exponential": ExponentialDecay,
        "inverse-sigmoid": InverseSigmoid,
    },
    Objective: {"cross-entropy": CrossEntropy},
    Search: {"greedy": Greedy, "sampling": Sampling, "beam": Beam, "exhaustive": Exhaustive},
    Penalty: {"none": NoPenalty, "average": AverageLength, "gnmt": GNMTLength},
    Optimiser: {"sgd": SGD, "adadelta": Adadelta, "adam": Adam, "adamw": AdamW},
    Schedule: {
        "inverse-square-root": InverseSquareRoot,
        "cosine": Cosine,
        "linear": Linear,
        "halving": Halving,
        "warmup-stable-decay": WarmupStableDecay,
    },
    Average: {"exponential": Exponential, "last": Last},
}
