"""Every argument means the same in every mode: one table of scenarios, one result each."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.markers import parse_instant
from airflow_landmark.sensors import AccessRefused, DeliveryNotInTime, DeliveryRefused, WaitMisconfigured
from airflow_landmark.stores import LastingTrouble, LocalStore
from parcels import DAY_BEFORE, END, FILES, deliver, marker_of, put
from sensing import MODES, run_task

pytestmark = pytest.mark.usefixtures("no_pauses")


def nothing(folder: Path) -> None:
    """Nothing lies there."""


ELSEWHERE = {"uri": "https://host.example/in/_delivery.json"}


@dataclass
class Scenario:
    """What lies there, what is asked, and how the task ends.

    :param prepare: what lies there when the task starts.
    :param ends: the version that is taken, or the kind of the refusal, or the class of the error.
    :param asks: arguments of the sensor.
    :param comes: what the partner does 0.15 seconds later.
    :param says: what stands in the error.
    """

    prepare: Callable[[Path], Any]
    ends: Any
    asks: dict[str, Any] = field(default_factory=dict)
    comes: Callable[[Path], Any] | None = None
    says: str = ""


def with_rows(folder: Path, rows: int) -> None:
    """Deliver a file with a count of rows."""
    document = marker_of({"a.csv": b"1\n2\n"})
    document["files"][0]["rows"] = rows
    put(folder / "a.csv", b"1\n2\n")
    put(folder / "_delivery.json", json.dumps(document))


def two_of_one_version(folder: Path) -> None:
    """Two different markers of the same version."""
    deliver(folder, name="one.json")
    deliver(folder, name="two.json", producer="somebody else")


def damaged(folder: Path) -> None:
    """A file whose bytes are not what the marker says."""
    deliver(folder, written=FILES | {"b.csv": b"id\n2\n4\n"})


def half(folder: Path) -> None:
    """Half a marker."""
    put(folder / "_delivery.json", "{")


def other_day(folder: Path) -> None:
    """The day before's marker."""
    deliver(folder, interval=DAY_BEFORE)


def incomplete(folder: Path) -> None:
    """A marker whose second file is not there."""
    deliver(folder, written={"a.csv": FILES["a.csv"]})


def linked(folder: Path) -> None:
    """A marker that is a link."""
    deliver(folder, name="elsewhere.json")
    (folder / "_delivery.json").symlink_to("elsewhere.json")


def long_ago() -> timedelta:
    """A deadline that passed an hour ago."""
    return datetime.now(tz=timezone.utc) - parse_instant(END) - timedelta(hours=1)


SOON = {"timeout": 0.2}
SCENARIOS = {
    "there": Scenario(deliver, 1),
    "comes": Scenario(nothing, 1, comes=deliver),
    "never comes": Scenario(nothing, DeliveryNotInTime, SOON, says="no such file"),
    "empty and meant": Scenario(lambda f: deliver(f, files={}), 1),
    "corrupt": Scenario(damaged, "corrupt", says="b.csv"),
    "corrupt, only presence asked": Scenario(damaged, 1, {"verify": "files"}),
    "file missing": Scenario(incomplete, DeliveryNotInTime, SOON, says="b.csv"),
    "file comes": Scenario(incomplete, 1, comes=lambda f: put(f / "b.csv", FILES["b.csv"])),
    "file missing, not waited for": Scenario(incomplete, "missing", {"on_incomplete": "fail"}, says="b.csv"),
    "file short, not waited for": Scenario(
        lambda f: deliver(f, written=FILES | {"b.csv": b"i"}),
        "incomplete",
        {"on_incomplete": "fail"},
        says="1 bytes",
    ),
    "file missing, only the marker asked": Scenario(incomplete, 1, {"verify": "marker"}),
    "file is a link": Scenario(
        lambda f: (incomplete(f), (f / "b.csv").symlink_to("a.csv")), DeliveryNotInTime, SOON, says="b.csv"
    ),
    "other day": Scenario(other_day, DeliveryNotInTime, SOON, says="2024-04-30"),
    "other day, not waited for": Scenario(other_day, "other interval", {"on_mismatch": "fail"}),
    "other dataset, not waited for": Scenario(
        lambda f: deliver(f, dataset="sales/returns"), "other dataset", {"on_mismatch": "fail"}
    ),
    "other day, then this": Scenario(other_day, 1, comes=deliver),
    "unreadable": Scenario(half, "unreadable", {"unreadable_looks": 3}),
    "unreadable at once": Scenario(half, "unreadable", {"unreadable_looks": 1}),
    "unreadable for a while": Scenario(half, 1, {"unreadable_looks": 50}, comes=deliver),
    "unreadable at the deadline": Scenario(
        half, DeliveryNotInTime, SOON | {"unreadable_looks": 50}, says="unreadable"
    ),
    "older": Scenario(deliver, DeliveryNotInTime, SOON | {"min_version": 2}, says="version 1"),
    "older, then newer": Scenario(deliver, 10, {"min_version": 9}, comes=lambda f: deliver(f, version=10)),
    "withdrawn": Scenario(
        lambda f: deliver(f, status="withdrawn"), DeliveryNotInTime, SOON, says="withdrawn"
    ),
    "withdrawn, then replaced": Scenario(
        lambda f: deliver(f, status="withdrawn"), 2, comes=lambda f: deliver(f, version=2)
    ),
    "late": Scenario(nothing, DeliveryNotInTime, {"deadline": long_ago()}, says="by deadline"),
    "late, but there": Scenario(deliver, 1, {"deadline": long_ago()}),
    "no time at all, but there": Scenario(deliver, 1, {"timeout": 0}),
    "pattern": Scenario(
        lambda f: [deliver(f, version=v, name=f"v{v}.json") for v in (2, 10, 9)], 10, {"pattern": "v*.json"}
    ),
    "pattern without a match": Scenario(
        deliver, DeliveryNotInTime, SOON | {"pattern": "v*.json"}, says="matches"
    ),
    "pattern, match comes": Scenario(
        nothing, 1, {"pattern": "v*.json"}, comes=lambda f: deliver(f, name="v1.json")
    ),
    "pattern with rivals": Scenario(two_of_one_version, "reused version", {"pattern": "*.json"}),
    "pattern beside rubbish": Scenario(
        lambda f: (put(f / "v0.json", "{"), deliver(f, name="v1.json")), 1, {"pattern": "v*.json"}
    ),
    "marker is a link": Scenario(linked, AccessRefused, says="link"),
    "marker is a folder": Scenario(
        lambda f: (f / "_delivery.json").mkdir(), AccessRefused, says="regular file"
    ),
    "rows": Scenario(lambda f: with_rows(f, 2), 1, {"verify": "rows"}),
    "wrong rows": Scenario(lambda f: with_rows(f, 3), "rows", {"verify": "rows"}, says="3 rows"),
    "wrong rows, not counted": Scenario(lambda f: with_rows(f, 3), 1),
    "unlisted file": Scenario(
        lambda f: (put(f / "x", "x"), deliver(f)), "unexpected", {"on_unexpected": "fail"}
    ),
    "unlisted file, ignored": Scenario(lambda f: (put(f / "x", "x"), deliver(f)), 1),
    "connection that does not exist": Scenario(
        nothing, WaitMisconfigured, ELSEWHERE | {"conn_id": "nobody"}, says="connection 'nobody'"
    ),
    "connection to another origin": Scenario(
        nothing, WaitMisconfigured, ELSEWHERE | {"conn_id": "partner"}, says="it is for https://other.example"
    ),
    "connection to something else": Scenario(
        nothing, WaitMisconfigured, ELSEWHERE | {"conn_id": "database"}, says="it is of type 'postgres'"
    ),
}


@pytest.fixture(autouse=True)
def connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that do not fit to the place that is waited for."""
    monkeypatch.setenv("AIRFLOW_CONN_PARTNER", "https://user:pw-EXAMPLE-1@other.example")
    monkeypatch.setenv("AIRFLOW_CONN_DATABASE", "postgres://user:pw-EXAMPLE-1@host.example/orders")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, mode: str, tmp_path: Path) -> None:
    """The same delivery and the same arguments end in the same way, however the task waits."""
    scenario = SCENARIOS[name]
    asks = {"uri": str(tmp_path)} if "pattern" in scenario.asks else {}
    scenario.prepare(tmp_path)
    partner = threading.Timer(0.15, lambda: scenario.comes and scenario.comes(tmp_path))
    partner.start()
    if scenario.comes is None:
        partner.cancel()
    try:
        if isinstance(scenario.ends, int):
            document = run_task(mode, tmp_path, **asks | scenario.asks)
            assert document["version"] == scenario.ends
            return
        raised = DeliveryRefused if isinstance(scenario.ends, str) else scenario.ends
        with pytest.raises(raised) as caught:
            run_task(mode, tmp_path, **asks | scenario.asks)
        assert scenario.says in str(caught.value)
        assert not isinstance(scenario.ends, str) or getattr(caught.value, "kind", "") == scenario.ends
    finally:
        partner.join()


@pytest.mark.parametrize("mode", MODES)
def test_files_that_may_not_be_read(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that the store refuses to show end the wait after some looks, long before its deadline."""

    async def refused(_store: LocalStore, addresses: Any, **_how: Any) -> Any:
        return {address: LastingTrouble(address.uri, "permission denied") for address in addresses}

    deliver(tmp_path)
    monkeypatch.setattr(LocalStore, "facts_many", refused)
    with pytest.raises(AccessRefused, match="permission denied"):
        run_task(mode, tmp_path, timeout=20)


@pytest.mark.parametrize("mode", MODES)
def test_documents_are_equal_in_every_mode(mode: str, tmp_path: Path) -> None:
    """What is returned does not tell how it was waited for."""
    deliver(tmp_path, version=7, producer="tills")
    assert run_task(mode, tmp_path) == run_task("poke", tmp_path)


def test_unreadable_looks_count_over_rescheduled_starts(tmp_path: Path) -> None:
    """A start that finds other bytes counts anew: a marker that is being written fails nobody."""
    written = threading.Event()

    def write() -> None:
        for size in range(1, 12):
            if written.wait(0.06):
                return
            put(tmp_path / "_delivery.json", "{" * size)
        deliver(tmp_path)

    writer = threading.Thread(target=write)
    put(tmp_path / "_delivery.json", "{")
    writer.start()
    try:
        assert run_task("reschedule", tmp_path, unreadable_looks=4)["version"] == 1
    finally:
        written.set()
        writer.join()
