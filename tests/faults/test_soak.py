"""Random faults, one after another and one into another, for as long as the environment says."""

from __future__ import annotations

import os
import time

import pytest

from faultlab import (
    Fault,
    Lab,
    Record,
    api_server_away,
    database_restarted,
    everything_killed,
    frozen,
    runner_killed,
    scheduler_killed,
    supervisor_killed,
    told_to_end,
)

SECONDS = float(os.environ.get("SOAK_SECONDS", "60"))
WAITS = int(os.environ.get("SOAK_WAITS", "40"))
FAULTS: list[Fault] = [
    supervisor_killed,
    runner_killed,
    everything_killed,
    told_to_end,
    frozen,
    database_restarted,
    api_server_away,
    scheduler_killed,
]


@pytest.mark.timeout(SECONDS + 3600)
def test_random_faults_lose_nothing(lab: Lab) -> None:
    """Every wait takes effect once, with its own delivery, whatever happens meanwhile and in which order."""
    with lab.explained():
        lab.ready()
        days = lab.waits.start(WAITS, lab.folder)
        lab.waits.wait_deferred(days, seconds=3600)
        lab.until_running(days)
        lab.waits.mislead(days[::3])
        used, ended, began = lab.usage(), len(lab.supervisor.exits), time.time()
        names = _soak(lab, list(days), began + SECONDS)
        lab.ready()
        healed = time.time()
        left = [day for day in days if day in lab.waits.open]
        lab.until_running(left)
        running = round(time.time() - healed, 1)
        lab.waits.release(left)
        lab.until_written(days, seconds=3600)
        lab.ready()
    found, now = lab.count(days), lab.usage()
    record = Record(
        fault=f"soak of {SECONDS:g} s, {len(names)} random faults",
        way="workers",
        waits=len(days),
        released=len(days),
        lost=found.lost,
        wrong=found.wrong,
        doubled=found.doubled,
        unsettled=lab.unsettled(days),
        again=found.again,
        fired_again=lab.told.again(since=began),
        running=running,
        memory=(used.memory, now.memory),
        descriptors=(used.descriptors, now.descriptors),
        exits=tuple(lab.supervisor.exits[ended:]),
    )
    lab.add(record)
    assert record.clean, (names, record, lab.where())


def _soak(lab: Lab, days: list[str], end: float) -> list[str]:
    """Inject until the end, and release about half of the waits meanwhile; the faults' names."""
    dice, names, length = lab.waits.dice, [], end - time.time()
    dice.shuffle(days)
    half = len(days) // 2
    while time.time() < end:
        fault = dice.choice(FAULTS)
        names.append(fault.__name__)
        due = half - round(half * max(0.0, end - time.time()) / length)
        due_now = [day for day in days[:due] if day in lab.waits.open]
        with fault(lab):
            lab.waits.release(due_now)
        if dice.random() < 0.7:
            lab.ready()  # the others strike while the last fault is not over
        time.sleep(dice.uniform(0.5, 4.0))
    return names
