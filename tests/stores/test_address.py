"""What names a place, and what is refused without giving a secret away."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.markers import DEFAULT_NAME, UnsafePath
from airflow_landmark.stores import Address, InvalidAddress, StoreError, parse_uri, schemes


@pytest.mark.parametrize(
    ("uri", "folder", "name"),
    [
        ("/data/in/_delivery.json", "/data/in", "_delivery.json"),
        ("/data/in/", "/data/in", DEFAULT_NAME),
        ("/", "/", DEFAULT_NAME),
        ("/m.json", "/", "m.json"),
        ("//data///in//m.json", "/data/in", "m.json"),
        ("file:///data/m.json", "/data", "m.json"),
        ("FILE:///data/m.json", "/data", "m.json"),
        ("file:/data/m.json", "/data", "m.json"),
        ("file://localhost/data/", "/data", DEFAULT_NAME),
    ],
)
def test_a_path_or_file_uri_names_folder_and_marker(uri: str, folder: str, name: str) -> None:
    """An absolute path and a file URI name a folder and a marker in it; a trailing slash the default one."""
    assert parse_uri(uri) == Address("file", "", folder, name)


@pytest.mark.parametrize(
    "name", ["part[1].json", "a*b.json", "a?b.json", "50%.json", "a%20b.json", "a+b.json", "ü.json"]
)
def test_a_path_is_literal(name: str) -> None:
    """In a plain path no character means anything but itself."""
    assert parse_uri(f"/data/{name}").name == name
    assert parse_uri(f"/data/{name}").uri == f"/data/{name}"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///data/a%20b.json", "/data/a b.json"),
        ("file:///data/50%25.json", "/data/50%.json"),
        ("file:///data/%C3%BC.json", "/data/ü.json"),
        ("file:///data/a%3Fb%23c.json", "/data/a?b#c.json"),
        ("file:///data/a+b.json", "/data/a+b.json"),
        ("file:///data/a%2520b.json", "/data/a%20b.json"),
    ],
)
def test_a_file_uri_is_percent_decoded_once(uri: str, path: str) -> None:
    """A file URI is decoded once, and a plus is a plus."""
    assert parse_uri(uri).uri == path


@pytest.mark.parametrize("uri", ["/data/in", "/data/in/", "file:///data/in", "//data//in//"])
def test_a_folder_keeps_no_name(uri: str) -> None:
    """Asked for a folder, the last part belongs to it, with or without a trailing slash."""
    assert parse_uri(uri, folder=True) == Address("file", "", "/data/in", "")


@pytest.mark.parametrize(
    "uri",
    [
        "", "in/m.json", "./m.json", "~/m.json", "C:\\in\\m.json", "\\\\host\\share\\m.json",
        "/in/../m.json", "/in/./m.json", "/..", "file:///in/..%2Fm.json", "file:m.json", "file://host/m.json",
        "file://[host/m.json", "file://\u2100/m.json", "file:///m.json?x=1", "file:///m.json#x", "file:///%ff.json",
        "file:///a%00b", "file:///a%0Ab/m.json", "/in/a\nb.json", "/in\x00/m.json", "/in\ud800/m.json",
        "file:///\ud800", "/in/a\u2028.json", "/in/a\\b.json", "ftp://host/m.json", "s3://b/m.json",
        "x" * 10_000 + ":/m.json", "/in/" + "n" * 256, None, 7, b"/in/m.json", ["/in/m.json"],
    ],
)  # fmt: skip
def test_what_names_no_place_is_refused(uri: object) -> None:
    """Relative, dotted, hosted, foreign and unprintable places are refused in one bounded printable line."""
    with pytest.raises(InvalidAddress) as caught:
        parse_uri(uri)  # type: ignore[arg-type]
    text = str(caught.value)
    assert text.isascii()
    assert text.isprintable()
    assert len(text) < 300


def test_an_unknown_scheme_is_told_what_is_known() -> None:
    """The refusal of a scheme names it and those that this release knows."""
    with pytest.raises(InvalidAddress, match=r"no store for ftp: .*absolute paths, file, http, https, s3"):
        parse_uri("ftp://host/m.json")
    assert schemes() == ["file", "http", "https", "s3"]


def test_a_refusal_is_lasting_and_a_value_error() -> None:
    """A place that cannot be named is trouble that waiting does not mend, and a ValueError to Dag authors."""
    with pytest.raises(ValueError, match="absolute") as caught:
        parse_uri("m.json")
    assert isinstance(caught.value, StoreError)


@pytest.mark.parametrize(
    "uri",
    [
        "https://user:SECRET@host/m.json",
        "https://user:SEC/RET@host/m.json",
        "https://user:SECRET@SECRET@host/m.json",
        "https://host/m.json?sig=SECRET",
        "https://host/m.json#SECRET",
        "https://user:x?SECRET@host/m.json",
        "https://host/m.json?sig=x@SECRET",
        "https://user:SECRET@host/m.json\n",
        "https://user:SECRET@host/\ud800",
        "file://user:SECRET@host/m.json",
        "file:///m.json?sig=SECRET",
        "file:///%ff?SECRET",
        "file://localhost/a/../b?sig=SECRET",
        "s3://AKIA:SECRET@bucket/m.json",
    ],
)
def test_a_refusal_keeps_secrets(uri: str) -> None:
    """User, password and query of a URI stand in no refusal."""
    with pytest.raises(InvalidAddress) as caught:
        parse_uri(uri)
    assert "SEC" not in str(caught.value)
    assert "RET" not in str(caught.value)


@given(
    st.text(max_size=60) | st.text(alphabet="/.%aA0:?#@[]\\ \n\ud800é", max_size=40).map("file://".__add__)
)
def test_any_text_is_a_place_or_refused(text: str) -> None:
    """Whatever the text: an address that stays in its folder, or one kind of error."""
    try:
        address = parse_uri(text)
    except InvalidAddress as error:
        assert str(error).isascii()
        return
    assert address.folder.startswith("/")
    assert posixpath.normpath(address.uri) == address.uri
    assert address.uri.encode()


@given(
    st.lists(st.text(alphabet="ab[]*?% +.~é:-", min_size=1, max_size=8), min_size=1, max_size=4).map("/".join)
)
def test_an_address_reads_back_from_its_own_uri(path: str) -> None:
    """What an address is shown as names the same address."""
    try:
        address = parse_uri(f"/{path}")
    except InvalidAddress:
        return
    assert parse_uri(address.uri) == address


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "C:\\x", "\\\\h\\s", "a\x00b", "a//b", "a/", ""]
)
def test_a_neighbour_never_leaves_the_folder(name: str) -> None:
    """A name from a manifest that could leave the folder makes no address."""
    with pytest.raises(UnsafePath):
        parse_uri("/data/in/").at(name)


def test_a_neighbour_is_taken_verbatim() -> None:
    """Blanks, plus and percent signs of a manifest's path are kept as they are."""
    here = parse_uri("/data/in/")
    assert here.at("day 1/a+b%20c.csv").uri == "/data/in/day 1/a+b%20c.csv"
    assert here.at("x.csv ") != here.at("x.csv")
