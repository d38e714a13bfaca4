"""Settings for every test."""

import torch

torch.set_num_threads(1)  # the models here are tiny, and tests run side by side
