"""Where the numbers are computed."""

import torch

from weft.core.errors import UserError


def pick_device(name: str) -> torch.device:
    """auto: the first GPU if there is one, else the CPU; or what the user named, if it is there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # "meta" has tensors, but no numbers in them
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        known = "auto, cpu, cuda, cuda:1, mps"
        raise UserError(f"--device {name} cannot be used here ({first_line(error)}). Devices are: {known}.") from error
    return device


def device_of_rank(name: str, local: int) -> torch.device:
    """That of a process with neighbours on this machine, of which it is the one numbered `local`: each has its GPU."""
    device = pick_device(name)
    if device.type == "cpu":
        return device
    if device.type != "cuda" or device.index is not None:
        raise UserError(f"--device {name} is one place for all processes: leave it out, or write cuda or cpu")
    there = torch.cuda.device_count()
    if local >= there:
        raise UserError(f"there are more processes here than GPUs: write --nproc-per-node {there}, or --device cpu")
    return torch.device("cuda", local)


def first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")
