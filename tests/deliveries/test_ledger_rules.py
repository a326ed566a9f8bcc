"""The rules of a ledger, for whatever is done to it in whatever order."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import (
    BadDelivery,
    Entry,
    Held,
    after_claim,
    after_commit,
    after_release,
    held_by,
    key_of_held,
)
from airflow_landmark.markers import Interval
from claimants import HOSTILE_DATASETS, stamp_of

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
NOON = datetime(2024, 10, 2, 12, tzinfo=timezone.utc)
EMPTY = Entry("sales/orders", DAY)
RULES = {"claim": after_claim, "commit": after_commit, "release": after_release}


def held(version: int, identity: str = "a", owner: str = "alice") -> Held:
    """A version with the bytes of a letter."""
    return Held(version, identity * 64, owner, NOON, "/drop/_delivery.json")


def refusal(rule: str, entry: Entry, wanted: Held) -> str:
    """The kind of the refusal; empty when there is none."""
    try:
        RULES[rule](entry, wanted)
    except BadDelivery as error:
        return error.kind
    return ""


CLAIMED = Entry("sales/orders", DAY, claim=held(2))
TAKEN = Entry("sales/orders", DAY, taken=held(2))
BOTH = Entry("sales/orders", DAY, taken=held(2), claim=held(3, "c", "bob"))


@pytest.mark.parametrize(
    ("entry", "wanted", "kind"),
    [
        (EMPTY, held(1), ""),
        (CLAIMED, held(2), ""),
        (CLAIMED, held(2, owner="bob"), "already taken"),
        (CLAIMED, held(2, "b"), "reused version"),
        (CLAIMED, held(1), "older version"),
        (CLAIMED, held(3, "c", "bob"), ""),
        (TAKEN, held(2), ""),
        (TAKEN, held(2, owner="bob"), ""),
        (TAKEN, held(2, "b"), "reused version"),
        (TAKEN, held(1), "older version"),
        (TAKEN, held(3), ""),
        (BOTH, held(2), "older version"),
        (BOTH, held(2, "b"), "older version"),
        (BOTH, held(3, "c"), "already taken"),
    ],
)
def test_claim(entry: Entry, wanted: Held, kind: str) -> None:
    """Only what is not older, not other bytes and not another owner's is claimed."""
    assert refusal("claim", entry, wanted) == kind


@pytest.mark.parametrize(
    ("entry", "wanted", "kind"),
    [
        (EMPTY, held(1), "not claimed"),
        (CLAIMED, held(2), ""),
        (CLAIMED, held(2, owner="bob"), "not claimed"),
        (CLAIMED, held(2, "b"), "reused version"),
        (CLAIMED, held(1), "older version"),
        (CLAIMED, held(3), "not claimed"),
        (TAKEN, held(2, owner="bob"), ""),
        (TAKEN, held(2, "b"), "reused version"),
        (TAKEN, held(1), "older version"),
        (BOTH, held(2), ""),
        (BOTH, held(2, "b"), "older version"),
        (BOTH, held(3, "c"), "not claimed"),
    ],
)
def test_commit(entry: Entry, wanted: Held, kind: str) -> None:
    """Only the owner of the claim commits; what was taken may be committed again by whoever did."""
    assert refusal("commit", entry, wanted) == kind


def test_refusal_says_all() -> None:
    """A refusal names dataset, interval, both versions, who holds it since when, and what to do."""
    with pytest.raises(BadDelivery) as caught:
        after_claim(BOTH, held(1, owner="carol"))
    assert caught.value.text == (
        f"version 1 of sales/orders for {DAY} is older than version 2, taken by alice at "
        "2024-10-02T12:00:00Z: only a version above that can follow"
    )
    with pytest.raises(BadDelivery) as caught:
        after_claim(BOTH, held(3, "c", "carol"))
    assert caught.value.text == (
        f"version 3 of sales/orders for {DAY} was claimed by bob at 2024-10-02T12:00:00Z, so carol cannot "
        "claim it: if that one will never commit, run: "
        f"landmark ledger release --ledger URL --dataset sales/orders --interval {DAY} --owner bob"
    )


def test_command_can_be_pasted() -> None:
    """The command that a refusal recommends gives that claim back, whatever its owner is called."""
    owner = "dag/it's; rm -rf $HOME `x`/wait/-1"
    for rule, wanted in (("claim", held(2)), ("claim", held(1)), ("commit", held(1))):
        with pytest.raises(BadDelivery) as caught:
            RULES[rule](Entry("sales/orders", DAY, claim=held(2, owner=owner)), wanted)
        words = shlex.split(caught.value.text.rpartition("run: ")[2])
        assert words[:3] == ["landmark", "ledger", "release"]
        options = dict(zip(words[3::2], words[4::2], strict=True))
        named = {"--dataset": "sales/orders", "--interval": str(DAY), "--owner": owner}
        assert options == {"--ledger": "URL", **named}


steps = st.lists(
    st.tuples(
        st.sampled_from(["claim", "commit", "release"]),
        st.integers(1, 4),
        st.sampled_from("ab"),
        st.sampled_from(["alice", "bob", "carol"]),
    ),
    max_size=25,
)


def do(entry: Entry, step: tuple[str, int, str, str], at: datetime = NOON) -> Entry:
    """The entry after a step; as it was, when that is refused."""
    rule, version, letter, owner = step
    try:
        return RULES[rule](entry, Held(version, letter * 64, owner, at, ""))
    except BadDelivery:
        return entry


@given(steps)
def test_taken_version_never_falls(history: list[Any]) -> None:
    """Whatever is done: what was taken is only ever replaced by something higher, or by itself."""
    entry = EMPTY
    for step in history:
        before, entry = entry, do(entry, step)
        if before.taken:
            assert entry.taken
            assert entry.taken.version > before.taken.version or entry.taken.same_as(before.taken)


@given(steps)
def test_only_a_claimant_commits(history: list[Any]) -> None:
    """What becomes taken is what the same owner held as a claim, with the same bytes."""
    entry = EMPTY
    for step in history:
        before, entry = entry, do(entry, step)
        if entry.taken != before.taken:
            assert entry.taken
            assert before.claim
            assert entry.taken.same_as(before.claim)
            assert (entry.taken.owner, step[0]) == (before.claim.owner, "commit")


@given(steps)
def test_repeating_changes_nothing(history: list[Any]) -> None:
    """A call that is repeated later, as after an answer that was lost, changes nothing."""
    entry = EMPTY
    for step in history:
        entry = do(entry, step)
        assert do(entry, step, NOON + timedelta(hours=1)) is entry


@given(steps)
def test_one_holder_at_a_time(history: list[Any]) -> None:
    """Of all who were granted a claim, at most one could commit now; no claim is below what is taken."""
    entry, granted = EMPTY, set[tuple[int, str, str]]()
    for step in history:
        rule, version, letter, owner = step
        if rule == "claim" and not refusal("claim", entry, held(version, letter, owner)):
            granted.add((version, letter, owner))
        entry = do(entry, step)
        able = {one for one in granted if after_or_same(entry, held(*one)) is not entry}
        assert len(able) <= 1
        if entry.claim and entry.taken:
            assert entry.claim.version >= entry.taken.version


def after_or_same(entry: Entry, wanted: Held) -> Entry:
    """The entry after a commit; the same one when that is refused."""
    try:
        return after_commit(entry, wanted)
    except BadDelivery:
        return entry


@given(steps)
def test_refused_changes_nothing_for_the_holder(history: list[Any]) -> None:
    """A claim is lost by its owner's own release or commit, or to a higher version; never to an equal one."""
    entry = EMPTY
    for step in history:
        before, entry = entry, do(entry, step)
        if before.claim and entry.claim != before.claim:
            own = step[3] == before.claim.owner and step[0] in ("commit", "release")
            higher = entry.claim is not None and entry.claim.version > before.claim.version
            assert own or higher


@given(st.text(max_size=3000))
def test_any_address_can_be_held(name: str) -> None:
    """Whatever an object's name holds, what is kept of it is short and printable."""
    kept = held_by(replace(stamp_of(), uri=f"s3://drop/{name}"), "alice", at=NOON).uri
    assert len(kept) <= 2048
    assert kept.isprintable()


@pytest.mark.parametrize("dataset", HOSTILE_DATASETS)
def test_dataset_is_a_name(dataset: Any) -> None:
    """A dataset that no marker could name is refused: not every backend could keep it, or show it."""
    with pytest.raises(ValueError, match="dataset must be 1 to 200 of"):
        held_by(replace(stamp_of(), dataset=dataset), "alice", at=NOON)
    with pytest.raises(ValueError, match="dataset must be 1 to 200 of"):
        key_of_held("taken", dataset, DAY)


@pytest.mark.parametrize("owner", ["", "a\nb", "a\x00", "a\ud800", "x" * 1025])
def test_owner_is_a_short_text(owner: str) -> None:
    """An owner that a database could not keep, or a terminal not show, is refused."""
    with pytest.raises(ValueError, match="owner"):
        held_by(stamp_of(), owner, at=NOON)


@pytest.mark.parametrize(
    "changes",
    [{"version": 0}, {"version": True}, {"version": 2**53}, {"identity": "A" * 64}, {"identity": ""},
     {"at": NOON.replace(tzinfo=None)}, {"at": "now"}, {"uri": "a\x1b[2J"}],
)  # fmt: skip
def test_held_is_checked(changes: dict[str, Any]) -> None:
    """What is read from a ledger is never taken as it is."""
    good = {"version": 1, "identity": "a" * 64, "owner": "alice", "at": NOON, "uri": ""}
    assert Held(**good)
    with pytest.raises(ValueError, match=next(iter(changes))):
        Held(**(good | changes))
