"""How fast this machine multiplies matrices."""

import time

import torch

ROWS, WIDTH, HIDDEN = 4096, 256, 1024  # of a feed-forward layer, about
SECONDS = 0.3


def matrix_rate(device: torch.device) -> float:
    """Floating-point operations a second, in products of the size that models here are made of."""
    left, right = torch.ones(ROWS, WIDTH, device=device), torch.ones(WIDTH, HIDDEN, device=device)
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 3:
        began = time.perf_counter()
        (left @ right).sum().item()  # a number on the host: the product is finished
        times.append(time.perf_counter() - began)
    return 2 * ROWS * WIDTH * HIDDEN / min(times)
