"""Which of many requests of the HTTP store may go out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from airflow_landmark.stores import Address
from airflow_landmark.stores import _http_slots as slots
from httpserver import Answer, HttpServer

On = Callable[..., Address]


async def test_slow_places_hold_up_no_other(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While 200 looks hang at one origin, those at another one go on; so do other paths of one with few."""
    monkeypatch.setattr(slots, "_PATIENCE_SECONDS", 0.3)
    with HttpServer() as hangs:
        hangs.fallback = Answer(404, delay_seconds=30.0)
        http_server.script = {f"/in/slow{n}": deque([Answer(404, delay_seconds=30.0)]) for n in range(3)}
        there = {on(str(n), origin=hangs.origin): None for n in range(200)}
        hanging = [asyncio.ensure_future(http.look_many({a: None})) for a in there]
        hanging += [asyncio.ensure_future(http.look(on(f"slow{n}"))) for n in range(3)]
        await anyio.lowlevel.checkpoint()
        with anyio.fail_after(20):
            for round_ in range(5):
                await http.look_many({on(f"{round_}/{n}"): None for n in range(100)})
        assert hangs.most_in_flight <= 20
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


async def test_a_slow_origin_alone_may_use_free_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late requests take the slots for late ones, and of the others what leaves half of them free."""
    monkeypatch.setattr(slots, "_PATIENCE_SECONDS", 0.01)
    own = slots.Slots(prompt=8, late=2)
    running = most = 0

    async def one(n: int) -> None:
        nonlocal running, most
        async with own.hold("http://slow", n):
            running += 1
            most = max(most, running)
            await anyio.sleep(0.03)
            running -= 1

    for _ in range(2):
        most = 0
        async with anyio.create_task_group() as group:
            for n in range(15):
                group.start_soon(one, n)
    assert 2 < most <= 6
    assert (own.prompt.all.free, own.late.all.free) == (8, 2)


async def test_a_place_that_recovers_is_prompt_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer in time is enough for the place and its origin."""
    monkeypatch.setattr(slots, "_PATIENCE_SECONDS", 0.005)
    own = slots.Slots(prompt=4, late=2)
    for n in range(4):
        async with own.hold("http://slow", n):
            await anyio.sleep(0.02)
    assert own.is_late("http://slow", "new")
    async with own.hold("http://slow", 1):
        pass
    assert not own.is_late("http://slow", "new")
    assert own.is_late("http://slow", 2)
    assert not own.is_late("http://slow", 1)


async def test_slots_survive_cancelling() -> None:
    """However holders and those that wait are cancelled, no slot is lost."""
    own = slots.Slots(prompt=2, late=1)

    async def one(n: int) -> None:
        async with own.hold("http://a", n):
            await anyio.sleep(0.002)

    for turns in range(20):
        tasks = [asyncio.ensure_future(one(n)) for n in range(20)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert (own.prompt.all.free, own.late.all.free) == (2, 1)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many late places the oldest are forgotten."""
    monkeypatch.setattr(slots, "_MAX_REMEMBERED", 3)
    own = slots.Slots(prompt=1, late=1)
    for n in range(10):
        own.note(own.origin(f"http://{n}"), n, late=True)
    assert [n for n in range(10) if own.is_late("", n)] == [7, 8, 9]
    assert len(own._origins) <= 4
