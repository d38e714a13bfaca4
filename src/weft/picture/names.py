"""How pictures are called."""

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")


def is_picture(name: str) -> bool:
    """Does the name of a file say that it is a picture?"""
    return name.lower().endswith(SUFFIXES)
