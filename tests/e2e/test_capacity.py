"""The capacity commands on a real Airflow: 40 deferrals with known times, by the database and by the API."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

from airflow_landmark.testing import LocalAirflow, wait_until

COUNT = 40
CLOSE = 6.0
"""Seconds within which a wait's ends must be recovered: the scheduling of the resume lies in them."""


class Known(NamedTuple):
    """When each task deferred and was resumed, and what the command said while all waited."""

    waits: list[tuple[float, float]]
    watched: list[dict[str, Any]]

    @property
    def peak(self) -> int:
        """The most that waited at once."""
        edges = sorted([(start, 1) for start, _ in self.waits] + [(end, -1) for _, end in self.waits])
        count = highest = 0
        for _, change in edges:
            count += change
            highest = max(highest, count)
        return highest


def _token(airflow: LocalAirflow) -> str:
    with urllib.request.urlopen(f"{airflow.url}/auth/token") as answer:  # noqa: S310
        return str(json.loads(answer.read())["access_token"])


def _places(airflow: LocalAirflow) -> list[list[str]]:
    database = airflow.environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    return [["--db", database], ["--api", airflow.url]]


def _run(airflow: LocalAirflow, arguments: Iterable[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow_landmark.cli", "capacity", *arguments]
    environment = os.environ | {"LANDMARK_API_TOKEN": _token(airflow)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def _watched(airflow: LocalAirflow, place: list[str]) -> dict[str, Any] | None:
    """What the command says, once a triggerer holds every wait: rows come before their owners."""
    done = _run(airflow, ["watch", *place, "--once", "--json", "--grace", "120"])
    document: dict[str, Any] = json.loads(done.stdout)
    held = sum(one["triggers"] for one in document["triggerers"] if one["alive"])
    return document if held == COUNT else None


@pytest.fixture(scope="module")
def known(airflow: LocalAirflow) -> Known:
    """Return the known times of one run of 40 waits."""
    run = airflow.api.start_run(dag_id="capacity_known")
    wait_until(check=lambda: airflow.database.trigger_count() >= COUNT, what="all wait", seconds=120)
    watched = [
        wait_until(check=lambda place=place: _watched(airflow, place), what="all are held", seconds=60)
        for place in _places(airflow)
    ]
    run.wait(seconds=200)
    found = [run.xcom(task_id="wait", map_index=index) for index in range(COUNT)]
    return Known([(start, end) for start, end in found], watched)


def test_watch_sees_all_waits(known: Known) -> None:
    """While all 40 wait, database and API tell the same."""
    for document in known.watched:
        assert document["triggers"] == COUNT
        assert document["kinds"] == {"airflow.providers.standard.triggers.temporal.DateTimeTrigger": COUNT}
        assert sum(one["triggers"] for one in document["triggerers"] if one["alive"]) == COUNT


@pytest.mark.parametrize("way", [0, 1])
def test_intervals_peak_and_durations_are_recovered(airflow: LocalAirflow, known: Known, way: int) -> None:
    """Each wait's start and end to seconds, and the peak to the wait."""
    from airflow_landmark.capacity._places import Opened
    from airflow_landmark.capacity._read_database import open_database
    from airflow_landmark.capacity._read_rest import RestApi

    since = (datetime.now(tz=timezone.utc) - timedelta(hours=1)).timestamp()
    with open_database(_places(airflow)[0][1]) as database:
        place = (
            Opened(database=database)
            if way == 0
            else Opened(api=RestApi(url=airflow.url, token=_token(airflow)))
        )
        past = place.past(since, set(), lambda _done, _whole: None)
    assert past is not None
    found = {one.key.map_index: one for one in past.intervals if one.key.dag_id == "capacity_known"}
    assert sorted(found) == list(range(COUNT))
    for index, (start, end) in enumerate(known.waits):
        wait = found[index]
        assert abs(wait.start - start) < CLOSE
        assert abs((wait.end or 0.0) - end) < CLOSE
    spans = [(one.start, one.end or 0.0) for one in found.values()]
    assert Known(spans, []).peak == known.peak == COUNT


@pytest.mark.parametrize("way", [0, 1])
def test_check_foretells_what_was(airflow: LocalAirflow, known: Known, way: int) -> None:
    """The past run comes again in the forecast, with its peak."""
    done = _run(airflow, ["check", *_places(airflow)[way], "--history", "1d", "--horizon", "1w", "--json"])
    assert done.returncode in (0, 4), done.stderr
    document = json.loads(done.stdout)
    assert any(COUNT <= round(value) <= COUNT + 4 for value in _numbers(document, "expected")), done.stdout


def _numbers(document: Any, name: str) -> Iterable[float]:
    """All values of an estimate of this name, wherever it stands."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == name and isinstance(value, dict) and isinstance(value.get("value"), (int, float)):
                yield value["value"]
            yield from _numbers(value, name)
    elif isinstance(document, list):
        for one in document:
            yield from _numbers(one, name)


def test_backfill_says_what_the_dry_run_says(airflow: LocalAirflow) -> None:
    """Date by date; for a schedule that cannot be backfilled both refuse."""
    airflow.api.wait_dag(dag_id="capacity_daily")
    words = ["--from-date", "2026-02-01", "--to-date", "2026-02-14", "--dry-run"]
    shown = airflow.command(arguments=["backfill", "create", "--dag-id", "capacity_daily", *words])
    place = _places(airflow)[0]
    asked = ["--dag", "capacity_daily", "--from", "2026-02-01", "--to", "2026-02-14"]
    document = json.loads(_run(airflow, ["backfill", *asked, *place, "--json"]).stdout)
    dates = [run["date"][:10] for run in document["runs"] if run["fate"] in ("new", "again")]
    assert document["made"] == len(dates) > 0
    assert dates == re.findall(r"^\| (2026-02-\d\d) ", shown, re.MULTILINE)
    known = ["--dag", "capacity_known", "--from", "2026-02-01", "--to", "2026-02-14"]
    refused = _run(airflow, ["backfill", *known, *place])
    assert refused.returncode == 1
    assert "no periodic schedule" in refused.stdout


def test_a_wrong_token(airflow: LocalAirflow) -> None:
    """One line, status 3, and the token is not shown."""
    command = [
        sys.executable,
        "-m",
        "airflow_landmark.cli",
        "capacity",
        "watch",
        "--api",
        airflow.url,
        "--once",
    ]
    environment = os.environ | {"LANDMARK_API_TOKEN": "wr0ng-t0ken"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "token" in done.stderr
    assert "wr0ng" not in done.stdout + done.stderr
