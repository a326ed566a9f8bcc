"""Cancelling, holding back, sharing, and keeping quiet."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection, Variable
from structlog.testing import capture_logs

from airflow_landmark.stores import LocalStore
from airflow_landmark.triggers import MarkerTrigger
from parcels import DAY_BEFORE, FILES, deliver

Drain = Callable[..., Awaitable[list[Any]]]


def instant(seconds: float) -> str:
    """An instant so long after now."""
    return (datetime.now(tz=timezone.utc) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def left_over() -> list[asyncio.Task[Any]]:
    """The tasks of this loop but for the test's own."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    return [task for task in tasks if "TestRunner" not in repr(task.get_coro())]


async def cancelled_after(seconds: float, trigger: MarkerTrigger, drain: Drain) -> None:
    """Run a trigger for a while, cancel it as a triggerer does, and wait for its end."""
    task = asyncio.ensure_future(drain(trigger))
    if seconds:
        await asyncio.sleep(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("there", ["nothing", "incomplete", "held back", "unreadable"])
async def test_cancelling_leaves_nothing_behind(
    there: str, tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Whenever a wait is cancelled, the cancellation comes through and no task is left."""
    if there == "incomplete":
        deliver(tmp_path, written={})
    if there == "unreadable":
        deliver(tmp_path, version=0)
    if there == "held back":
        deliver(tmp_path)
        arguments |= {"not_before": instant(5)}
    for seconds in (0.0, 0.001, 0.003, 0.01, 0.05, 0.1, 0.102, 0.15):
        await cancelled_after(seconds, MarkerTrigger(**arguments), drain)
        assert not left_over()


async def test_cancelling_twice_leaves_nothing_behind(arguments: dict[str, Any], drain: Drain) -> None:
    """Airflow repeats a cancellation until the trigger is gone."""
    tasks = [asyncio.ensure_future(drain(MarkerTrigger(**arguments))) for _ in range(5)]
    await asyncio.sleep(0.15)
    for _ in range(3):
        for task in tasks:
            task.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert all(task.cancelled() for task in tasks)
    assert not left_over()


async def test_cancelling_one_leaves_the_others_waiting(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Waits share their looks, not their fate."""
    stays = asyncio.ensure_future(drain(MarkerTrigger(**arguments)))
    await cancelled_after(0.2, MarkerTrigger(**arguments), drain)
    deliver(tmp_path)
    (event,) = await stays
    assert event["outcome"] == "arrived"
    assert not left_over()


async def test_kill_and_cleanup_do_nothing_outside(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Airflow calls both on waits that others took over: neither ends a wait or touches the source."""
    trigger = MarkerTrigger(**arguments)
    task = asyncio.ensure_future(drain(trigger))
    await asyncio.sleep(0.15)
    await trigger.on_kill()
    await trigger.cleanup()
    deliver(tmp_path)
    assert (await task)[0]["outcome"] == "arrived"


async def test_event_is_held_back(tmp_path: Path, arguments: dict[str, Any], drain: Drain) -> None:
    """No event is fired before the instant that was given, and a delivery is looked for meanwhile."""
    deliver(tmp_path)
    began = time.monotonic()
    (event,) = await drain(MarkerTrigger(**arguments, not_before=instant(0.8)))
    assert 0.7 <= time.monotonic() - began < 2
    assert (event["outcome"], event["looks"]["count"]) == ("arrived", 1)


async def test_take_over_is_not_held_back_anew(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """The instant counts from the deferral: a triggerer that takes the wait over later fires at once."""
    trigger = MarkerTrigger(**arguments, not_before=instant(0.5))
    deliver(tmp_path)
    await cancelled_after(0.3, trigger, drain)
    began = time.monotonic()
    await drain(MarkerTrigger(**trigger.serialize()[1]))
    assert time.monotonic() - began < 0.45


async def test_deadline_within_the_delay_is_told_at_its_end(arguments: dict[str, Any], drain: Drain) -> None:
    """A deadline that comes while events are held back is fired when they may be."""
    began = time.monotonic()
    (event,) = await drain(MarkerTrigger(**arguments, deadline=instant(0.1), not_before=instant(0.7)))
    assert event["outcome"] == "deadline"
    assert time.monotonic() - began >= 0.6


async def test_configuration_is_held_back_too(arguments: dict[str, Any], drain: Drain) -> None:
    """Even an event about wrong arguments must not come before Airflow has noticed the deferral."""
    began = time.monotonic()
    (event,) = await drain(MarkerTrigger(**arguments | {"verify": "x"}, not_before=instant(0.5)))
    assert event["error"]["kind"] == "configuration"
    assert time.monotonic() - began >= 0.4


async def test_distant_not_before_is_bounded(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is wrong on the worker holds an event back for a minute at most."""
    slept: list[float] = []

    async def sleep(_clock: Any, seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr("airflow_landmark.deliveries.Clock.sleep", sleep)
    deliver(tmp_path)
    await drain(MarkerTrigger(**arguments, not_before="2999-01-01T00:00:00Z"))
    assert max(slept) == 60.0


async def test_waits_on_one_folder_share_their_looks(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty waits for one marker look as often as one would, and all hear of it."""
    asked: list[int] = []
    look_many = LocalStore.look_many

    async def counted(self: LocalStore, wanted: Any, **named: Any) -> Any:
        asked.append(len(wanted))
        return await look_many(self, wanted, **named)

    monkeypatch.setattr(LocalStore, "look_many", counted)
    waits = [asyncio.ensure_future(drain(MarkerTrigger(**arguments))) for _ in range(50)]
    await asyncio.sleep(0.3)
    deliver(tmp_path)
    events = [event for events in await asyncio.gather(*waits) for event in events]
    assert [event["outcome"] for event in events] == ["arrived"] * 50
    assert set(asked) == {1}
    assert len(asked) <= 12
    assert not left_over()


async def test_connections_are_never_looked_up(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait on a local path asks Airflow for nothing: such a request would stall the triggerer."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("asked Airflow")

    monkeypatch.setattr(Connection, "get", refuse)
    monkeypatch.setattr(Variable, "get", refuse)
    deliver(tmp_path)
    assert (await drain(MarkerTrigger(**arguments)))[0]["outcome"] == "arrived"


async def test_log_tells_changes_only(tmp_path: Path, arguments: dict[str, Any], drain: Drain) -> None:
    """Each line wakes a cycle of the triggerer: many looks at the same give one line."""

    async def go_on() -> None:
        await asyncio.sleep(0.3)
        deliver(tmp_path, interval=DAY_BEFORE, written={})
        await asyncio.sleep(0.3)
        deliver(tmp_path, written={})
        await asyncio.sleep(0.3)
        for name, data in FILES.items():
            (tmp_path / name).write_bytes(data)

    writing = asyncio.create_task(go_on())
    with capture_logs() as lines:
        (event,) = await drain(MarkerTrigger(**arguments))
    await writing
    assert event["looks"]["count"] >= 6
    texts = [str(line) for line in lines]
    assert 3 <= len(texts) <= 6
    assert sum("2024-04-30" in text for text in texts) == 1
    assert "not complete" in str(texts)


async def test_files_of_a_marker_are_not_logged(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """No log line holds what a marker says beyond names and numbers."""
    deliver(tmp_path, version=0, extensions={"note": "pw-EXAMPLE-1"})
    with capture_logs() as lines:
        await drain(MarkerTrigger(**arguments, unreadable_looks=2))
    assert lines
    assert "pw-EXAMPLE-1" not in str(lines)


async def test_generator_that_is_closed_early_ends_the_wait(arguments: dict[str, Any]) -> None:
    """A wait that is dropped rather than cancelled leaves no task either."""
    events = MarkerTrigger(**arguments).run()
    step = asyncio.ensure_future(anext(aiter(events)))
    await asyncio.sleep(0.15)
    step.cancel()
    with suppress(asyncio.CancelledError):
        await step
    await events.aclose()  # type: ignore[attr-defined]
    gc.collect()
    assert not left_over()
