"""First values of weights."""

import torch
from torch import Tensor, nn


def normal(*shape: int, deviation: float = 1.0) -> Tensor:
    """Numbers drawn around 0. Where tensors have no numbers none are drawn: torch would first load its compiler."""
    drawn = torch.empty(shape)
    return drawn if drawn.is_meta else drawn.normal_().mul_(deviation)


def xavier(module: nn.Module) -> None:
    """Glorot & Bengio 2010 for every matrix inside, zero for every bias: what Transformers are started from."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def orthogonal_blocks(weight: Tensor, rows: int) -> None:
    """A random orthogonal matrix in each block of so many rows. Saxe, McClelland & Ganguli 2014."""
    for block in weight.data.view(-1, rows, weight.shape[1]):
        nn.init.orthogonal_(block)
