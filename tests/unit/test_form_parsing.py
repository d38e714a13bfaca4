"""Form parsing: URL-encoded and multipart bodies, valid and malformed."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.serve.dependencies import FORM_TYPE, MAX_FORM_FIELDS, MULTIPART_TYPE, parse_form
from weft.serve.http_errors import ApiError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\n'), min_size=1)
MULTIPART = f"{MULTIPART_TYPE}; boundary=xyz"


def multipart_body(pairs: dict[str, str], boundary: str = "xyz") -> bytes:
    """Return the body that curl -F would send."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in pairs.items()
    ]
    return "".join([*parts, f"--{boundary}--\r\n"]).encode()


@given(st.dictionaries(NAMES, st.text().filter(lambda text: "--xyz" not in text), max_size=5))
@example({"q": "two\r\nlines\r\n", "target": ""})
def test_multipart_round_trip(pairs: dict[str, str]) -> None:
    assert parse_form(multipart_body(pairs), MULTIPART) == pairs


def test_accepted_variants() -> None:
    assert parse_form(b"q=a+b&q=c%20d&target=", FORM_TYPE) == {"q": "c d", "target": ""}
    assert parse_form(b"", FORM_TYPE) == parse_form(b"", "") == {}
    body = multipart_body({"q": "a"}, "a b")
    assert parse_form(body + b"after", f'{MULTIPART_TYPE}; charset=utf-8; Boundary="a b"') == {"q": "a"}
    typed = body.replace(b"\r\n\r\n", b"\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n", 1)
    assert parse_form(
        typed.replace(b"-Disposition: form-data", b"-disposition:form-data"), f'{MULTIPART_TYPE};boundary="a b"'
    ) == {"q": "a"}


INVALID = [
    (b"q=%ff", FORM_TYPE),
    (b"&".join([b"a=b"] * (MAX_FORM_FIELDS + 1)), FORM_TYPE),
    (b"", MULTIPART_TYPE),
    (b"", MULTIPART),
    (b"q=a", MULTIPART),
    (multipart_body({"q": "a"}, "other"), MULTIPART),
    (multipart_body({"q": "a"})[:-6], MULTIPART),
    (multipart_body({"q": "a"}).replace(b'name="q"', b""), MULTIPART),
    (multipart_body({"q": "a"}).replace(b'name="q"', b'name="q"; filename="a.txt"'), MULTIPART),
    (multipart_body({"q": "a"}).replace(b"\r\n\r\na", b"\xff"), MULTIPART),
    (multipart_body({str(number): "a" for number in range(MAX_FORM_FIELDS + 1)}), MULTIPART),
]


@pytest.mark.parametrize(("body", "content_type"), INVALID)
def test_invalid_form_is_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_form(body, content_type)
    assert caught.value.status_code == 400


@given(
    st.lists(
        st.sampled_from(
            [b"--xyz", b"\r\n", b"--", b"Content-Disposition: form-data", b'; name="', b'"', b"a", b":", b"\xff"]
        )
    )
)
def test_random_body_is_parsed_or_refused(parts: list[bytes]) -> None:
    with suppress(ApiError):
        parse_form(b"".join(parts), MULTIPART)
