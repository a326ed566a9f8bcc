"""The one poll loop: looks are shared, spread, never early, and end with the last wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from airflow_landmark.deliveries import wait
from airflow_landmark.deliveries._watch import Watch
from airflow_landmark.stores import Changed, LastingTrouble, PassingTrouble

URI = "/in/_delivery.json"
Make = Callable[..., Any]


def gaps_of(times: list[float]) -> list[float]:
    """Seconds between neighbours."""
    return [later - earlier for earlier, later in pairwise(times)]


async def test_one_look_serves_all_waits_on_a_marker(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """500 waits on one marker cost one look a poll, and all of them fire at the same one."""
    for _ in range(500):
        started.add(wait(make_terms(), clock=clock))
    await clock.advance(35)
    assert 3 <= len(fake.looks) <= 4
    fake.files[URI] = make_marker()
    await clock.advance(13)
    assert started.outcomes == {"arrived": 500}
    assert len(fake.looks) <= 5


async def test_markers_of_one_folder_are_looked_at_together(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """500 markers of one folder are one call of the store a poll, so that a listing can serve them."""
    for number in range(500):
        started.add(wait(make_terms(f"/in/{number}.json"), clock=clock))
    await clock.advance(0.5)
    assert fake.calls == [500]
    fake.calls.clear()
    await clock.advance(13)
    assert fake.calls == [500]


async def test_a_joining_wait_gets_what_is_known(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A wait that joins within the interval is served by the last look; no look is made for it."""
    fake.files[URI] = make_marker(1)
    first = started.add(wait(make_terms(min_version=2), clock=clock))
    await clock.advance(5)
    for _ in range(50):
        started.add(wait(make_terms(), clock=clock))
    await clock.advance(0.5)
    assert started.outcomes == {"arrived": 50}
    assert len(fake.looks) == 1
    assert not first.done()
    assert started.tasks[1].result().looks.count == 1


async def test_waits_that_join_one_by_one_make_no_burst(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """However waits arrive, a marker is not looked at more often than the interval says."""
    for _ in range(60):
        started.add(wait(make_terms(), clock=clock))
        await clock.advance(1)
    times = fake.looks_at(URI)
    assert len(times) <= 7
    assert min(gaps_of(times)) >= 5


async def test_the_shortest_interval_counts(fake: Any, clock: Any, started: Any, make_terms: Make) -> None:
    """A wait with a shorter interval that joins is served at its own pace, and its pace leaves with it."""
    started.add(wait(make_terms(poll_interval=600.0), clock=clock))
    await clock.advance(1)
    quick = started.add(wait(make_terms(poll_interval=5.0), clock=clock))
    await clock.advance(60)
    assert 8 <= len(fake.looks) <= 14
    quick.cancel()
    await clock.advance(20)
    fake.looks.clear()
    await clock.advance(500)
    assert len(fake.looks) <= 1


async def test_folders_do_not_fall_into_step(fake: Any, clock: Any, started: Any, make_terms: Make) -> None:
    """100 waits on 100 folders that start together are spread from the second look on, and never early."""
    for number in range(100):
        started.add(wait(make_terms(f"/in/{number}/_delivery.json", poll_interval=60.0), clock=clock))
    await clock.advance(600)
    times = [fake.looks_at(f"/in/{n}/_delivery.json") for n in range(100)]
    seconds = [series[1] for series in times]
    assert max(seconds) - min(seconds) >= 10
    for series in times:
        assert min(gaps_of(series)) >= 45
        assert max(gaps_of(series)) <= 80
        assert len(series) in range(9, 12)
    at_once = [
        sum(1 for _, series in enumerate(times) for at in series if 300 + s <= at < 301 + s)
        for s in range(60)
    ]
    assert max(at_once) <= 25


async def test_passing_trouble_backs_off(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """Trouble in a row doubles the pause up to a bound, and the first success ends that."""
    trouble = [PassingTrouble(URI, "slow down")] * 12
    fake.script[URI] = deque([*trouble, None, make_marker()])
    task = started.add(wait(make_terms(), clock=clock))
    await clock.advance(10_000)
    gaps = gaps_of(fake.looks_at(URI))
    for earlier, later in pairwise(gaps[:6]):
        assert later > 1.5 * earlier
    assert all(10 <= gap <= 320 for gap in gaps)
    assert gaps[10] >= 300
    assert gaps[12] <= 13
    assert task.result().kind == "arrived"
    assert task.result().looks.seen == {"trouble": 12, "absent": 1, "arrived": 1}


async def test_a_store_that_asks_for_a_pause_gets_it(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """``Retry-After`` is honoured, also against waits that join meanwhile."""
    fake.script[URI] = deque([PassingTrouble(URI, "503", retry_after=70.0), make_marker()])
    started.add(wait(make_terms(), clock=clock))
    await clock.advance(5)
    joined = started.add(wait(make_terms(), clock=clock))
    await clock.advance(60)
    assert len(fake.looks) == 1
    assert not joined.done()
    await clock.advance(10)
    assert started.outcomes == {"arrived": 2}
    assert gaps_of(fake.looks_at(URI)) == [pytest.approx(70, abs=1)]


async def test_a_marker_that_is_being_written_is_looked_at_as_often(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """A file that changes while it is read is no reason to look less often."""
    fake.script[URI] = deque([Changed(URI, "it changes")] * 10)
    started.add(wait(make_terms(), clock=clock))
    await clock.advance(120)
    assert max(gaps_of(fake.looks_at(URI))) <= 13


async def test_no_two_looks_come_within_half_the_interval(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """Joining, leaving, deadlines and trouble: no look follows another within half the interval."""
    fake.script[URI] = deque([None, PassingTrouble(URI, "x"), None, None, LastingTrouble(URI, "y")] * 20)
    started.add(wait(make_terms(poll_interval=3600.0), clock=clock))
    for number in range(200):
        started.add(wait(make_terms(within=5.0 * number), clock=clock))
        await clock.advance(3)
    assert min(gaps_of(fake.looks_at(URI))) >= 5


async def test_a_slow_place_delays_no_other(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A mount whose looks take long, and one that fails, delay neither each other nor a good one."""
    fake.group_of = lambda address: address.folder
    fake.script["/slow/_delivery.json"] = deque([3600.0, None])
    fake.script["/bad/_delivery.json"] = deque([PassingTrouble("/bad", "no")] * 100)
    for name in ("slow", "bad", "good"):
        started.add(wait(make_terms(f"/{name}/_delivery.json"), clock=clock))
    await clock.advance(60)
    assert len(fake.looks_at("/good/_delivery.json")) >= 5
    fake.files["/good/_delivery.json"] = make_marker()
    await clock.advance(13)
    assert [task.done() for task in started.tasks] == [False, False, True]


async def test_the_last_one_out_ends_the_loop(fake: Any, clock: Any, started: Any, make_terms: Make) -> None:
    """When the last wait leaves, no task is left, the store is closed, and nothing is looked at any more."""
    before = asyncio.all_tasks()
    for number in range(20):
        started.add(wait(make_terms(f"/in/{number % 5}/_delivery.json"), clock=clock))
    await clock.advance(30)
    for task in started.tasks[:-1]:
        task.cancel()
    await clock.advance(30)
    assert fake.closed == 0
    started.tasks[-1].cancel()
    await clock.advance(0.5)
    assert asyncio.all_tasks() == before
    assert fake.closed == 1
    fake.looks.clear()
    await clock.advance(1000)
    assert not fake.looks


async def test_a_target_that_nobody_waits_for_is_not_looked_at(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """When the waits of a target have left, its looks end, while others go on."""
    gone = started.add(wait(make_terms("/in/gone.json"), clock=clock))
    started.add(wait(make_terms("/in/kept.json"), clock=clock))
    await clock.advance(5)
    gone.cancel()
    await clock.advance(100)
    assert len(fake.looks_at("/in/gone.json")) == 1
    assert len(fake.looks_at("/in/kept.json")) >= 8


async def test_leaving_and_coming_back_while_a_look_is_in_flight(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A wait that comes back to a target whose look still runs is served, and the old look harms nobody."""
    fake.script[URI] = deque([30.0, None])
    other = started.add(wait(make_terms("/in/other.json"), clock=clock))
    first = started.add(wait(make_terms(), clock=clock))
    await clock.advance(5)
    first.cancel()
    await clock.advance(1)
    second = started.add(wait(make_terms(), clock=clock))
    fake.files[URI] = make_marker()
    await clock.advance(60)
    assert second.result().kind == "arrived"
    assert not other.done()


@pytest.mark.parametrize("steps", range(1, 25))
async def test_cancelling_at_any_point_leaves_no_task(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make, steps: int
) -> None:
    """However far a wait has come when it is cancelled, nothing of it is left, and a new one works."""
    before = asyncio.all_tasks()
    fake.files[URI] = make_marker(files={"a": b"x"})  # announced, but not there
    task = asyncio.ensure_future(wait(make_terms(verify="files"), clock=clock))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    fake.files["/in/a"] = b"x"
    again = started.add(wait(make_terms(verify="files"), clock=clock))
    await clock.advance(1)
    assert again.result().kind == "arrived"


async def test_a_defect_of_a_store_fails_the_waits(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """An exception that no store may raise ends every wait with it, rather than letting them hang."""
    fake.script[URI] = deque([None, ZeroDivisionError("a defect")])
    started.add(wait(make_terms(), clock=clock))
    started.add(wait(make_terms("/in/other.json"), clock=clock))
    await clock.advance(30)
    for task in started.tasks:
        assert isinstance(task.exception(), RuntimeError)
        assert isinstance(task.exception().__cause__, ZeroDivisionError)
    fake.files[URI] = make_marker()
    again = started.add(wait(make_terms(), clock=clock))
    await clock.advance(1)
    assert again.result().kind == "arrived"
    started.tasks.clear()


async def test_a_store_that_leaves_an_answer_out_fails_the_waits(
    fake: Any, clock: Any, started: Any, make_terms: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that forgets an address is a defect, not a wait for ever."""

    async def forgetful(_wanted: object) -> dict[object, object]:
        return {}

    monkeypatch.setattr(fake, "look_many", forgetful)
    task = started.add(wait(make_terms(), clock=clock))
    await clock.advance(1)
    assert isinstance(task.exception(), RuntimeError)
    started.tasks.clear()


async def test_waits_that_come_and_go_leave_nothing_in_the_watch(
    fake: Any, clock: Any, started: Any, make_terms: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of short waits with long intervals leave neither rounds nor planned looks behind."""
    watches: list[Watch] = []
    really = Watch.subscribe

    def subscribe(watch: Watch, *args: Any) -> Any:
        watches.append(watch)
        return really(watch, *args)

    monkeypatch.setattr(Watch, "subscribe", subscribe)
    started.add(wait(make_terms("/in/stays.json", poll_interval=3600.0), clock=clock))
    for number in range(2000):
        task = asyncio.ensure_future(
            wait(make_terms(f"/in/{number}/m.json", poll_interval=3600.0), clock=clock)
        )
        for _ in range(8):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len({id(watch) for watch in watches}) == 1
    assert len(watches[0]._rounds) == 1
    assert len(watches[0]._heap) < 600


async def test_setting_the_clock_back_or_forth_moves_no_look(
    fake: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """Looks go by a clock that is never set."""
    started.add(wait(make_terms(), clock=clock))
    for jump in (-86_400.0, 86_400.0, 0.0):
        clock.jump = jump
        await clock.advance(100)
    gaps = gaps_of(fake.looks_at(URI))
    assert all(7.5 <= gap <= 13 for gap in gaps)
