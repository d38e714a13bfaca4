"""The sections of a recipe that a trained model needs: data, text, model and translate. Imports neither losses nor
optimizers.
"""

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge

from weft.core.setting_types import Factory, NonNegativeInt, PositiveFloat, PositiveInt, UnitInterval
from weft.data.data_config import DataConfig
from weft.decoding.beam import BeamSearch
from weft.decoding.ctc_decoder import BestPathDecoder
from weft.decoding.search import FrameDecoder, Search
from weft.metrics.sentence_metrics import CostName
from weft.models.build import ModelConfig
from weft.text.text_config import TextConfig


@dataclass(frozen=True, kw_only=True)
class FusionConfig:
    """A language model added to a decoder: the score of each step is log p + weight log p_language.

    Shallow fusion (Gulcehre et al. 2015). model: the run or model folder of a language model that knows all target
    tokens (null: none); a relative path starts from the current folder.
    """

    model: str | None = None
    weight: Annotated[float, Ge(0.0)] = 0.2


@dataclass(frozen=True, kw_only=True)
class MBRConfig:
    """Minimum Bayes risk: of `samples` outputs, the one with the lowest cost against the others (inference/mbr.py).

    0: outputs come from a search. They are drawn with `translate.search`, if that is of the type sampling. cost: a name
    of weft/metrics/sentence_metrics.py.
    """

    samples: NonNegativeInt = 0
    cost: CostName = "chrf"


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """How a trained model is used: with a search, or, if it has no decoder, with a frame decoder.

    An output has at most `max_length_factor` x source tokens + `max_length_extra` tokens, and at least
    `min_length_factor` x source tokens + `min_length_extra`. No `no_repeat_ngram_size` consecutive tokens occur twice
    in it (0: no limit). `buffer_size` lines (of images, a few dozen at most) are read before the first is translated,
    so that lines of equal length can form batches; a program that waits for each answer sets it to 1. split_sentences:
    a line is translated sentence by sentence (false for models of paragraphs, words or symbols). word_list: a file
    with a word per line; outputs consist of these words. shortlist: the tokens of an output are chosen from those
    related to the source, as `weft shortlist` has learned. ctc_weight: of a CTC frame head, in the score of every step
    of a decoder.
    """

    search: Factory[Search] = BeamSearch
    mbr: MBRConfig = field(default_factory=MBRConfig)
    frame_decoder: Factory[FrameDecoder] = BestPathDecoder
    ctc_weight: UnitInterval = 0.0
    fusion: FusionConfig = field(default_factory=FusionConfig)
    word_list: str | None = None
    max_length_factor: PositiveFloat = 2.0
    max_length_extra: NonNegativeInt = 20
    min_length_factor: Annotated[float, Ge(0.0)] = 0.0
    min_length_extra: NonNegativeInt = 0
    no_repeat_ngram_size: NonNegativeInt = 0
    shortlist: bool = False
    batch_tokens: PositiveInt = 4096
    buffer_size: PositiveInt = 2048
    split_sentences: bool = True


@dataclass(frozen=True, kw_only=True)
class InferenceConfig:
    """The settings of a trained model."""

    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    translate: DecodingConfig = field(default_factory=DecodingConfig)
