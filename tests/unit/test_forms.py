"""Forms, as browsers and curl write them, and as nobody should."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.serve.forms import FIELDS, FORM, PARTS, pairs_in
from weft.serve.refusal import RefusedError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\n'), min_size=1)
KIND = f"{PARTS}; boundary=xyz"


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
    assert pairs_in(in_parts(pairs), KIND) == pairs


def test_other_ways_to_write_it() -> None:
    assert pairs_in(b"q=a+b&q=c%20d&target=", FORM) == {"q": "c d", "target": ""}
    assert pairs_in(b"", FORM) == pairs_in(b"", "") == {}
    body = in_parts({"q": "a"}, "a b")
    assert pairs_in(b"before\r\n" + body + b"after", f'{PARTS}; charset=utf-8; Boundary="a b"') == {"q": "a"}
    typed = body.replace(b"\r\n\r\n", b"\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n", 1)
    assert pairs_in(
        typed.replace(b"-Disposition: form-data", b"-disposition:form-data"), f'{PARTS};boundary="a b"'
    ) == {"q": "a"}


WRONG = [
    (b"q=%ff", FORM),
    (b"&".join([b"a=b"] * (FIELDS + 1)), FORM),
    (b"", PARTS),
    (b"", KIND),
    (b"q=a", KIND),
    (in_parts({"q": "a"}, "other"), KIND),
    (in_parts({"q": "a"})[:-6], KIND),
    (in_parts({"q": "a"}).replace(b'name="q"', b""), KIND),
    (in_parts({"q": "a"}).replace(b'name="q"', b'name="q"; filename="a.txt"'), KIND),
    (in_parts({"q": "a"}).replace(b"form-data", b"attachment"), KIND),
    (in_parts({"q": "a"}).replace(b"\r\n\r\na", b"\xff"), KIND),
    (in_parts({str(number): "a" for number in range(FIELDS + 1)}), KIND),
]


@pytest.mark.parametrize(("body", "kind"), WRONG)
def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(RefusedError) as caught:
        pairs_in(body, kind)
    assert caught.value.status == 400


@given(
    st.lists(
        st.sampled_from(
            [b"--xyz", b"\r\n", b"--", b"Content-Disposition: form-data", b'; name="', b'"', b"a", b":", b"\xff"]
        )
    )
)
def test_whatever_comes_is_read_or_refused(parts: list[bytes]) -> None:
    with suppress(RefusedError):
        pairs_in(b"".join(parts), KIND)
