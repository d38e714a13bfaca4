"""Forms, as browsers and curl write them, and as nobody should."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.serve.dependencies import FORM_TYPE, MAX_FORM_FIELDS, MULTIPART_TYPE, parse_form
from weft.serve.http_errors import ApiError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\n'), min_size=1)
KIND = f"{MULTIPART_TYPE}; boundary=xyz"


def in_parts(pairs: dict[str, str], boundary: str = "xyz") -> bytes:
    """As curl -F writes it."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in pairs.items()
    ]
    return "".join([*parts, f"--{boundary}--\r\n"]).encode()


@given(st.dictionaries(NAMES, st.text().filter(lambda text: "--xyz" not in text), max_size=5))
@example({"q": "two\r\nlines\r\n", "target": ""})
def test_what_is_written_in_parts_is_read(pairs: dict[str, str]) -> None:
    assert parse_form(in_parts(pairs), KIND) == pairs


def test_other_ways_to_write_it() -> None:
    assert parse_form(b"q=a+b&q=c%20d&target=", FORM_TYPE) == {"q": "c d", "target": ""}
    assert parse_form(b"", FORM_TYPE) == parse_form(b"", "") == {}
    body = in_parts({"q": "a"}, "a b")
    assert parse_form(body + b"after", f'{MULTIPART_TYPE}; charset=utf-8; Boundary="a b"') == {"q": "a"}
    typed = body.replace(b"\r\n\r\n", b"\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n", 1)
    assert parse_form(
        typed.replace(b"-Disposition: form-data", b"-disposition:form-data"), f'{MULTIPART_TYPE};boundary="a b"'
    ) == {"q": "a"}


WRONG = [
    (b"q=%ff", FORM_TYPE),
    (b"&".join([b"a=b"] * (MAX_FORM_FIELDS + 1)), FORM_TYPE),
    (b"", MULTIPART_TYPE),
    (b"", KIND),
    (b"q=a", KIND),
    (in_parts({"q": "a"}, "other"), KIND),
    (in_parts({"q": "a"})[:-6], KIND),
    (in_parts({"q": "a"}).replace(b'name="q"', b""), KIND),
    (in_parts({"q": "a"}).replace(b'name="q"', b'name="q"; filename="a.txt"'), KIND),
    (in_parts({"q": "a"}).replace(b"\r\n\r\na", b"\xff"), KIND),
    (in_parts({str(number): "a" for number in range(MAX_FORM_FIELDS + 1)}), KIND),
]


@pytest.mark.parametrize(("body", "kind"), WRONG)
def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_form(body, kind)
    assert caught.value.status_code == 400


@given(
    st.lists(
        st.sampled_from(
            [b"--xyz", b"\r\n", b"--", b"Content-Disposition: form-data", b'; name="', b'"', b"a", b":", b"\xff"]
        )
    )
)
def test_whatever_comes_is_read_or_refused(parts: list[bytes]) -> None:
    with suppress(ApiError):
        parse_form(b"".join(parts), KIND)
