"""Token names for CTranslate2's vocabulary files (unique, without white space), and vmap.txt, its form of a
lexical shortlist.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.checkpoints.model_folder import ModelFolder
from weft.core.codec import SPECIAL_TOKENS
from weft.text.lexical_shortlist import Shortlist
from weft.text.tokenizer import SPACE_SYMBOL, Tokenizer

VMAP_FILE = "vmap.txt"  # the name that CTranslate2 expects in a model folder


def token_names(tokenizer: Tokenizer) -> list[str]:
    """A unique name for each id: the token with visible white space; special tokens and changed tokens get a suffix
    if their name is taken.
    """
    tokens = tokenizer.raw_tokens()
    visible = [_visible_name(token) for token in tokens]
    unchanged = [token == name for token, name in zip(tokens, visible, strict=True)]
    taken = {token for token, same in zip(tokens, unchanged, strict=True) if same}
    changed = (name for name, same in zip(visible, unchanged, strict=True) if not same)
    distinct = _distinct_names((*SPECIAL_TOKENS, *changed), taken)
    special = [next(distinct) for _ in SPECIAL_TOKENS]
    return [*special, *(token if same else next(distinct) for token, same in zip(tokens, unchanged, strict=True))]


def _visible_name(token: str) -> str:
    return "".join(SPACE_SYMBOL if letter.isspace() else letter for letter in token) or SPACE_SYMBOL


def _distinct_names(names: Iterable[str], taken: set[str]) -> Iterator[str]:
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        yield name


def write_vmap(folder: Path, model: ModelFolder, shortlist: Shortlist) -> None:
    """Write a shortlist for CTranslate2: a line for each source token, with a tab before its targets. The line without
    a source token has the targets of every source.
    """
    target = token_names(model.target)

    def names(ids: Iterable[int]) -> str:
        return " ".join(target[number] for number in ids)

    lines = [f"\t{names(shortlist.always)}\n"]
    for number, name in enumerate(token_names(model.source_tokenizer)):
        if len(ids := shortlist.for_token(number)):
            lines.append(f"{name}\t{names(ids)}\n")
    (folder / VMAP_FILE).write_text("".join(lines), "utf-8", newline="\n")
