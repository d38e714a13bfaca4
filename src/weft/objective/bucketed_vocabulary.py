"""The softmax over the words of a part of the training."""

import torch
from torch import Tensor, nn

from weft.core.randomness import seed_for
from weft.core.types import Count
from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.cross_entropy import cross_entropy
from weft.objective.proposals import Unigram, inclusion
from weft.objective.role import Given, Loss
from weft.objective.sampled_softmax import partial_loss


class BucketedVocabulary(nn.Module):
    """loss = -log(exp z_y / sum_{v in V'} exp z_v), V' = the words of the part that is trained on. Jean et al. 2015.

    As there (section 3.1), training goes through parts one after another, each with a vocabulary V' of its own and far
    smaller than V, and nothing corrects for what V' leaves out: the proposal is uniform over V', so it cancels.

    What differs: there a part is as many consecutive sentences as have `classes` different words, and V' are these
    words. Here a part is `window` updates. Since the order of the pairs is drawn anew in each epoch, the words of a
    part are a random draw from those of the corpus, so V' is drawn instead of read: each word with a probability
    in proportion to its use, at most 1, and `classes` of them on average. It is a function of the seed and the number
    of the part, so a run can go on in the middle of one. The words of a batch that V' lacks are added for this batch.

    The model is normalised over the words of a part, not over all: a word that is in one part of ten comes out up to
    ten times too likely beside words that are in every part. Jean et al. therefore search among some candidates for
    each sentence. `sampled-softmax` has no such fault.

    In validation the loss is the cross-entropy over the whole vocabulary.
    """

    def __init__(self, given: Given, *, classes: Count = 16_384, window: Count = 100):
        super().__init__()
        self.seed, self.window = given.seed, window
        self.included = torch.from_numpy(inclusion(Unigram(power=1.0)(given.counts()), classes)).float()

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs, target = model.features(batch).hidden, batch.target
        if step is None:
            return cross_entropy(model.head, outputs, target)
        vocabulary = self.vocabulary(step).index_fill(0, target.data[target.mask].cpu(), True)
        nothing_to_correct = torch.where(vocabulary, 0.0, float("-inf"))
        return partial_loss(model.head, outputs, target, nothing_to_correct)

    def vocabulary(self, step: int) -> Tensor:
        """[V], which words are in the part that this update (counted from 1) belongs to."""
        draws = torch.Generator().manual_seed(seed_for(self.seed, "vocabulary", (step - 1) // self.window))
        return torch.rand(len(self.included), generator=draws) < self.included
