"""Everything a user can name, in one table: role -> name -> class. The laws find each part here."""

from collections.abc import Mapping

from weft.model.decoders.bahdanau import Bahdanau
from weft.model.decoders.cho import Cho
from weft.model.decoders.convs2s import ConvS2SDecoder
from weft.model.decoders.gnmt import GNMT
from weft.model.decoders.kalchbrenner import KalchbrennerDecoder
from weft.model.decoders.luong import Luong
from weft.model.decoders.nothing import NoDecoder
from weft.model.decoders.sutskever import Sutskever
from weft.model.decoders.transformer import TransformerDecoder
from weft.model.encoders.chain import Chain
from weft.model.encoders.convolutional import Convolutional
from weft.model.encoders.convs2s import ConvS2SEncoder
from weft.model.encoders.embedded import Embedded
from weft.model.encoders.kalchbrenner import KalchbrennerEncoder
from weft.model.encoders.nothing import Nothing
from weft.model.encoders.picture import PictureEncoder
from weft.model.encoders.recurrent import Recurrent
from weft.model.encoders.transformer import TransformerEncoder
from weft.model.head import Linear as LinearHead
from weft.model.lattices.ctc import CTC
from weft.model.lattices.positions import Aligned, Dense
from weft.model.roles import Decoder, Embed, Encoder, Head, Lattice
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
from weft.nn.pixels import Pixels
from weft.nn.positions import Learned, Positions, Sinusoidal
from weft.nn.scores import Additive, Concat, Dot, General, Location, ScaledDot, Score
from weft.nn.scores import Cosine as CosineScore
from weft.nn.windows import Global, LocalMonotonic, LocalPredictive, Window
from weft.objective.bucketed_vocabulary import BucketedVocabulary
from weft.objective.coverage import Coverage
from weft.objective.cross_entropy import CrossEntropy
from weft.objective.ctc import CTCLoss, JointLoss
from weft.objective.distillation import Distillation
from weft.objective.feeding import Feeding, Free, Scheduled, Truth
from weft.objective.minimum_risk import MinimumRisk
from weft.objective.negative_sampling import NegativeSampling
from weft.objective.positions import PositionEntropy
from weft.objective.proposals import LogUniform, Proposal, Uniform
from weft.objective.proposals import Unigram as UnigramProposal
from weft.objective.role import Objective
from weft.objective.sampled_softmax import SampledSoftmax
from weft.objective.truth import Constant, ExponentialDecay, InverseSigmoid, LinearDecay, TruthProbability
from weft.objective.word_loss import WordLoss
from weft.optim.averages import Average, Exponential, Last
from weft.optim.lazy_adam import LazyAdam
from weft.optim.optimisers import SGD, Adadelta, Adam, AdamW, Optimiser
from weft.optim.schedules import Cosine, Halving, InverseSquareRoot, Linear, Schedule, WarmupStableDecay
from weft.picture.reader import Picture
from weft.search.beam import Beam
from weft.search.diverse import DiverseBeam
from weft.search.exhaustive import Exhaustive
from weft.search.greedy import Greedy
from weft.search.rankings import GNMT as GNMTLength  # noqa: N811 (a name, no constant)
from weft.search.rankings import Average as AverageLength
from weft.search.rankings import NoPenalty, Ranking, Reward
from weft.search.readings.best_path import BestPath
from weft.search.readings.positions import PositionReading
from weft.search.readings.prefix_beam import PrefixBeam
from weft.search.role import Reading, Search
from weft.search.sampling import Sampling
from weft.text.learners import (
    BPE,
    Byte,
    Character,
    Learner,
    SourceLearner,
    Unigram,
    Whitespace,
    Word,
    WordPiece,
)

TOKENIZERS: Mapping[str, type] = {
    "character": Character,
    "byte": Byte,
    "whitespace": Whitespace,
    "word": Word,
    "bpe": BPE,
    "wordpiece": WordPiece,
    "unigram": Unigram,
}

REGISTRY: Mapping[type, Mapping[str, type]] = {
    Learner: TOKENIZERS,
    SourceLearner: {**TOKENIZERS, "picture": Picture},
    Embed: {"tokens": Embedding, "letters": Letters, "pixels": Pixels, "none": NoEmbedding},
    Positions: {"sinusoidal": Sinusoidal, "learned": Learned},
    Encoder: {
        "transformer": TransformerEncoder,
        "recurrent": Recurrent,
        "convolutional": Convolutional,
        "convs2s": ConvS2SEncoder,
        "kalchbrenner": KalchbrennerEncoder,
        "embedded": Embedded,
        "picture": PictureEncoder,
        "chain": Chain,
        "none": Nothing,
    },
    Decoder: {
        "transformer": TransformerDecoder,
        "sutskever": Sutskever,
        "cho": Cho,
        "bahdanau": Bahdanau,
        "luong": Luong,
        "gnmt": GNMT,
        "convs2s": ConvS2SDecoder,
        "kalchbrenner": KalchbrennerDecoder,
        "none": NoDecoder,
    },
    Lattice: {"ctc": CTC, "aligned": Aligned, "dense": Dense},
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
    Objective: {
        "cross-entropy": CrossEntropy,
        "ctc": CTCLoss,
        "joint-ctc": JointLoss,
        "positions": PositionEntropy,
        "sampled-softmax": SampledSoftmax,
        "bucketed-vocabulary": BucketedVocabulary,
        "negative-sampling": NegativeSampling,
        "minimum-risk": MinimumRisk,
        "word-loss": WordLoss,
        "coverage": Coverage,
        "distillation": Distillation,
    },
    Proposal: {"unigram": UnigramProposal, "log-uniform": LogUniform, "uniform": Uniform},
    Search: {
        "greedy": Greedy,
        "sampling": Sampling,
        "beam": Beam,
        "diverse": DiverseBeam,
        "exhaustive": Exhaustive,
    },
    Reading: {"best-path": BestPath, "prefix-beam": PrefixBeam, "positions": PositionReading},
    Ranking: {"none": NoPenalty, "average": AverageLength, "gnmt": GNMTLength, "reward": Reward},
    Optimiser: {"sgd": SGD, "adadelta": Adadelta, "adam": Adam, "adamw": AdamW, "lazy-adam": LazyAdam},
    Schedule: {
        "inverse-square-root": InverseSquareRoot,
        "cosine": Cosine,
        "linear": Linear,
        "halving": Halving,
        "warmup-stable-decay": WarmupStableDecay,
    },
    Average: {"exponential": Exponential, "last": Last},
}
