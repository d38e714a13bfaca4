"""A picture inside the page itself: dark ink on white paper."""

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def png(ink: NDArray[np.uint8]) -> str:
    """As an address that holds the picture. ink [H,T]: 0 is paper, 255 is ink."""
    file = io.BytesIO()
    Image.fromarray(255 - ink).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
