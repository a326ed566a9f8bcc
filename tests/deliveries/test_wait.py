"""One wait, from its first look to its one outcome."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_landmark.deliveries import LASTING_LOOKS, UNREADABLE_LOOKS, Outcome, wait
from airflow_landmark.markers import Interval, Taken, identity_of_document
from airflow_landmark.stores import LastingTrouble, PassingTrouble, Refused

URI = "/in/_delivery.json"
Make = Callable[..., Any]


@pytest.fixture
def follow(fake: Any, clock: Any, started: Any, make_terms: Make) -> Callable[..., Any]:
    """Return a function that waits over scripted looks and tells the outcome once time has passed."""

    async def run(looks: list[Any], seconds: float = 1000.0, **terms: Any) -> Outcome | None:
        fake.script[URI] = deque(looks)
        task = started.add(wait(make_terms(**terms), clock=clock, tell=started.told.append))
        await clock.advance(seconds)
        return task.result() if task.done() else None

    return run


async def test_a_marker_that_lies_there_arrives_at_the_first_look(follow: Any, make_marker: Make) -> None:
    """What lies there is taken at once, with its stamp and one look."""
    data = make_marker(3, files={"a": b"xyz", "b": b""})
    outcome = await follow([data], seconds=1)
    assert (outcome.kind, outcome.word) == ("arrived", "arrived")
    stamp = outcome.stamp
    assert (stamp.uri, stamp.version, stamp.files, stamp.size_bytes, stamp.rows) == (URI, 3, 2, 3, None)
    assert (stamp.sha256, stamp.size) == (identity_of_document(data), len(data))
    assert outcome.looks.seen == {"arrived": 1}


async def test_absent_half_written_empty_then_good(follow: Any, fake: Any, make_marker: Make) -> None:
    """A marker that is caught half written or empty is waited for, and no error is made of it."""
    outcome = await follow([None, b'{"interval": {"sta', b"", make_marker()])
    assert outcome.kind == "arrived"
    assert outcome.looks.count == 4
    assert outcome.looks.seen == {"absent": 1, "unreadable": 2, "arrived": 1}
    assert len(fake.looks) == 4


async def test_bytes_that_stay_unreadable_fail(follow: Any) -> None:
    """After so many looks at the same unreadable bytes the wait fails, with place and size but no content."""
    outcome = await follow([b'{"password": "SECRET"\n "x"'] * 50)
    assert (outcome.kind, outcome.word) == ("failed", "unreadable")
    assert outcome.looks.count == UNREADABLE_LOOKS
    assert outcome.looks.seen == {"unreadable": UNREADABLE_LOOKS}
    assert "26 bytes" in outcome.text
    assert "line 2" in outcome.text
    assert "SECRET" not in outcome.text


async def test_unreadable_bytes_that_change_start_anew(follow: Any, make_marker: Make) -> None:
    """Somebody who is still writing is given time, however long it takes."""
    looks = [b"{" + b" " * (n // 5) for n in range(100)]
    outcome = await follow([*looks, make_marker()], seconds=2000, unreadable_looks=6)
    assert outcome.kind == "arrived"
    assert outcome.looks.count == 101


async def test_a_joining_wait_counts_its_own_looks(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """A wait that joins others at an unreadable marker gives it as many looks as the first one did."""
    fake.files[URI] = b"{"
    first = started.add(wait(make_terms(), clock=clock))
    await clock.advance(60)
    second = started.add(wait(make_terms(), clock=clock))
    await clock.advance(300)
    assert first.result().looks.count == second.result().looks.count == UNREADABLE_LOOKS


async def test_a_left_over_marker_is_told_once(follow: Any, started: Any, make_marker: Make) -> None:
    """Yesterday's marker is waited past, with one line that names both intervals."""
    yesterday = Interval.parse("2024-09-30T00:00:00Z/2024-10-01T00:00:00Z")
    outcome = await follow([make_marker(interval=yesterday)] * 90 + [make_marker()], seconds=2000)
    assert outcome.kind == "arrived"
    assert outcome.looks.seen == {"other interval": 90, "arrived": 1}
    assert len(started.told) == 2
    assert "2024-09-30T00:00:00Z/2024-10-01T00:00:00Z" in started.told[0]
    assert "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z" in started.told[0]


async def test_nothing_is_told_while_nothing_changes(follow: Any, started: Any, make_marker: Make) -> None:
    """Six hours of absence are one line; every change after it is one more."""
    outcome = await follow([], seconds=6 * 3600.0, poll_interval=20.0)
    assert outcome is None
    assert len(started.told) == 1


@pytest.mark.parametrize(("what", "word"), [("interval", "other interval"), ("dataset", "other dataset")])
async def test_a_mismatch_may_fail(follow: Any, make_marker: Make, what: str, word: str) -> None:
    """``on_mismatch="fail"`` ends the wait at another dataset or interval."""
    other = {"interval": Interval.parse("2024-09-30T00:00:00Z/2024-10-01T00:00:00Z"), "dataset": "other"}
    outcome = await follow([None, make_marker(**{what: other[what]})], on_mismatch="fail")
    assert (outcome.kind, outcome.word, outcome.looks.count) == ("failed", word, 2)


async def test_a_withdrawn_version_is_waited_past(follow: Any, make_marker: Make) -> None:
    """A recall is waited past until a higher version comes."""
    outcome = await follow([make_marker(1, status="withdrawn")] * 3 + [make_marker(2)])
    assert outcome.stamp.version == 2
    assert outcome.looks.seen == {"withdrawn": 3, "arrived": 1}


async def test_versions_are_numbers(follow: Any, make_marker: Make) -> None:
    """Version 9 is older than 10."""
    outcome = await follow([make_marker(9), make_marker(10)], min_version=10)
    assert outcome.stamp.version == 10
    assert outcome.looks.seen == {"older version": 1, "arrived": 1}


@pytest.mark.parametrize(
    ("on_taken", "kind"), [("accept", "arrived"), ("skip", "arrived"), ("fail", "failed")]
)
async def test_what_was_taken_before(follow: Any, make_marker: Make, on_taken: str, kind: str) -> None:
    """The very delivery that was taken before is handed on or fails, as the terms say."""
    data = make_marker(2)
    taken = Taken(2, identity_of_document(data))
    outcome = await follow([data], taken=taken, on_taken=on_taken)
    assert (outcome.kind, outcome.word) == (kind, "already taken")


async def test_a_reused_version_fails(follow: Any, make_marker: Make) -> None:
    """Other bytes under a version that was taken before are a conflict, at the first look."""
    outcome = await follow([make_marker(2)], taken=Taken(2, "00" * 32))
    assert (outcome.kind, outcome.word, outcome.looks.count) == ("failed", "reused version", 1)


async def test_older_than_taken_is_waited_past(follow: Any, make_marker: Make) -> None:
    """What is older than what was taken is not news."""
    outcome = await follow([make_marker(2), make_marker(4)], taken=Taken(3, "00" * 32))
    assert outcome.stamp.version == 4


async def test_a_lasting_refusal_fails_after_some_looks(follow: Any, fake: Any) -> None:
    """Missing rights fail the wait after a bounded number of looks in a row, as a matter of access."""
    outcome = await follow([LastingTrouble(URI, "permission denied")] * 99, seconds=10_000)
    assert (outcome.kind, outcome.word) == ("failed", "access")
    assert outcome.looks.count == LASTING_LOOKS
    assert "permission denied" in outcome.text


async def test_a_refusal_that_goes_away_is_forgotten(follow: Any, make_marker: Make) -> None:
    """Refusals count only in a row."""
    refused = [LastingTrouble(URI, "permission denied")] * (LASTING_LOOKS - 1)
    outcome = await follow([*refused, None, *refused, make_marker()], seconds=10_000)
    assert outcome.kind == "arrived"


async def test_a_link_in_place_of_the_marker_fails(follow: Any) -> None:
    """What is never opened is a lasting refusal."""
    outcome = await follow([Refused(URI, "a symbolic link")] * 99, seconds=10_000)
    assert (outcome.kind, outcome.word) == ("failed", "access")


async def test_the_deadline_tells_what_was_seen(follow: Any, make_marker: Make) -> None:
    """At the deadline the outcome says what the looks found, and when."""
    old = make_marker(1)
    outcome = await follow(
        [None, old, old, PassingTrouble(URI, "slow down")] + [old] * 99, min_version=2, within=95.0
    )
    assert outcome.kind == "deadline"
    assert outcome.word == "older version"
    assert outcome.stamp is None
    assert sum(outcome.looks.seen.values()) == outcome.looks.count
    assert outcome.looks.seen["absent"] == 1
    assert outcome.looks.seen["trouble"] == 1
    assert "version 2 or higher" in outcome.looks.last
    assert timedelta(seconds=80) < outcome.looks.last_at - outcome.looks.first_at <= timedelta(seconds=97)


@pytest.mark.parametrize("within", [-86_400.0, 0.0, 0.05])
async def test_the_first_look_comes_before_any_deadline(
    follow: Any, make_marker: Make, within: float
) -> None:
    """A marker that lies there is taken however late the wait begins."""
    assert (await follow([make_marker()], within=within)).kind == "arrived"


async def test_after_the_deadline_one_look_is_made(follow: Any, fake: Any) -> None:
    """A wait that begins too late looks once and ends."""
    outcome = await follow([], within=-10.0, seconds=5)
    assert (outcome.kind, outcome.looks.count, outcome.word) == ("deadline", 1, "absent")
    assert len(fake.looks) == 1


async def test_a_last_look_is_made_at_the_deadline(
    follow: Any, fake: Any, clock: Any, make_marker: Make
) -> None:
    """What came between the last poll and the deadline came in time."""
    outcome = await follow([None, make_marker()], poll_interval=600.0, within=400.0)
    assert outcome.kind == "arrived"
    assert fake.looks_at(URI)[1] == pytest.approx(1400, abs=0.5)


async def test_no_last_look_right_after_a_look(follow: Any, fake: Any) -> None:
    """When the last poll was a moment ago, the deadline makes no other."""
    outcome = await follow([], poll_interval=600.0, within=200.0)
    assert outcome.kind == "deadline"
    assert len(fake.looks) == 1


async def test_a_first_look_that_hangs_ends_with_the_deadline(follow: Any, fake: Any, clock: Any) -> None:
    """A store that never answers ends the wait a bounded time after its deadline, and the text says so."""
    outcome = await follow([1e9], within=30.0, seconds=100)
    assert outcome.kind == "deadline"
    assert outcome.looks.count == 0
    assert outcome.looks.last == "no look was made"


async def test_a_later_look_that_hangs_ends_with_the_deadline(follow: Any) -> None:
    """A look that hangs does not keep a wait beyond its deadline for long."""
    outcome = await follow([None, 1e9], within=30.0, seconds=100)
    assert outcome.kind == "deadline"
    assert outcome.looks.seen == {"absent": 1}


async def test_a_clock_that_is_set_moves_the_deadline(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """Setting the clock forth reaches the deadline within minutes, setting it back defers it."""
    early = started.add(wait(make_terms(within=7200.0), clock=clock))
    await clock.advance(60)
    clock.jump = 7200.0
    await clock.advance(310)
    assert early.result().kind == "deadline"
    clock.jump = -7200.0
    late = started.add(wait(make_terms(within=600.0), clock=clock))
    await clock.advance(7000)
    assert not late.done()
    await clock.advance(2000)
    assert late.result().kind == "deadline"


async def test_after_the_outcome_nothing_is_asked(
    follow: Any, fake: Any, clock: Any, make_marker: Make
) -> None:
    """A wait that has ended makes no further look."""
    await follow([make_marker()], seconds=1)
    fake.looks.clear()
    await clock.advance(3600)
    assert not fake.looks


async def test_two_waits_see_the_same(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """Two copies of a wait end with equal stamps."""
    fake.script[URI] = deque([None, make_marker()])
    first = started.add(wait(make_terms(), clock=clock))
    second = started.add(wait(make_terms(), clock=clock))
    await clock.advance(30)
    assert first.result().stamp == second.result().stamp


async def test_a_wait_may_be_cancelled_while_it_checks_files(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """Of two waits that share a check of files one may leave; the other gets its result."""
    fake.files[URI] = make_marker(files={"a": b"x"})
    fake.files["/in/a"] = b"x"
    fake.facts_script["/in/a"] = deque([20.0])
    first = started.add(wait(make_terms(verify="files"), clock=clock))
    second = started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(5)
    first.cancel()
    await clock.advance(20)
    assert second.result().kind == "arrived"
    assert fake.facts_asked == ["/in/a"]
    assert first.cancelled()
    await asyncio.sleep(0)
