"""The source is away, poisonous, or wrong about the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from airflow_landmark.testing import wait_until
from drops import hostile_documents
from faultlab import RELEASED, TRIGGERERS, Lab, parcel, source_away, trial
from httpserver import Page

HOUR = 3600.0
MIB = 2**20


def test_source_away(lab: Lab) -> None:
    """Waits outlast a web server that answers errors and then nothing, and take what came meanwhile."""
    days = lab.waits.start_one(lab.web) + lab.waits.start(RELEASED, lab.web)
    fault = f"source answers errors, then nothing, for {lab.source_outage:g} s"
    record = trial(lab, fault=fault, inject=source_away, during=1.0, chosen=days)
    assert record.clean, (record, lab.where())
    assert record.again == 0


def test_clock_of_the_source_is_wrong(lab: Lab) -> None:
    """Times are never compared: a delivery that looks an hour older than the wrong one before it is taken."""
    days = [day for place in (lab.web, lab.folder) for day in lab.waits.start(-(-RELEASED // 2), place)]
    fault = "clock of the source an hour ahead or behind"
    record = trial(lab, fault=fault, inject=lambda _: nullcontext(), chosen=days, skew=HOUR)
    assert record.clean, (record, lab.where())
    assert record.again == 0


def test_poisonous_markers(lab: Lab) -> None:
    """Hostile documents and bodies fail or delay their own waits only, and end no process."""
    documents = _poisons()
    bad = lab.waits.start(len(documents), lab.folder) + (endless := lab.waits.start(2, lab.web))
    lab.waits.wait_deferred(bad)
    lab.waits.give_up(bad)
    pids = _pids(lab)

    @contextmanager
    def poisoned(lab: Lab) -> Iterator[None]:
        for day, document in zip(bad, documents, strict=False):
            lab.folder.put(day, {"_delivery.json": document})
        for day, drip in zip(endless, (0.02, 0.5), strict=True):
            page = Page(b" " * 64 * MIB, sized=False, drip_seconds=drip)
            lab.http.pages[f"/{day}/_delivery.json"] = page
        yield

    fault = "poisonous markers beside good ones"
    record = trial(lab, fault=fault, inject=poisoned, during=0.5)
    refused = bad[: len(documents)]
    wait_until(
        check=lambda: all(states == {"failed"} for states in lab.waits.states(refused).values()),
        what="the poisoned waits refused",
        seconds=300,
        every=0.5,
    )
    assert record.clean, (record, lab.where())
    assert record.again == 0
    assert not lab.destination.written() & set(bad)
    assert _pids(lab) == pids
    lab.waits.run_of(endless[0]).mark(state="failed")


def _poisons() -> list[bytes]:
    """Markers that are too large, that point elsewhere, or that would break what an event goes through."""
    large = b'{"spec": "landmark/1", "producer": "' + b"x" * (16 * MIB) + b'"}'
    good = parcel(day="2000-01-01", version=2, amount=1)["_delivery.json"]
    paths = [b"../../etc/passwd", b"/etc/passwd", b"a//b", b"a\\\\b", b"s3://b/k", b"a\\u0000b"]
    hostile = [good.replace(b'"orders.csv"', b'"' + path + b'"') for path in paths]
    return [large, *hostile, *hostile_documents()]


def _pids(lab: Lab) -> list[int]:
    return [process.pid for name in TRIGGERERS for process in lab.supervisor.tree(name)]
