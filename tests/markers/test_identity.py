"""The identity of what was seen."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import identity_of_document, identity_of_documents, identity_of_listing

names = st.text(st.characters(), max_size=6)


def test_one_document() -> None:
    """One document's identity is the sha256 of its bytes, as every tool prints it."""
    assert identity_of_document(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_order_does_not_matter() -> None:
    """The order in which documents or names were found does not matter."""
    assert identity_of_documents({"a": b"1", "b": b"2"}) == identity_of_documents({"b": b"2", "a": b"1"})
    rows = [("a", 1, "x"), ("b", 2, "y")]
    assert identity_of_listing(rows) == identity_of_listing(reversed(rows))


@given(
    st.dictionaries(names, st.binary(max_size=4), max_size=4), st.dictionaries(names, st.binary(max_size=4))
)
@settings(max_examples=200, deadline=None)
def test_documents_differ(left: dict[str, bytes], right: dict[str, bytes]) -> None:
    """Identities are equal exactly when names and bytes are."""
    assert (identity_of_documents(left) == identity_of_documents(right)) is (left == right)


rows = st.lists(st.tuples(st.sampled_from(["a", "a\n", "a1", "1:a"]), st.integers(0, 11), names), max_size=3)


@given(rows, rows)
@settings(max_examples=200, deadline=None)
def test_listings_differ(left: list[tuple[str, int, str]], right: list[tuple[str, int, str]]) -> None:
    """Identities are equal exactly when the listings are, whatever the names imitate."""
    assert (identity_of_listing(left) == identity_of_listing(right)) is (sorted(left) == sorted(right))


def test_no_imitation() -> None:
    """A digit that moves from one column into the next is seen, and so is a line break in a name."""
    assert identity_of_listing([("a", 1, "1x")]) != identity_of_listing([("a", 11, "x")])
    assert identity_of_listing([("a1", 1, "x")]) != identity_of_listing([("a", 11, "x")])
    assert identity_of_listing([("a", 1, "x\n1:b")]) != identity_of_listing([("a", 1, "x"), ("b", 1, "")])


def test_undecodable_names() -> None:
    """A name that is not UTF-8 on disk has an identity too."""
    assert identity_of_listing([("a\udcff", 1, "")]) != identity_of_listing([("a\udcfe", 1, "")])
