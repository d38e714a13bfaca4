"""First values of weights."""

from torch import nn


def xavier(module: nn.Module) -> None:
    """Glorot & Bengio 2010 for every matrix inside, zero for every bias: what Transformers are started from."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
