"""What is to be checked: the files of a corpus, with those that are held out, and what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.check.rows import Files
from weft.check.tokens import Tokens
from weft.config.names import names_recipe
from weft.core.errors import UserError
from weft.data.cache import filters_of
from weft.data.lines import require_plain_file
from weft.data.settings import Data
from weft.data.shards import shards_of
from weft.store.manifest import check_manifest
from weft.store.place import find_model
from weft.store.readers import load_tokenizers
from weft.text.reader import Reads


class Inputs(NamedTuple):
    """splits: train, and valid and test if there are any. source: what its lines are. tokenizer: a model's folder."""

    splits: Mapping[str, Files]
    data: Data
    source: Reads
    tokenizer: Path | None

    @property
    def one_sided(self) -> bool:
        """Is only the target text?"""
        return self.data.one_sided or self.source == "pictures"

    def tokens(self) -> Tokens | None:
        """A new counter of tokens, if there is a tokenizer."""
        if self.tokenizer is None:
            return None
        folder = find_model(self.tokenizer)
        check_manifest(folder)
        readers = load_tokenizers(folder)
        return Tokens(readers, filters_of(self.data, *readers), one_sided=self.one_sided)


def read_inputs(
    names: Sequence[str], settings: Sequence[str], held_out: Mapping[str, Sequence[str]], tokenizer: Path | None
) -> Inputs:
    """names: a recipe, or data files. settings: what they change of a recipe. held_out: files of valid and test."""
    if names_recipe(names) or settings:
        data, source, start = _configured(names, settings)
        tokenizer = tokenizer or start
    else:
        data, source = Data(train=tuple(names)), "text"
    files = data.files() | {split: [list(map(Path, given))] for split, given in held_out.items() if given}
    return Inputs({split: files_of(corpora, data) for split, corpora in files.items()}, data, source, tokenizer)


def files_of(corpora: Sequence[Sequence[Path]], data: Data) -> Files:
    """The files of all these corpora, which must be there."""
    shards = tuple(shard for names in corpora for shard in shards_of(names, one_sided=data.one_sided))
    files = Files(shards, data.fields)
    for path in files.paths():
        require_plain_file(path)
    return files


def _configured(names: Sequence[str], settings: Sequence[str]) -> tuple[Data, Reads, Path | None]:
    """What a recipe says of the data and of where the tokenizers are from; files have one of defaults."""
    from weft.config.load import load_recipe  # all parts of models come with it
    from weft.text.settings import reads

    if not names_recipe(names):
        settings = [f"data.train=[{', '.join(map(_quoted, names))}]", *settings]
        recipe = load_recipe({}, settings)
    else:
        recipe = load_recipe(Path(names[0]), settings)
    if not recipe.data.files().get("train"):
        raise UserError("data.train: names no files; there is nothing to check")
    start = recipe.train.start
    return recipe.data, reads(recipe.text), None if start is None else Path(start).expanduser()


def _quoted(name: str) -> str:
    """As YAML writes any text."""
    escaped = name.replace("'", "''")
    return f"'{escaped}'"
