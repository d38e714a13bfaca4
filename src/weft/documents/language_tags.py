"""Comparison of language tags (BCP 47) in documents: en matches en-US, but en-GB does not."""


def languages_match(one: str, other: str) -> bool:
    """Whether the tags are equal, or one is the other without some of its subtags at the end."""
    one, other = (f"{tag.strip().lower().replace('_', '-')}-" for tag in (one, other))
    return one.startswith(other) or other.startswith(one)
