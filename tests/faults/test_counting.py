"""What the trials count with: each loss, each wrong and each double effect is seen."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import SqlLedger
from claimants import stamp_of
from faultlab import Count, Destination, Record, Told, interval_of, settled

TRUTH = {"2000-01-01": (2, 10), "2000-01-02": (2, 20)}
EXITS = (("scheduler", -9), ("triggerer-1", 0))
RIGHT = [("2000-01-01", "2000-01-01", 2, 10), ("2000-01-02", "2000-01-02", 2, 20)]


def _write(destination: Destination, rows: list[tuple[str, str, int, int]]) -> None:
    with closing(sqlite3.connect(destination.path)) as base, base:
        for wait, day, version, amount in rows:
            told = (wait, day, version, "operation", amount, "run 0 1", 2461000.5)
            base.execute("INSERT OR REPLACE INTO day VALUES (?, ?, ?)", (day, version, amount))
            base.execute("INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?)", told)
            base.execute("INSERT INTO effect VALUES (?, ?, ?, ?, ?, ?, ?)", told)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (RIGHT, Count(lost=0, wrong=0, doubled=0, again=0)),
        (RIGHT[:1], Count(lost=1, wrong=0, doubled=0, again=0)),
        ([*RIGHT, RIGHT[0]], Count(lost=0, wrong=0, doubled=1, again=1)),
        ([RIGHT[0], ("2000-01-02", "2000-01-02", 1, 20)], Count(lost=1, wrong=1, doubled=0, again=0)),
        ([RIGHT[0], ("2000-01-02", "2000-01-03", 9, 20)], Count(lost=1, wrong=1, doubled=0, again=0)),
        ([RIGHT[0], ("2000-01-02", "2000-01-02", 2, 21)], Count(lost=1, wrong=1, doubled=0, again=0)),
    ],
    ids=["right", "lost", "doubled", "older", "another day", "other data"],
)
def test_each_flaw_is_counted(rows: list[tuple[str, str, int, int]], expected: Count, tmp_path: Path) -> None:
    """The destination tells what was lost, wrong and doubled."""
    destination = Destination(tmp_path / "destination.db")
    _write(destination, rows)
    assert destination.count(set(TRUTH), TRUTH) == expected


def test_effect_without_a_delivery_is_wrong(tmp_path: Path) -> None:
    """A wait that went on although nothing was delivered to it went on with a wrong delivery."""
    destination = Destination(tmp_path / "destination.db")
    _write(destination, RIGHT)
    assert destination.count(set(TRUTH), {"2000-01-01": (2, 10)}).wrong == 1


@pytest.mark.parametrize(
    ("flaw", "clean"),
    [
        ({}, True),
        ({"lost": 1}, False),
        ({"wrong": 1}, False),
        ({"doubled": 1}, False),
        ({"unsettled": 1}, False),
        ({"again": 3, "fired_again": 3}, True),
        ({"memory": (200, 300), "descriptors": (100, 205)}, True),
        ({"memory": (200, 400)}, False),
        ({"descriptors": (100, 300)}, False),
    ],
)
def test_each_flaw_makes_a_trial_unclean(flaw: dict[str, Any], clean: bool) -> None:
    """A trial is unclean by a loss, a wrong or double effect, a claim left over, a swollen triggerer."""
    given = {"fault": "f", "way": "workers", "waits": 10, "released": 1, "lost": 0, "wrong": 0, "doubled": 0}
    assert Record(**given | flaw).clean is clean


def test_settled_is_taken_and_claimed_no_more(tmp_path: Path) -> None:
    """A day counts as settled after its commit only, and not while it is claimed anew."""
    ledger, day = SqlLedger(f"sqlite:///{tmp_path}/ledger.db"), "2000-01-01"
    ledger.create()
    stamp = stamp_of(2, dataset="shop/orders", day="/".join(interval_of(day)))
    seen = [settled(ledger, day)]
    for step in (ledger.claim, ledger.commit, ledger.claim, ledger.commit, ledger.claim, ledger.release):
        step(stamp, "owner")
        seen.append(settled(ledger, day))
    assert seen == [False, False, True, False, True, False, True]


def test_only_living_processes_run_waits(tmp_path: Path) -> None:
    """A wait runs where it was started and not ended, as long as that process lives."""
    told = Told(tmp_path / "told")
    here, gone, at = os.getpid(), 2**22 - 1, time.time()
    lines = [("start", "a", here), ("start", "b", gone), ("start", "c", here), ("cleanup", "c", here)]
    lines += [("start", "d", here), ("start", "d", here), ("cleanup", "d", here)]
    text = "".join(
        json.dumps({"what": what, "label": label, "pid": pid, "at": at}) + "\n" for what, label, pid in lines
    )
    told.path.write_text(text + '{"what": "half a li')
    assert told.running() == {"a": {here}, "d": {here}}
    assert told.count("start", since=at + 1) == {}
    told.gone[here] = at
    assert told.running() == {}


def test_records_come_back(tmp_path: Path) -> None:
    """A record is read from its file as it was."""
    record = Record(fault="f", way="workers", waits=1, released=1, lost=0, wrong=1, doubled=0, exits=EXITS)
    record.append_to(tmp_path / "new" / "results.jsonl")
    [found] = Record.read(tmp_path / "new" / "results.jsonl")
    assert (found.fault, found.clean, record.clean) == ("f", False, False)
    assert found == record
