"""DOCX: paragraphs with their formats, and the members of the archive that stay."""

import time
from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import docx
import pytest
from lxml import etree

from unit.document_fuzzing import OPTIONS, count_accepted, fill, texts
from weft.documents import zip_archive
from weft.documents.document import DocumentError
from weft.documents.docx_files import DOCX
from weft.text.marked_text import MarkedText

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MAIN = "word/document.xml"
HYPHENATED = "NON\u2011STOP"
BOLD = "<w:rPr><w:b/></w:rPr>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def sample() -> bytes:
    """Return a document made by an independent program."""
    document = docx.Document()
    document.add_heading("A title")
    paragraph = document.add_paragraph("The ")
    paragraph.add_run("red ").bold = True
    paragraph.add_run("cat").bold = True
    paragraph.add_run(" sees\ta dog & a <bird>.")
    document.add_table(1, 1).cell(0, 0).text = "A cell"
    document.sections[0].header.paragraphs[0].text = "A header"
    document.add_paragraph("12 + 3")
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def with_body(body: str) -> bytes:
    """Return a document with this body."""
    root = f'<w:document xmlns:w="{WORD}" xmlns:r="r"><w:body>{body}</w:body></w:document>'
    return replaced(sample(), {MAIN: root.encode()})


def replaced(content: bytes, contents: Mapping[str, bytes]) -> bytes:
    buffer = BytesIO()
    with ZipFile(BytesIO(content)) as old, ZipFile(buffer, "w") as new:
        for info in old.infolist():
            new.writestr(info, contents.get(info.filename, old.read(info)))
    return buffer.getvalue()


def body_of(content: bytes) -> str:
    with ZipFile(BytesIO(content)) as archive:
        text = archive.read(MAIN).decode()
    return text.partition("<w:body>")[2].partition("</w:body>")[0]


def parse(content: bytes) -> None:
    """Read an archive, or one of its members, with another XML parser."""
    if not content.startswith(b"PK"):
        etree.fromstring(content)
        return
    with ZipFile(BytesIO(content)) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".xml"):
                etree.fromstring(archive.read(info))


def test_units_of_a_document() -> None:
    document = DOCX.open(sample(), OPTIONS)
    assert texts(document.units) == [
        "A title",
        "The <f1>red cat</f1> sees<x3/>a dog & a <bird>.",
        "A cell",
        "A header",
    ]
    assert [span.role for span in document.units[1].text.spans] == ["open", "close", "single"]
    assert document.units[1].location == "paragraph 2 of document.xml"


def test_another_program_reads_the_translation() -> None:
    document = docx.Document(BytesIO(fill(DOCX.open(sample(), OPTIONS))))
    paragraph = document.paragraphs[1]
    assert [(run.text, run.bold) for run in paragraph.runs] == [
        ("Gur ", None),
        ("erq png", True),
        (" frrf", None),
        ("\t", None),
        ("n qbt & n <oveq>.", None),
    ]
    assert document.paragraphs[0].style is not None
    assert document.paragraphs[0].style.name == "Heading 1"
    assert document.tables[0].cell(0, 0).text == "N pryy"
    assert document.sections[0].header.paragraphs[0].text == "N urnqre"
    assert document.paragraphs[2].text == "12 + 3"


def test_other_members_stay() -> None:
    content = sample()
    filled = fill(DOCX.open(content, OPTIONS))
    with ZipFile(BytesIO(content)) as old, ZipFile(BytesIO(filled)) as new:
        assert old.namelist() == new.namelist()
        changed = [name for name in old.namelist() if old.read(name) != new.read(name)]
        compressions = [[info.compress_type for info in archive.infolist()] for archive in (old, new)]
    assert compressions[0] == compressions[1]
    assert changed == [MAIN, "word/header1.xml"]


def test_translating_twice_returns_the_texts() -> None:
    content = sample()
    document = DOCX.open(content, OPTIONS)
    assert document.fill([None] * 4).content == document.fill([unit.text for unit in document.units]).content == content
    once = DOCX.open(fill(document), OPTIONS)
    twice = DOCX.open(fill(once), OPTIONS)
    assert texts(twice.units) == texts(document.units)
    assert body_of(fill(twice)) == body_of(fill(document))


@pytest.mark.parametrize(
    ("body", "text", "filled"),
    [
        (
            f"<w:p><w:pPr><w:jc/></w:pPr>{run('One ')}<w:proofErr/>{run('two', '<w:rPr><w:lang/></w:rPr>')}</w:p>",
            "One two",
            f"<w:p><w:pPr><w:jc/></w:pPr>{run('ONE TWO')}</w:p>",
        ),
        (
            f'<w:p>{run("See ")}<w:hyperlink r:id="1">{run("this ", BOLD)}{run("a")}</w:hyperlink></w:p>',
            "See <c1>this <f1>a</f1></c1>",
            f'<w:p>{run("SEE ")}<w:hyperlink r:id="1">{run("THIS ", BOLD)}{run("A")}</w:hyperlink></w:p>',
        ),
        (
            f'<w:p>{run("New")}<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del>'
            f'<w:ins w:id="2">{run(" text")}</w:ins></w:p>',
            "New<c1> text</c1>",
            f'<w:p>{run("NEW")}<w:ins w:id="2">{run(" TEXT")}</w:ins>'
            '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del></w:p>',
        ),
        (
            f"<w:p>{run('Page ')}{field('begin')}<w:r><w:instrText> PAGE </w:instrText></w:r>{field('separate')}"
            f"{run('7')}{field('end')}{run(' here')}</w:p>",
            "Page <x1/> here",
            f"<w:p>{run('PAGE ')}{field('begin')}<w:r><w:instrText> PAGE </w:instrText></w:r>{field('separate')}"
            f"{run('7')}{field('end')}{run(' HERE')}</w:p>",
        ),
        (
            f'<w:p>{run("At ")}{field("begin")}<w:r><w:instrText> HYPERLINK "x" </w:instrText></w:r>'
            f"{field('separate')}{run('home')}{field('end')}</w:p>",
            "At <c1>home</c1>",
            f'<w:p>{run("AT ")}{field("begin")}<w:r><w:instrText> HYPERLINK "x" </w:instrText></w:r>'
            f"{field('separate')}{run('HOME')}{field('end')}</w:p>",
        ),
        (
            f'<w:p><w:bookmarkStart w:id="0"/>{run("Note")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
            "Note",
            f'<w:p><w:bookmarkStart w:id="0"/>{run("NOTE")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
        ),
        (
            f"<w:p>{run('Non', BOLD)}<w:r>{BOLD}<w:noBreakHyphen/></w:r>{run('stop', BOLD)}</w:p>",
            "Non\u2011stop",
            f"<w:p>{run(HYPHENATED, BOLD)}</w:p>",
        ),
        (
            f"<w:p><w:sdt><w:sdtPr/><w:sdtContent>{run('Name')}</w:sdtContent></w:sdt>{run(' and date')}</w:p>",
            "<c1>Name</c1> and date",
            f"<w:p><w:sdt><w:sdtPr/><w:sdtContent>{run('NAME')}</w:sdtContent></w:sdt>{run(' AND DATE')}</w:p>",
        ),
    ],
    ids=["language", "hyperlink", "tracked changes", "field", "hyperlink field", "edges", "hyphen", "control"],
)
def test_paragraphs(body: str, text: str, filled: str) -> None:
    document = DOCX.open(with_body(body), OPTIONS)
    assert document.units[0].text.text == text
    assert body_of(fill(document, upper)) == filled


def upper(text: MarkedText) -> MarkedText:
    return MarkedText.join(part.upper() if isinstance(part, str) else part for part in text.parts())


def test_a_text_box_is_translated_in_its_paragraph() -> None:
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('inside')}</w:p></w:txbxContent></w:pict></w:r>"
    body = f"<w:p>{run('before ')}{box}{run(' after')}</w:p>"
    document = DOCX.open(with_body(body), OPTIONS)
    assert texts(document.units)[:2] == ["inside", "before <x1/> after"]
    for kept, name in enumerate(["inside", "before"]):
        expected = body.upper().replace(name.upper(), name)
        translations = [None if index == kept else upper(unit.text) for index, unit in enumerate(document.units)]
        assert body_of(document.fill(translations).content).upper() == expected.upper()
        assert name in body_of(document.fill(translations).content)
    both = body_of(fill(document, upper))
    assert both == body.replace("inside", "INSIDE").replace("before", "BEFORE").replace("after", "AFTER")


def archive(**contents: str) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as new:
        for name, text in contents.items():
            new.writestr(name, text)
    return buffer.getvalue()


def bomb() -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as new:
        new.writestr(MAIN, bytes(zip_archive.MIN_BOMB_BYTES + 1))
    return buffer.getvalue()


def content_types(kind: str) -> str:
    override = f'<Override PartName="/a.xml" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
    return f"<Types>{override}</Types>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain text", "damaged"),
        (b"\xd0\xcf\x11\xe0", r"\.doc file"),
        (sample()[:-30], "damaged"),
        (bomb(), "unpacks"),
        (archive(**{str(number): "" for number in range(zip_archive.MAX_MEMBERS + 1)}), "too large"),
        (archive(mimetype="application/vnd.oasis.opendocument.text"), r"OpenDocument \(text\)"),
        (archive(**{"[Content_Types].xml": content_types("presentationml.presentation.main")}), "PPTX"),
        (archive(**{"[Content_Types].xml": content_types("spreadsheetml.sheet.main")}), "XLSX"),
        (archive(**{"[Content_Types].xml": content_types("wordprocessingml.document.main")}), "missing"),
        (archive(a="b"), "not an office document"),
        (with_body("<!DOCTYPE"), "not well-formed"),
        (with_body("<w:p>" * 300), "nested"),
    ],
)
def test_other_files_are_refused_quickly(content: bytes, message: str) -> None:
    start = time.thread_time()
    with pytest.raises(DocumentError, match=message):
        DOCX.open(content, OPTIONS)
    assert time.thread_time() - start < 5


def stored_sample() -> bytes:
    """Return the sample without compression and without members that are not about its text."""
    buffer = BytesIO()
    with ZipFile(BytesIO(sample())) as old, ZipFile(buffer, "w", ZIP_STORED) as new:
        for info in old.infolist():
            if info.filename.startswith(("[", "word/document", "word/header")):
                new.writestr(info.filename, old.read(info))
    return buffer.getvalue()


def test_damaged_archives_are_refused_or_stay_readable() -> None:
    content = stored_sample()
    assert DOCX.matches(content)
    assert count_accepted(DOCX, content, parse) < 200


def test_damaged_texts_are_refused_or_stay_readable() -> None:
    whole = stored_sample()
    with ZipFile(BytesIO(whole)) as old:
        main = old.read(MAIN)
    text_format = DOCX._replace(open=lambda content, options: DOCX.open(replaced(whole, {MAIN: content}), options))
    assert 0 < count_accepted(text_format, main, parse) < 200
