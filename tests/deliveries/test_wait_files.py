"""Announced is not complete: a wait goes on while files of the manifest are missing or short."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.deliveries import (
    LASTING_LOOKS,
    MAX_CHECKED_WHILE_WAITING,
    Action,
    look_once,
    wait,
)
from airflow_landmark.stores import LastingTrouble, PassingTrouble

URI = "/in/_delivery.json"
Make = Callable[..., Any]
FILES = {"a.csv": b"x" * 100, "sub/b.csv": b"y" * 50}


async def test_files_that_come_late_are_waited_for(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """Missing and short files are waited for; when all are there in full length the delivery arrives."""
    fake.files |= {URI: make_marker(files=FILES), "/in/a.csv": b"x" * 60}
    task = started.add(wait(make_terms(verify="digests"), clock=clock, tell=started.told.append))
    await clock.advance(25)
    assert not task.done()
    fake.files["/in/a.csv"] = b"x" * 100
    await clock.advance(13)
    assert not task.done()
    fake.files["/in/sub/b.csv"] = b"y" * 50
    await clock.advance(13)
    outcome = task.result()
    assert outcome.kind == "arrived"
    assert set(outcome.looks.seen) == {"incomplete", "arrived"}
    assert [("2 of 2 files" in text, "1 of 2 files" in text) for text in started.told] == [
        (True, False), (False, True), (False, False),
    ]  # fmt: skip


async def test_what_is_missing_at_the_deadline_is_named(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """The deadline names how many files are not complete and the first of them, with their sizes."""
    files = {f"part-{n}.csv": b"x" * 10 for n in range(7)}
    fake.files |= {URI: make_marker(files=files), "/in/part-0.csv": b"x" * 4, "/in/part-6.csv": b"x" * 10}
    task = started.add(wait(make_terms(verify="files", within=60.0), clock=clock))
    await clock.advance(100)
    outcome = task.result()
    assert (outcome.kind, outcome.word) == ("deadline", "incomplete")
    assert "6 of 7 files not complete" in outcome.text
    assert "part-0.csv (incomplete, 4 bytes), part-1.csv (missing, nothing), part-2.csv" in outcome.text
    assert "part-3.csv" not in outcome.text


@pytest.mark.parametrize("terms", [{"on_incomplete": "fail", "verify": "digests"}, {"verify": "marker"}])
async def test_a_wait_that_does_not_ask_for_files_fires_at_once(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make, terms: dict[str, Any]
) -> None:
    """``on_incomplete="fail"`` and ``verify="marker"`` leave the files to whoever comes next."""
    fake.files[URI] = make_marker(files=FILES)
    task = started.add(wait(make_terms(**terms), clock=clock))
    await clock.advance(1)
    assert task.result().kind == "arrived"
    assert not fake.facts_asked


async def test_very_many_files_are_left_to_the_worker(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make, entry: Make
) -> None:
    """Above a bound the files are not looked at while waiting."""
    for count in (MAX_CHECKED_WHILE_WAITING, MAX_CHECKED_WHILE_WAITING + 1):
        fake.facts_asked.clear()
        fake.files[URI] = make_marker(entries=[entry(f"{n}", b"") for n in range(count)])
        assessment = await look_once(make_terms(verify="files"))
        asked = count <= MAX_CHECKED_WHILE_WAITING
        assert len(fake.facts_asked) == (count if asked else 0)
        assert assessment.action is (Action.WAIT if asked else Action.FIRE)


async def test_a_file_that_is_too_long_is_waited_for_too(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A file of the wrong size may still be replaced."""
    fake.files |= {URI: make_marker(files={"a": b"12"}), "/in/a": b"123"}
    task = started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(30)
    assert not task.done()
    fake.files["/in/a"] = b"12"
    await clock.advance(13)
    assert task.result().kind == "arrived"


async def test_passing_trouble_with_files_is_waited_past(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A store that fails while the files are looked at delays the delivery, and no more."""
    fake.files |= {URI: make_marker(files={"a": b"1"}), "/in/a": b"1"}
    fake.facts_script["/in/a"] = deque([PassingTrouble("/in/a", "slow down")] * 20)
    task = started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(400)
    outcome = task.result()
    assert outcome.kind == "arrived"
    assert outcome.looks.seen == {"trouble": 20, "arrived": 1}


async def test_lasting_trouble_with_files_fails(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """Files that may not be read fail the wait after a bounded number of looks."""
    fake.files |= {URI: make_marker(files={"a": b"1"}), "/in/a": b"1"}
    fake.facts_script["/in/a"] = deque([LastingTrouble("/in/a", "permission denied")] * 20)
    task = started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(400)
    outcome = task.result()
    assert (outcome.kind, outcome.word) == ("failed", "access")
    assert outcome.looks.seen == {"trouble": LASTING_LOOKS}
    assert "/in/a: permission denied" in outcome.text


async def test_waits_share_the_check_of_files(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """100 waits on one incomplete delivery ask for its files once a look."""
    fake.files[URI] = make_marker(files=FILES)
    for _ in range(100):
        started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(35)
    assert len(fake.facts_asked) == 2 * len(fake.looks_at(URI))


async def test_a_marker_that_is_replaced_while_files_are_missing(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A correction of an incomplete delivery is judged by its own list."""
    fake.files |= {URI: make_marker(1, files=FILES), "/in/other": b"1"}
    task = started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(15)
    fake.files[URI] = make_marker(2, files={"other": b"1"})
    await clock.advance(13)
    assert task.result().stamp.version == 2


async def test_an_empty_delivery_is_complete(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A delivery of no files lacks none."""
    fake.files[URI] = make_marker(files={})
    task = started.add(wait(make_terms(verify="rows"), clock=clock))
    await clock.advance(1)
    assert task.result().stamp.files == 0


async def test_a_single_look_asks_for_files_too(fake: Any, make_terms: Make, make_marker: Make) -> None:
    """One look without a wait finds the same as the first look of a wait."""
    terms = make_terms(verify="files")
    assert (await look_once(terms)).word == "absent"
    fake.files[URI] = make_marker(files={"a": b"1"})
    assert (await look_once(terms)).word == "incomplete"
    fake.files["/in/a"] = b"1"
    assert (await look_once(terms)).action is Action.FIRE
    assert fake.closed == 3
