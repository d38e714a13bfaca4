"""Interface strings of programs in several languages, from the translation catalogs in their packages.

Whole projects are held out. A string of theirs that another project has too is not in the training data.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, NamedTuple, TypeAlias
from unicodedata import category

from weft.data.corpus import normalize_words
from weft.data.datasets.hash_split import DatasetTables
from weft.data.datasets.mo_files import read_mo
from weft.data.datasets.wheels import DatasetWheel, WheelMember
from weft.data.pair_files import LinePair
from weft.documents.po_entries import CatalogMessage, message_pairs, read_messages

SplitName: TypeAlias = Literal["train", "valid", "test"]
SPAN = re.compile(  # of its own, since a change would move strings between the splits
    r"%\(\w+\)[-+0# ]*\d*(?:\.\d+)?[A-Za-z]"  # %(name)s
    r"|%(?:\d+\$)?[-+0#]*\d*(?:\.\d+)?[sdiufgeExXcr](?![A-Za-z])"  # %s, %1$d, %.2f
    r"|\{\{[^{}]*\}\}|\$?\{[^{}]*\}"  # {{ name }}, {name}, ${name}, {link}, {/link}
    r"|</?[A-Za-z][^<>]*>"
    r"|&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#x[0-9A-Fa-f]+);"
)
URL = re.compile(r"(?:https?|ftp)://\S+")
LOCALES: Mapping[str, tuple[str, ...]] = {
    "de": ("de", "de_DE"),
    "fr": ("fr", "fr_FR"),
    "es": ("es", "es_ES"),
    "uk": ("uk", "uk_UA"),
    "sv": ("sv", "sv_SE"),
    "tr": ("tr", "tr_TR"),
    "ja": ("ja", "ja_JP"),
    "pl": ("pl", "pl_PL"),
    "cs": ("cs", "cs_CZ"),
    "it": ("it", "it_IT"),
    "nl": ("nl", "nl_NL"),
    "pt": ("pt_BR",),
    "zh": ("zh_Hans", "zh_CN", "zh_Hans_CN"),
}
LANGUAGES = {locale: language for language, locales in LOCALES.items() for locale in locales}


@dataclass(frozen=True)
class SoftwareProject:
    """A program whose package contains its catalogs.

    accelerator: the character that marks the key of a menu item, as in "&File", if the project has such marks.
    """

    wheel: DatasetWheel
    license: str
    origin: str
    split: SplitName = "train"
    accelerator: str = ""


class LocalizedPair(NamedTuple):
    """A string of a project and its translation. language: of the translation."""

    split: SplitName
    language: str
    source: str
    target: str


@dataclass(frozen=True)
class ProjectSplitter:
    """Reads the catalogs of all projects and splits their strings by project."""

    projects: tuple[SoftwareProject, ...]

    @property
    def description(self) -> str:
        def titles(split: SplitName) -> str:
            return ", ".join(project.wheel.package for project in self.projects if project.split == split)

        return (
            f"by project: {titles('test')} for test and {titles('valid')} for validation;\n"
            "a source that is also in test (without case, punctuation, placeholders and markup) is in neither\n"
            "of the other files, and one that is also in validation is not in training"
        )

    def split(self, members: Iterable[WheelMember]) -> DatasetTables:
        """Return the files of each language; see `placeholder_rows` for the fourth one."""
        pairs = list(self._read_pairs(members))
        keys = {source: sentence_key(source) for source in {pair.source for pair in pairs}}
        held_out = {split: {keys[pair.source] for pair in pairs if pair.split == split} for split in ("valid", "test")}
        excluded = {"train": held_out["valid"] | held_out["test"], "valid": held_out["test"], "test": set[str]()}
        targets: dict[tuple[str, str], dict[str, dict[str, None]]] = {
            (language, split): {} for language in LOCALES for split in excluded
        }
        for split, language, source, target in pairs:
            if keys[source] not in excluded[split]:
                targets[language, split].setdefault(source, {})[target] = None
        tables: dict[str, list[tuple[str, ...]]] = {}
        for language in LOCALES:
            for split in ("train", "valid"):
                rows = targets[language, split].items()
                tables[file_name(split, language)] = [(source, target) for source, found in rows for target in found]
            test = [(source, *found) for source, found in targets[language, "test"].items()]
            tables[file_name("test", language)] = test
            tables[file_name("placeholders", language)] = placeholder_rows(test)
        return tables

    def _read_pairs(self, members: Iterable[WheelMember]) -> Iterator[LocalizedPair]:
        projects = {project.wheel.package: project for project in self.projects}
        for member in members:
            project = projects[member.package]
            language = LANGUAGES.get(PurePosixPath(member.name).parts[-3])  # LANGUAGE/LC_MESSAGES/NAME.mo
            if language is not None:
                for pair in catalog_pairs(read_catalog(member), project.accelerator):
                    yield LocalizedPair(project.split, language, *pair)


def file_name(table: str, language: str) -> str:
    return f"{table}.en-{language}.tsv"


def read_catalog(member: WheelMember) -> Iterator[CatalogMessage]:
    if member.name.endswith(".mo"):
        return read_mo(member.content, member.name)
    return read_messages(member.lines())


def catalog_pairs(messages: Iterable[CatalogMessage], accelerator: str) -> Iterator[LinePair]:
    """Yield the strings of one line that have words, and are translated."""
    for message in messages:
        for source, target in message_pairs(message):
            source, target = source.strip(), target.strip()
            if accelerator:
                source, target = strip_accelerators(source, target, accelerator)
            if target and is_text(source) and not any(category(char) == "Cc" for char in source + target):
                yield source, target


def is_text(source: str) -> bool:
    """Whether the string has words, and is not a name in a program such as `label_save`."""
    is_identifier = "_" in source and not re.search(r"\s", source)
    return bool(sentence_key(source)) and not is_identifier


def sentence_key(source: str) -> str:
    """Return the words: "delete" for "Delete %s" and "<b>Delete</b> {name}"."""
    return normalize_words(remove_spans(source))


def remove_spans(text: str) -> str:
    return URL.sub(" ", SPAN.sub(" ", text))


def strip_accelerators(source: str, target: str, mark: str) -> LinePair:
    """Remove the mark of an accelerator key if it is clear that there is one: "&File" and "Datei(&F)".

    Strings stay as they are if a side has several marks, or if both have the same word with a mark inside, since it
    may be a name such as file_name.
    """
    pattern = re.compile(rf"(?P<span>{SPAN.pattern}|{URL.pattern})|\s?\({mark}\w\)|{mark}(?=\w)")
    counts = [sum(not match["span"] for match in pattern.finditer(text)) for text in (source, target)]
    words = [remove_spans(text) for text in (source, target)]
    names = [set(re.findall(rf"\w+{mark}\w+", text)) for text in words]
    at_start = re.search(rf"(?<!\w){mark}\w", words[0]) is not None
    if counts[0] != 1 or counts[1] > 1 or names[0] & names[1] or not (counts[1] or at_start):
        return source, target
    stripped = [pattern.sub(lambda match: match["span"] or "", text) for text in (source, target)]
    return stripped[0], stripped[1]


def placeholder_rows(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the rows whose source has placeholders or markup, with the targets that have the same ones."""
    found = []
    for source, *targets in rows:
        spans = Counter(SPAN.findall(source))
        matching = [target for target in targets if Counter(SPAN.findall(target)) == spans]
        if spans and matching:
            found.append((source, *matching))
    return found
