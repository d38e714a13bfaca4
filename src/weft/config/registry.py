"""Everything a user can name, in one table: role -> name -> class. The laws find each part here."""

from collections.abc import Mapping

from weft.model.decoders.bahdanau import Bahdanau
from weft.model.decoders.transformer import TransformerDecoder
from weft.model.encoders.recurrent import Recurrent
from weft.model.encoders.transformer import TransformerEncoder
from weft.model.head import Linear as LinearHead
from weft.model.roles import Decoder, Embed, Encoder, Head
from weft.nn.cells import GRU, Cell
from weft.nn.embedding import Embedding
from weft.nn.positions import Learned, Positions, Sinusoidal
from weft.nn.scores import Additive, ScaledDot, Score
from weft.objective.cross_entropy import CrossEntropy
from weft.objective.role import Objective
from weft.optim.averages import Average, Exponential, Last
from weft.optim.optimisers import Adam, AdamW, Optimiser
from weft.optim.schedules import Cosine, InverseSquareRoot, Linear, Schedule, WarmupStableDecay
from weft.search.beam import Beam
from weft.search.exhaustive import Exhaustive
from weft.search.greedy import Greedy
from weft.search.penalties import GNMT, NoPenalty, Penalty
from weft.search.penalties import Average as AverageLength
from weft.search.role import Search
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
    Embed: {"tokens": Embedding},
    Positions: {"sinusoidal": Sinusoidal, "learned": Learned},
    Encoder: {"transformer": TransformerEncoder, "recurrent": Recurrent},
    Decoder: {"transformer": TransformerDecoder, "bahdanau": Bahdanau},
    Head: {"linear": LinearHead},
    Cell: {"gru": GRU},
    Score: {"scaled-dot": ScaledDot, "additive": Additive},
    Objective: {"cross-entropy": CrossEntropy},
    Search: {"greedy": Greedy, "beam": Beam, "exhaustive": Exhaustive},
    Penalty: {"none": NoPenalty, "average": AverageLength, "gnmt": GNMT},
    Optimiser: {"adam": Adam, "adamw": AdamW},
    Schedule: {
        "inverse-square-root": InverseSquareRoot,
        "cosine": Cosine,
        "linear": Linear,
        "warmup-stable-decay": WarmupStableDecay,
    },
    Average: {"exponential": Exponential, "last": Last},
}
