"""Shell patterns over relative paths."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.markers._glob import Glob, is_hidden


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.csv", "a.csv", True),
        ("*.csv", "a.csv.tmp", False),
        ("*.csv", "in/a.csv", False),
        ("*.CSV", "a.csv", False),
        ("part-[0-9].*", "part-7.parquet", True),
        ("part-[!0-9]", "part-x", True),
        ("a?b", "a b", True),
        ("*/*.csv", "in/a.csv", True),
        ("*/*.csv", "a.csv", False),
        ("**/*.csv", "a.csv", True),
        ("**/*.csv", "x/y/z/a.csv", True),
        ("**", "x/y/z", True),
        ("x/**", "x/y/z", True),
        ("x/**", "x", False),
        ("**/y/**/z", "a/y/z", True),
        ("**/y/**/z", "a/y/b/c/z", True),
        ("**/**/z", "z", True),
        ("**/y/**/z", "a/z", False),
        ("[ab].json", "[ab].json", False),
        ("a.c", "abc", False),
        ("*", ".a", False),
        ("*", "_a", False),
        ("_*", "_a", True),
        (".*", ".a", True),
        ("*", "_day=1", True),
        ("**/a", "_temporary/a", False),
        ("_temporary/**", "_temporary/0/a", True),
        ("*", "a._COPYING_", False),
        ("a*", "a._COPYING_", False),
    ],
)
def test_matches(pattern: str, path: str, *, matches: bool) -> None:
    """A star stays within its part, two stars stand for any folders, hidden names have to be meant."""
    assert Glob(pattern).matches(path) is matches


@pytest.mark.parametrize("pattern", ["", "/a", "a//b", "a/", "../a", "a/./b"])
def test_patterns_that_match_nothing(pattern: str) -> None:
    """A pattern that no relative path could match is refused."""
    with pytest.raises(ValueError, match="relative path"):
        Glob(pattern)


@given(st.text("ab*?[]!-", min_size=1, max_size=8), st.text("ab-", min_size=1, max_size=8))
def test_one_part_is_fnmatch(pattern: str, name: str) -> None:
    """Within one part the rules are those of fnmatch."""
    expected = True if pattern == "**" else fnmatch.fnmatchcase(name, pattern)
    assert Glob(pattern).matches(name) is expected


@given(st.lists(st.sampled_from(["**", "a", "*", "b"]), min_size=1, max_size=12))
def test_many_stars_end_soon(parts: list[str]) -> None:
    """However many double stars a pattern holds, matching takes a bounded number of steps."""
    path = "/".join(["a"] * 60 + ["c"])
    assert Glob("/".join([*parts, "b"])).matches(path) is False


@pytest.mark.parametrize(
    ("part", "hidden"),
    [
        ("a", False),
        ("_SUCCESS", True),
        (".crc", True),
        ("_d=1", False),
        (".d=1", True),
        ("x._COPYING_", True),
    ],
)
def test_hidden(part: str, *, hidden: bool) -> None:
    """Hidden is what Spark and Hadoop pass over."""
    assert is_hidden(part) is hidden
