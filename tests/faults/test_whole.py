"""Those waits that have seen every fault of the session, one after another."""

from __future__ import annotations

import time

from faultlab import Lab, Record, top_up


def test_survivors_of_all_faults_go_on(lab: Lab) -> None:
    """What is open still runs, gets its delivery, and takes effect once."""
    with lab.explained():
        lab.ready()
        if not lab.waits.open:
            top_up(lab, lab.folder)
        days = list(lab.waits.open)
        lab.waits.wait_deferred(days)
        lab.until_running(days)
        lab.waits.mislead(days[::2])
        began = time.time()
        lab.waits.release(days)
        lab.until_written(days)
    found, last = lab.count(days), lab.destination.last_write(days)
    everything = lab.destination.count(set(lab.waits.truth), lab.waits.truth)
    record = Record(
        fault="none: waits that have seen all the other faults",
        way="workers",
        waits=len(days),
        released=len(days),
        lost=found.lost,
        wrong=found.wrong,
        doubled=found.doubled,
        unsettled=lab.unsettled(days),
        again=found.again,
        fired_again=lab.told.again(since=began),
        written=None if last is None else round(last - began, 1),
    )
    lab.add(record)
    assert record.clean, (record, lab.where())
    assert (everything.wrong, everything.doubled) == (0, 0)
