"""The fields of a form, in either of the two ways in which forms are sent (RFC 7578 has the second)."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from weft.serve.refusal import RefusedError

FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
FIELDS = 100  # of a form
BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
DISPOSITION = re.compile(r"^content-disposition:[ \t]*+form-data[ \t]*+;(.*)$", re.IGNORECASE | re.MULTILINE)
NAME = re.compile(r'(?:^|;)[ \t]*+name="([^"]*+)"', re.IGNORECASE)
FILE = re.compile(r"(?:^|;)[ \t]*+filename", re.IGNORECASE)


def pairs_in(body: bytes, content_type: str) -> dict[str, str]:
    """The names of a form and their values; the last, where one is written twice."""
    try:
        if content_type.strip().lower().startswith(PARTS):
            return dict(map(_field, _parts(body, content_type)))
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS, errors="strict"))
    except ValueError:
        raise RefusedError(
            400, f"Invalid request: no form of at most {FIELDS} fields in UTF-8, without files"
        ) from None


def _parts(body: bytes, content_type: str) -> list[bytes]:
    """What stands between the boundaries."""
    found = BOUNDARY.search(content_type)
    if found is None:
        raise ValueError("no boundary is named")
    mark = b"\r\n--" + (found[1] or found[2]).encode()
    _, *parts, end = (b"\r\n" + body).split(mark, FIELDS + 1)
    if not end.startswith(b"--"):
        raise ValueError("there are too many parts, or the last does not end")
    return parts


def _field(part: bytes) -> tuple[str, str]:
    """The name and the value of a part."""
    head, blank, value = part.partition(b"\r\n\r\n")
    disposition = DISPOSITION.search(head.decode().replace("\r\n", "\n"))
    name = disposition and NAME.search(disposition[1])
    if not blank or not disposition or not name or FILE.search(disposition[1]):
        raise ValueError("a part is not a field")
    return name[1], value.decode()
