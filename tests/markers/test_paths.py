"""Paths of manifests."""

from __future__ import annotations

import posixpath
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import MAX_PATH_BYTES, UnsafePath, check_path, path_key

pieces = st.sampled_from([".", "..", "a", "B c", "é", "/", "//", "\\", ":", "C:", "~", "%2e", "\0", " ", "…"])
paths = st.one_of(st.text(max_size=40), st.lists(pieces, max_size=12).map("".join))


@pytest.mark.parametrize(
    "path",
    [
        "x.csv",
        "x.csv ",
        " x.csv",
        "day 1/a+b%20c.csv",
        "day=2024-10-01/part[1]*.csv",
        ".hidden",
        "a/.hidden/..b/c..",
        "...",
        "~root/x",
        "%2e%2e/x",
        "Ünïcödé/文件.csv",
        "a" * 255,
        "/".join(["a" * 204] * 5),
        "b/http:/x",
    ],
)
def test_accepted_unchanged(path: str) -> None:
    """Blanks, plus, percent signs, brackets and leading dots are part of a name."""
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "it is empty"),
        ("../x", "it has a part that is . or .."),
        ("a/../../x", "it has a part that is . or .."),
        ("a/..", "it has a part that is . or .."),
        ("./x", "it has a part that is . or .."),
        (".", "it has a part that is . or .."),
        ("/etc/x", "it is absolute"),
        ("//host/x", "it is absolute"),
        ("a//x", "it has an empty part"),
        ("a/", "it ends with a slash"),
        ("C:\\x", "it holds a backslash"),
        ("\\\\h\\s", "it holds a backslash"),
        ("..\\x", "it holds a backslash"),
        ("C:x", "it starts with a drive or a scheme"),
        ("c:/x", "it starts with a drive or a scheme"),
        ("s3://bucket/x", "it starts with a drive or a scheme"),
        ("file:x", "it starts with a drive or a scheme"),
        ("a\0b", "it holds a control character"),
        ("a\nb", "it holds a control character"),
        ("x.csv\n", "it holds a control character"),
        ("a\x7fb", "it holds a control character"),
        ("a\x85b", "it holds a control character"),
        ("a\u2028b", "it holds a control character"),
        ("a\ud800b", "it holds a lone surrogate"),
        ("a" * 256, "it has a part longer than 255 bytes"),
        ("é" * 128, "it has a part longer than 255 bytes"),
        ("/".join(["a" * 205] * 5), f"it is longer than {MAX_PATH_BYTES} bytes"),
        ("é/" * 400 + "x", f"it is longer than {MAX_PATH_BYTES} bytes"),
    ],
)
def test_refused_with_its_reason(path: str, reason: str) -> None:
    """A path that could leave the folder, or is not the same everywhere, is refused by a named rule."""
    with pytest.raises(UnsafePath) as caught:
        check_path(path)
    assert (caught.value.path, caught.value.reason) == (path, reason)
    assert str(caught.value).isascii()


@given(paths)
@example("a/b")
@settings(max_examples=500, deadline=None)
def test_accepted_paths_stay_below(path: str) -> None:
    """An accepted path, joined to a folder and normalised, is unchanged and below that folder."""
    try:
        assert check_path(path) == path
    except UnsafePath:
        return
    joined = posixpath.join("/data/in", path)
    assert posixpath.normpath(joined) == joined
    assert joined.startswith("/data/in/")
    assert len(path.encode()) <= MAX_PATH_BYTES
    assert not set(path) & set("\\\0\n\r")


@given(st.text(st.characters(codec="ascii"), max_size=20).map(lambda text: text.replace("\\", "/")))
@settings(max_examples=300, deadline=None)
def test_shortcut_agrees(path: str) -> None:
    """The shortcut for plain paths accepts nothing that the rules refuse."""
    accepted = path and not any(part in ("", ".", "..") or not part.isprintable() for part in path.split("/"))
    if accepted and ":" not in path:
        assert check_path(path) == path
    if not accepted:
        with pytest.raises(UnsafePath):
            check_path(path)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("A/b.CSV", "a/B.csv"),
        ("caf\u00e9", "cafe\u0301"),
        ("CAF\u00c9", "cafe\u0301"),
        ("stra\u00dfe", "STRASSE"),
        ("\u212a", "k"),
        ("\u03c3", "\u03c2"),
    ],
)
def test_one_file_on_some_file_system(left: str, right: str) -> None:
    """Case and composition of characters do not tell files apart."""
    assert path_key(left) == path_key(right)


@pytest.mark.parametrize(("left", "right"), [("x.csv", "x.csv "), ("a+b", "a b"), ("a%20b", "a b")])
def test_different_files(left: str, right: str) -> None:
    """Blanks and percent signs do tell files apart."""
    assert path_key(left) != path_key(right)


@given(st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_key_disregards_composition(path: str) -> None:
    """The key is the same for every composition, and its own key."""
    key = path_key(path)
    assert key == path_key(unicodedata.normalize("NFD", path)) == path_key(unicodedata.normalize("NFC", path))
    assert path_key(key) == key
