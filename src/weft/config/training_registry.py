"""The components of training that a recipe can name: role -> name -> class. See registry.py."""

from collections.abc import Mapping

from weft.losses import frame_losses, sampled_losses, scheduled_sampling
from weft.losses.coverage_loss import CoverageLoss
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.distillation_loss import DistillationLoss
from weft.losses.minimum_risk import MinimumRiskLoss
from weft.losses.objective import Objective
from weft.losses.word_loss import WordLoss
from weft.optim import optimizers, schedules, weight_averages

TRAINING_COMPONENTS: Mapping[type, Mapping[str, type]] = {
    Objective: {
        "cross-entropy": CrossEntropyLoss,
        "ctc": frame_losses.CTCLoss,
        "joint-ctc": frame_losses.JointCTCLoss,
        "position-cross-entropy": frame_losses.PositionCrossEntropyLoss,
        "sampled-softmax": sampled_losses.SampledSoftmaxLoss,
        "bucketed-vocabulary": sampled_losses.BucketedVocabularyLoss,
        "negative-sampling": sampled_losses.NegativeSamplingLoss,
        "minimum-risk": MinimumRiskLoss,
        "word-loss": WordLoss,
        "coverage": CoverageLoss,
        "distillation": DistillationLoss,
    },
    sampled_losses.ProposalDistribution: {
        "unigram": sampled_losses.UnigramProposal,
        "log-uniform": sampled_losses.LogUniformProposal,
        "uniform": sampled_losses.UniformProposal,
    },
    scheduled_sampling.DecoderInputPolicy: {
        "teacher-forcing": scheduled_sampling.TeacherForcing,
        "scheduled-sampling": scheduled_sampling.ScheduledSampling,
        "free-running": scheduled_sampling.FreeRunning,
    },
    scheduled_sampling.TeacherForcingProbability: {
        "constant": scheduled_sampling.ConstantProbability,
        "linear": scheduled_sampling.LinearDecay,
        "exponential": scheduled_sampling.ExponentialDecay,
        "inverse-sigmoid": scheduled_sampling.InverseSigmoidDecay,
    },
    optimizers.Optimizer: {
        "sgd": optimizers.SGD,
        "adadelta": optimizers.Adadelta,
        "adam": optimizers.Adam,
        "adamw": optimizers.AdamW,
        "lazy-adam": optimizers.LazyAdam,
    },
    schedules.LearningRateSchedule: {
        "inverse-square-root": schedules.InverseSquareRootSchedule,
        "cosine": schedules.CosineSchedule,
        "linear": schedules.LinearSchedule,
        "halving": schedules.HalvingSchedule,
        "warmup-stable-decay": schedules.WarmupStableDecaySchedule,
    },
    weight_averages.WeightAverage: {
        "exponential": weight_averages.ExponentialAverage,
        "snapshots": weight_averages.SnapshotAverage,
    },
}
