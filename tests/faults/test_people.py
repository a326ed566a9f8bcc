"""What people do to a wait: clear it, mark it as failed, mark it as done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from airflow_landmark.testing import wait_until
from faultlab import RELEASED, Lab, Record, trial


def test_cleared_while_deferred(lab: Lab) -> None:
    """The new try waits where the old one did, and the old one's end does not disturb it."""
    days = lab.waits.start_one(lab.folder) + lab.waits.start(RELEASED, lab.folder)

    @contextmanager
    def cleared(lab: Lab) -> Iterator[None]:
        starts = lab.told.count("start")
        for run in {lab.waits.run_of(day).run_id: lab.waits.run_of(day) for day in days}.values():
            run.clear(task_ids=["wait"])
        wait_until(
            check=lambda: all(lab.told.count("start")[day] > starts[day] for day in days),
            what="the waits anew",
            seconds=300,
        )
        yield

    record = trial(lab, fault="task cleared while deferred", inject=cleared, chosen=days)
    assert record.clean, (record, lab.where())
    assert record.again == 0


@pytest.mark.parametrize("state", ["failed", "success"])
def test_marked_while_deferred(lab: Lab, state: str) -> None:
    """A wait that was marked is over: its trigger ends, and a delivery that comes later changes nothing."""
    lab.ready()
    days = lab.waits.start(RELEASED, lab.folder)
    witness = lab.waits.start_one(lab.folder)
    lab.waits.wait_deferred([*days, *witness])
    lab.until_running([*days, *witness])
    began, count = time.time(), len(lab.waits.open)
    for day in days:
        lab.waits.run_of(day).mark_task(task_id="wait", state=state, map_index=lab.waits.index_of(day))
    with lab.explained():
        wait_until(check=lambda: set(days).isdisjoint(lab.told.running()), what="they end", seconds=120)
    lab.waits.release([*days, *witness])
    for day in days:
        lab.waits.run_of(day).wait(states=[state], seconds=120)
    with lab.explained():
        lab.until_written(witness)  # had one of the others gone on, it would have done so by now
    written = len(set(days) & lab.destination.written())
    record = Record(
        fault=f"task marked {state} while deferred, then delivered",
        way="workers",
        waits=count,
        released=len(days),
        lost=0,
        wrong=written,
        doubled=lab.count(days).doubled,
        fired_again=lab.told.again(since=began),
    )
    lab.add(record)
    assert record.clean, (record, lab.where())
    assert sum(lab.told.count("on_kill", since=began)[day] for day in days) >= len(days)
