"""Where one listing can tell of many folders, one call of the store serves waits of different rhythm."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from airflow_landmark.deliveries import wait
from airflow_landmark.stores import Address, Look, PassingTrouble, Sighting, StoreError

Make = Callable[..., Any]


@pytest.fixture
def lists(fake: Any) -> Any:
    """Return the store, which now answers ``also`` for free, as one that lists does."""
    look_many = fake.look_many
    fake.lists_neighbours = True
    fake.free = lambda _address: True
    fake.also = []

    async def listing(
        wanted: Mapping[Address, Sighting | None], *, also: Mapping[Address, Sighting | None]
    ) -> Mapping[Address, Look | StoreError]:
        fake.also.append(len(also))
        answered = {address: since for address, since in also.items() if fake.free(address)}
        calls = len(fake.calls)
        results = {**await look_many(wanted), **await look_many(answered)}
        del fake.calls[calls + 1 :]
        return results

    fake.look_many = listing
    return fake


def folder(number: int) -> str:
    """A marker in a folder of its own."""
    return f"/in/{number}/_delivery.json"


async def test_one_call_a_poll_serves_all_folders(
    lists: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """200 waits in 200 folders that one listing tells of cost one call of the store a poll."""
    for number in range(200):
        started.add(wait(make_terms(folder(number)), clock=clock))
    await clock.advance(0.5)
    assert len(lists.calls) == 1
    lists.calls.clear()
    lists.looks.clear()
    await clock.advance(60)
    assert 4 <= len(lists.calls) <= 6
    assert len(lists.looks) == 200 * len(lists.calls)


async def test_waits_of_another_start_join_the_rhythm(
    lists: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """Waits that start a while after others are looked at at once, and soon share the others' calls."""
    started.add(wait(make_terms(folder(0)), clock=clock))
    await clock.advance(4)
    started.add(wait(make_terms(folder(1)), clock=clock))
    await clock.advance(0.5)
    assert len(lists.looks_at(folder(1))) == 1
    await clock.advance(30)
    lists.calls.clear()
    await clock.advance(100)
    assert len(lists.calls) <= 10


async def test_waits_that_start_over_a_whole_interval_share_their_looks_in_the_end(
    lists: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """100 waits that start one after another cost one call a poll soon after."""
    for number in range(100):
        started.add(wait(make_terms(folder(number), poll_interval=60.0), clock=clock))
        await clock.advance(1)
    await clock.advance(120)
    lists.calls.clear()
    await clock.advance(600)
    assert 9 <= len(lists.calls) <= 11


async def test_nobody_is_served_before_half_its_interval(
    lists: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """A free answer is no reason to look more often than a wait asked for."""
    started.add(wait(make_terms(folder(0), poll_interval=5.0), clock=clock))
    started.add(wait(make_terms(folder(1), poll_interval=60.0), clock=clock))
    await clock.advance(600)
    times = lists.looks_at(folder(1))
    assert min(later - earlier for earlier, later in pairwise(times)) >= 30
    assert len(times) >= 9


async def test_what_was_not_answered_keeps_its_own_time(
    lists: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """Waits of which the listing told nothing are looked at in their own time, and late by none."""
    lists.free = lambda _address: False
    for number in range(20):
        started.add(wait(make_terms(folder(number)), clock=clock))
    await clock.advance(100)
    for number in range(20):
        times = lists.looks_at(folder(number))
        assert max(later - earlier for earlier, later in pairwise(times)) <= 12.7


async def test_a_place_in_trouble_is_left_alone_by_its_neighbours(
    lists: Any, clock: Any, started: Any, make_terms: Make
) -> None:
    """A target that backs off is not offered to the listings of others."""
    uri = folder(1)
    lists.script[uri] = deque([PassingTrouble(uri, "slow down", retry_after=300.0)])
    started.add(wait(make_terms(folder(0)), clock=clock))
    started.add(wait(make_terms(uri), clock=clock))
    await clock.advance(280)
    assert len(lists.looks_at(uri)) == 1
    assert len(lists.looks_at(folder(0))) > 20


async def test_a_neighbour_that_arrives_fires(
    lists: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A marker that is found on the way fires its own waits at that moment."""
    first = started.add(wait(make_terms(folder(0), poll_interval=10.0), clock=clock))
    second = started.add(wait(make_terms(folder(1), poll_interval=12.0), clock=clock))
    await clock.advance(1)
    lists.files[folder(1)] = make_marker()
    await clock.advance(14)
    assert second.result().kind == "arrived"
    assert not first.done()
