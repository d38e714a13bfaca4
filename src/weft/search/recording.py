"""What a search kept and dropped, told to whoever watches; `weft inspect search` draws it.

Every step notes these tensors, a place for each candidate of its link [C]:

- search.tokens, search.scores (of the token alone), search.parents (the candidate of the step before that it extends,
  not to be read in the first step): as in the link
- search.sentences: the place in the batch of the sentence that it is a candidate of
- search.kept: whether it goes on
- search.ranks: what it is compared by, if it has finished; else minus infinity
- search.finished: whether it has finished
"""

from torch import Tensor

from weft.core.watch import note, watched
from weft.search.allowed import IMPOSSIBLE
from weft.search.trail import Link


def record(link: Link, sentences: Tensor, kept: Tensor, ranks: Tensor) -> None:
    """Note a step, of whose candidates these are the sentences, whether they go on, and the ranks, each [C]."""
    if not watched():
        return
    note("search.tokens", link.tokens)
    note("search.scores", link.scores)
    note("search.parents", link.parents)
    note("search.sentences", sentences)
    note("search.kept", kept)
    note("search.ranks", ranks)
    note("search.finished", ranks > IMPOSSIBLE)
