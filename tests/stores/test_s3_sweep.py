"""Pages of listings that settle many keys, held against every bucket that chance makes up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.stores import Address, LastingTrouble, PassingTrouble, StoreError
from airflow_landmark.stores import _s3_sweep as sweep
from airflow_landmark.stores._s3_sweep import Sweeps, just_before

PLACE = Address("s3", "bucket", "", "m")


class Bucket:
    """A connection to a bucket that holds just keys.

    :param page: how many keys are on one page.
    :param open_to: prefixes that may be listed; ``None`` for all.
    """

    def __init__(self, keys: Collection[str], *, page: int = 1_000, open_to: Collection[str] | None = None):
        self.keys = sorted(keys, key=str.encode)
        self.page = page
        self.open_to = open_to
        self.pages: list[Mapping[str, Any]] = []
        self.trouble: StoreError | None = None
        self.order = 1

    async def call(
        self, operation: str, address: Address, parameters: Mapping[str, Any], *, accept: Collection[str]
    ) -> Mapping[str, Any]:
        """Answer as S3 does."""
        assert (operation, address.authority) == ("list_objects_v2", "bucket")
        self.pages.append(parameters)
        prefix, after = parameters["Prefix"], parameters["StartAfter"]
        if self.trouble is not None:
            raise self.trouble
        if self.open_to is not None and not any(prefix.startswith(start) for start in self.open_to):
            return {"ResponseMetadata": {"HTTPStatusCode": 403}, "Error": {"Code": "AccessDenied"}}
        found = [k for k in self.keys if k.encode() > after.encode() and k.startswith(prefix)]
        return {
            "ResponseMetadata": {"HTTPStatusCode": 200},
            "Contents": [{"Key": k, "Size": 1, "ETag": '"e"'} for k in found[: self.page]][:: self.order],
            "IsTruncated": len(found) > self.page,
            "NextContinuationToken": "more",
        }


def over(bucket: Bucket) -> Sweeps:
    """Sweeps over that bucket."""
    return Sweeps(bucket)  # type: ignore[arg-type]


WORDS = st.text(st.sampled_from("ab/.~-_ é￮𝄞"), min_size=1, max_size=6)


@given(
    there=st.sets(WORDS, max_size=60),
    wanted=st.sets(WORDS, min_size=1, max_size=40),
    also=st.sets(WORDS, max_size=40),
    page=st.integers(1, 12),
    rounds=st.integers(1, 3),
)
async def test_what_is_settled_is_true(
    there: set[str], wanted: set[str], also: set[str], page: int, rounds: int
) -> None:
    """Whatever lies in the bucket: no present key is told absent, no absent one present."""
    bucket = Bucket(there, page=page)
    sweeps = over(bucket)
    for _ in range(rounds):
        swept = await sweeps.sweep(PLACE, wanted, also - wanted)
        assert swept.trouble is None
        assert set(swept.settled) <= wanted | also
        assert {
            key for key, told in swept.settled.items() if told is not None
        } == swept.settled.keys() & there


@given(WORDS, WORDS)
def test_just_before_is_before(key: str, other: str) -> None:
    """A page that starts there has the key on it, and nothing that the key's own text stands before."""
    before = just_before(key)
    assert before.encode() < key.encode()
    assert len(before.encode()) <= max(len(key.encode()), 1_024)
    if before.encode() < other.encode() < key.encode():
        assert other.startswith(key[:-1])


@pytest.mark.parametrize("key", ["\ue000", "!", " ", "a\ue000", "é" * 512, "x" * 1_024])
def test_just_before_odd_keys(key: str) -> None:
    """It is a text that can be sent: no surrogate, no control character, not too long."""
    before = just_before(key)
    assert before.encode() < key.encode()
    assert len(before.encode()) <= 1_024
    assert before.isprintable()


async def test_5000_absent_keys_are_one_page() -> None:
    """What is not there takes no room in a listing."""
    bucket = Bucket(["x/other"])
    wanted = {f"x/{n:05}/m" for n in range(5_000)}
    swept = await over(bucket).sweep(PLACE, wanted)
    assert swept.settled.keys() == wanted
    assert len(bucket.pages) == 1
    assert bucket.pages[0]["Prefix"] == "x/0"


async def test_5000_present_keys_are_five_pages() -> None:
    """Each page tells of a thousand keys."""
    wanted = {f"x/{n:05}/m" for n in range(5_000)}
    bucket = Bucket(wanted)
    swept = await over(bucket).sweep(PLACE, wanted)
    assert all(told is not None and told.facts.size == 1 for told in swept.settled.values())
    assert len(swept.settled) == 5_000
    assert len(bucket.pages) == 5


async def test_a_few_keys_among_a_million_are_left_to_single_requests() -> None:
    """Three waits never list."""
    bucket = Bucket([])
    swept = await over(bucket).sweep(PLACE, {"x/1", "x/2", "x/3"})
    assert not swept.settled
    assert not bucket.pages


async def test_what_lies_between_wanted_keys_is_skipped() -> None:
    """Old objects between two groups of wanted keys are not read through."""
    old = {f"b/{n:06}" for n in range(20_000)}
    wanted = {f"{folder}/{n}" for folder in "ac" for n in range(20)}
    bucket = Bucket(old | wanted)
    swept = await over(bucket).sweep(PLACE, wanted)
    assert len(swept.settled) == 40
    assert len(bucket.pages) == 2


async def test_sparse_keys_are_learnt() -> None:
    """Pages that settle too little are few, and not tried again for many rounds."""
    old = {f"x/{n:03}/{m:04}" for n in range(20) for m in range(2_000)}
    bucket = Bucket(old)
    wanted = {f"x/{n:03}/0000-m" for n in range(20)}
    sweeps = over(bucket)
    for _ in range(sweep._ROUNDS - 1):
        await sweeps.sweep(PLACE, wanted)
    assert len(bucket.pages) == 2
    for _ in range(sweep._ROUNDS):
        await sweeps.sweep(PLACE, wanted)
    assert len(bucket.pages) == 4


async def test_sparse_keys_hide_no_dense_ones() -> None:
    """What does not pay in one folder keeps no page from another."""
    old = {f"a/{n:03}/{m:03}" for n in range(300) for m in range(110)}
    sparse = {f"a/{n:03}/000-m" for n in range(300)}
    dense = {f"z/{n:03}/m" for n in range(500)}
    bucket = Bucket(old, page=100)
    sweeps, rounds = over(bucket), 0
    while not (settled := (await sweeps.sweep(PLACE, sparse | dense)).settled.keys() & dense):
        rounds += 1
    assert len(settled) > 400
    assert rounds <= 5
    assert len(bucket.pages) <= 30


async def test_neighbours_are_told_of_at_no_cost() -> None:
    """Keys that are due soon are settled by pages that are read anyway, and make a page worth while."""
    bucket = Bucket([f"x/{n:03}/m" for n in range(0, 100, 2)])
    swept = await over(bucket).sweep(PLACE, {"x/000/m"}, {f"x/{n:03}/m" for n in range(1, 100)})
    assert len(swept.settled) == 100
    assert len(bucket.pages) == 1


async def test_neighbours_before_the_wanted_key_are_no_reason_to_ask() -> None:
    """A page starts at a wanted key: what comes before it cannot make the page worth while."""
    bucket = Bucket([])
    swept = await over(bucket).sweep(PLACE, {"x/999"}, {f"x/{n:03}" for n in range(900)})
    assert not swept.settled
    assert not bucket.pages


async def test_neighbours_alone_are_no_reason_to_ask() -> None:
    """Without a wanted key that is left there is no request."""
    bucket = Bucket([])
    swept = await over(bucket).sweep(PLACE, set(), {f"x/{n}" for n in range(100)})
    assert not swept.settled
    assert not bucket.pages


async def test_a_listing_that_is_refused_is_not_asked_for_again_soon() -> None:
    """Who may not list asks singly, and tries a few listings once in a long while."""
    bucket = Bucket([], open_to=[])
    wanted = {f"x/y/{n % 10}/{n}" for n in range(200)}
    sweeps = over(bucket)
    for _ in range(20):
        assert not (await sweeps.sweep(PLACE, wanted)).settled
    assert len(bucket.pages) <= 15


async def test_a_prefix_that_may_be_listed_is_found() -> None:
    """A user who may list two folders only has two listings, not hundreds of requests."""
    bucket = Bucket([], open_to=["teams/a/", "teams/b/"])
    wanted = {f"teams/{team}/{n}" for team in "ab" for n in range(100)}
    sweeps = over(bucket)
    swept = await sweeps.sweep(PLACE, wanted)
    assert swept.settled.keys() == wanted
    assert [page["Prefix"] for page in bucket.pages] == ["teams/", "teams/a/", "teams/b/"]
    await sweeps.sweep(PLACE, wanted)
    assert len(bucket.pages) == 5


async def test_a_busy_store_is_left_alone() -> None:
    """After one refusal for load nothing more is asked, and the trouble is handed on."""
    bucket = Bucket([])
    bucket.trouble = PassingTrouble("s3://bucket/", "busy", retry_after=7.0)
    swept = await over(bucket).sweep(PLACE, {f"x/{n}" for n in range(5_000)})
    assert swept.trouble is bucket.trouble
    assert len(bucket.pages) == 1


async def test_lasting_trouble_with_a_listing_is_left_to_single_requests() -> None:
    """A server that knows no such listing may still have objects."""
    bucket = Bucket([])
    bucket.trouble = LastingTrouble("s3://bucket/", "no such operation")
    sweeps = over(bucket)
    for _ in range(5):
        swept = await sweeps.sweep(PLACE, {f"x/{n}" for n in range(100)})
        assert not swept.settled
        assert swept.trouble is None
    assert len(bucket.pages) <= 5


async def test_an_unordered_listing_proves_no_absence() -> None:
    """Where a server lists in another order, or other keys than asked for, nothing is told absent."""
    keys = {f"x/{n}" for n in range(100)}
    bucket = Bucket(keys)
    bucket.order = -1
    sweeps = over(bucket)
    for _ in range(3):
        assert not (await sweeps.sweep(PLACE, keys)).settled
    assert len(bucket.pages) == 1


async def test_directory_buckets_are_never_listed() -> None:
    """Their listings are in no order."""
    bucket = Bucket([])
    place = Address("s3", "name--usw2-az1--x-s3", "", "m")
    assert not (await over(bucket).sweep(place, {f"x/{n}" for n in range(100)})).settled
    assert not bucket.pages


async def test_what_is_learnt_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many buckets and many keys do not fill the memory."""
    monkeypatch.setattr(sweep, "_MAX_BUCKETS", 3)
    monkeypatch.setattr(sweep, "_MAX_REMEMBERED", 10)
    sweeps = over(Bucket([]))
    for number in range(10):
        await sweeps.sweep(Address("s3", f"b{number}", "", "m"), set())
    assert len(sweeps._learned) == 3
    learned = sweep._Learned()
    learned.note_sparse([f"{n}" for n in range(8)])
    learned.note_sparse([f"x{n}" for n in range(8)])
    assert list(learned.sparse) == [*(f"{n}" for n in range(6, 8)), *(f"x{n}" for n in range(8))]
