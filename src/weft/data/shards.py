"""Which files a corpus is read from: a name may be a pattern, and then stands for many files, its shards."""

from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.data.lines import require_plain_file
from weft.data.unpacking import ENDINGS, plain_name

Kind: TypeAlias = Literal["lines", "text", "tsv", "jsonl"]
TABLES = (".tsv", ".jsonl")  # one file holds both sides
WILD = frozenset("*?[")


class Shard(NamedTuple):
    """Files that are read side by side: two of text; or one, of pairs or of the lines of one side."""

    paths: tuple[Path, ...]
    kind: Kind


def shards_of(names: Sequence[Path], *, one_sided: bool) -> tuple[Shard, ...]:
    """The shards of one corpus in the order of their names: the first source file belongs to the first target file."""
    kind = _one_sided_kind(names) if one_sided else _kind(names)
    sides = [matching(name) for name in names]
    if len(sides) == 2:
        _check_partners(names, *sides)
    return tuple(Shard(paths, kind) for paths in zip(*sides, strict=True))


def matching(name: Path) -> list[Path]:
    """The files that a pattern matches, sorted; of any other name, the file itself, be it there or not."""
    if WILD.isdisjoint(str(name)) or name.exists():
        return [name]
    paths = map(Path, glob(str(name), recursive=True))  # noqa: PTH207 (Path.glob takes no absolute pattern)
    found = sorted(path for path in paths if not path.is_dir())
    if not found:
        looked = "" if name.is_absolute() else f" (looked for from {Path.cwd()})"
        raise UserError(f"{name}: no file matches this pattern{looked}")
    return found


def require_matching(name: Path) -> None:
    """Say what is wrong with a name or a pattern whose files cannot be read."""
    for path in matching(name):
        require_plain_file(path)


def is_table(name: Path | str) -> bool:
    return plain_name(name).endswith(TABLES)


def _kind(names: Sequence[Path]) -> Kind:
    if len(names) == 2:
        return "text"
    if len(names) == 1 and is_table(names[0]):
        return "tsv" if plain_name(names[0]).endswith(".tsv") else "jsonl"
    many = "; many files of a kind are named by one pattern, in quotes: 'shards/*.en'" if len(names) > 2 else ""
    raise UserError(
        f"pairs are read from two text files, or from one .tsv or .jsonl (each may end in {ENDINGS}); "
        f"got {_listed(names)}{many}"
    )


def _one_sided_kind(names: Sequence[Path]) -> Kind:
    if len(names) != 1 or is_table(names[0]):
        raise UserError(
            f"with data.one_sided, lines are read from one text file (it may end in {ENDINGS}), or from all that a "
            f"pattern such as 'shards/*.txt' matches; got {_listed(names)}. For pairs, leave data.one_sided out"
        )
    return "lines"


def _listed(names: Sequence[Path]) -> str:
    return ", ".join(map(str, names)) or "nothing"


def _check_partners(names: Sequence[Path], sources: Sequence[Path], targets: Sequence[Path]) -> None:
    """Are there as many on both sides? And where the patterns matched some of the same words, are all the same?"""
    if len(sources) != len(targets):
        raise UserError(
            f"{names[0]} matches {len(sources):,} files and {names[1]} {len(targets):,}, but each source file needs "
            f"its target file{_lonely(names, sources, targets)}"
        )
    if told := _lonely(names, sources, targets):
        raise UserError(f"{names[0]} and {names[1]} match as many files, but not of the same names{told}")


def _lonely(names: Sequence[Path], *sides: Sequence[Path]) -> str:
    """The first file without a namesake, if others have one: names that never fit are paired by their order alone."""
    matched = [[_matched(name, path) for path in side] for name, side in zip(names, sides, strict=True)]
    ours, theirs = map(set, matched)
    if ours.isdisjoint(theirs) or ours == theirs:
        return ""
    lonely = (
        path
        for side, words, others in zip(sides, matched, (theirs, ours), strict=True)
        for path, word in zip(side, words, strict=True)
        if word not in others
    )
    return f"; {next(lonely)} has no partner"


def _matched(name: Path, path: Path) -> str:
    """What the wildcards stand for, and all between them: "01" where part*.en matched part01.en."""
    pattern = str(name)
    first = min(pattern.index(wild) for wild in WILD if wild in pattern) if WILD & set(pattern) else len(pattern)
    after = len(pattern) - max(pattern.rfind(wild) for wild in "*?]") - 1
    return str(path)[first : len(str(path)) - after]
