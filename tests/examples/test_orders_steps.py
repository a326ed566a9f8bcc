"""The orders pipeline step by step: what each does, what it refuses, what repeating it changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from orders_clean_up import clean_up
from orders_errors import InvalidOrders, NotSetUp, NotStaged, Superseded
from orders_notify import Notice, notify
from orders_operation import Operation
from orders_replace import replace
from orders_stage import BATCH_ROWS, stage
from orders_tables import staging_table
from orders_validate import validate
from sqlalchemy import Connection, inspect

from airflow_landmark.deliveries import BadDelivery, Delivery
from ordering import (
    CORRECTED,
    DAY,
    GOOD,
    HEADER,
    STEPS,
    Destination,
    announced,
    at_points,
    csv_of,
    delivered,
    orders_of,
    published,
    state_of,
    through,
)

EMPTY: dict[str, Any] = {"version": 0, "orders": {}, "published": None, "notices": 0}


def test_a_day_goes_through(destination: Destination, tmp_path: Path) -> None:
    """The day is in its partition, its report is published, and one notice was sent."""
    delivery = delivered(tmp_path, GOOD)
    assert through(delivery, destination) == [3, 3, "replaced", "published", "sent"]
    assert state_of(destination) == {
        "version": 1, "orders": GOOD, "published": (1, 3, 60), "notices": 1
    }  # fmt: skip


@pytest.mark.parametrize("times", [2, 3])
def test_steps_may_be_repeated(destination: Destination, tmp_path: Path, times: int) -> None:
    """Every step done several times in a row, and all of them over again, leaves what one pass leaves."""
    delivery = delivered(tmp_path, GOOD)
    for step in STEPS.values():
        for _ in range(times):
            step(delivery=delivery, destination=destination)
    once = state_of(destination)
    assert (once["orders"], once["notices"]) == (GOOD, 1)
    assert through(delivery, destination)[2:] == ["already replaced", "already published", "already sent"]
    assert state_of(destination) == once
    report = published(destination, DAY)
    assert report is not None
    assert report.revision == 1


def test_a_correction_replaces_the_day(destination: Destination, tmp_path: Path) -> None:
    """A row that disappeared from the source disappears from the destination; the notice says corrected."""
    through(delivered(tmp_path, GOOD), destination)
    through(delivered(tmp_path, CORRECTED, version=2), destination)
    assert state_of(destination) == {
        "version": 2, "orders": CORRECTED, "published": (2, 2, 35), "notices": 2
    }  # fmt: skip


def test_an_empty_day_empties_the_partition(destination: Destination, tmp_path: Path) -> None:
    """A delivery of no orders is as complete as any: what was there before goes."""
    through(delivered(tmp_path, GOOD), destination)
    through(delivered(tmp_path, {}, version=2), destination)
    assert state_of(destination) == {"version": 2, "orders": {}, "published": (2, 0, 0), "notices": 2}


def test_days_do_not_touch_each_other(destination: Destination, tmp_path: Path) -> None:
    """Replacing a day leaves the others alone."""
    through(delivered(tmp_path, GOOD), destination)
    through(delivered(tmp_path, CORRECTED, day="2026-05-02"), destination)
    assert state_of(destination)["orders"] == GOOD
    assert state_of(destination, day="2026-05-02")["orders"] == CORRECTED


def test_mended_code_replaces_what_older_code_made(
    destination: Destination, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same input by newer code takes the place of the older code's result, and never the reverse."""
    delivery = delivered(tmp_path, GOOD)
    through(delivery, destination)
    first = orders_of(destination, DAY).operation
    monkeypatch.setattr("orders_settings.CODE_VERSION", 2)
    assert through(delivery, destination)[2:] == ["replaced", "published", "sent"]
    assert orders_of(destination, DAY).operation != first
    monkeypatch.setattr("orders_settings.CODE_VERSION", 1)
    with pytest.raises(Superseded):
        replace(delivery=delivery, destination=destination)


def test_many_rows_in_batches(destination: Destination, tmp_path: Path) -> None:
    """More rows than fit a batch all arrive, and no statement holds more than a batch."""
    orders = {f"o{number:05}": number for number in range(2 * BATCH_ROWS + 1)}
    delivery = delivered(tmp_path, orders)
    inserted: list[str] = []
    with at_points(destination, lambda _n, text: inserted.append(text)):
        assert stage(delivery=delivery, destination=destination) == len(orders)
    assert sum(text.startswith("INSERT INTO orders_staging_") for text in inserted) >= 3
    through(delivery, destination)
    assert state_of(destination)["orders"] == orders


def test_several_files(destination: Destination, tmp_path: Path) -> None:
    """All files of the manifest belong to the day."""
    from ordering import accepted

    texts = {"a.csv": csv_of({"o1": 10}), "sub/b.csv": csv_of({"o2": 20, "o3": 30})}
    (tmp_path / "in" / "sub").mkdir(parents=True)
    through(accepted(announced(tmp_path / "in", texts)), destination)
    assert state_of(destination)["orders"] == GOOD


def wrong_count(delivery: Delivery) -> Delivery:
    """The delivery with a manifest that promises one order more."""
    document = json.loads(json.dumps(delivery.to_xcom()))
    document["files"][0]["rows"] += 1
    return Delivery.from_xcom(document)


LATE = "o4,2026-05-02T00:00:00Z,1\n"
EARLY = "o0,2026-05-01T01:59:59+02:00,1\n"


@pytest.mark.parametrize(
    ("text", "change", "told"),
    [
        (csv_of(GOOD), wrong_count, "orders.csv: the manifest promises 4 rows, found 3"),
        (csv_of(GOOD) + f"o2,{DAY}T13:00:00Z,5\n", None, "order o2 is there 2 times"),
        (csv_of(GOOD) + LATE, None, "order o4 was made at 2026-05-02 00:00:00Z, not on 2026-05-01"),
        (csv_of(GOOD) + EARLY, None, "order o0 was made at 2026-04-30 23:59:59Z, not on 2026-05-01"),
    ],
    ids=["count", "key", "late", "early"],
)
def test_wrong_contents_are_refused_unseen(
    destination: Destination,
    tmp_path: Path,
    text: str,
    change: Callable[[Delivery], Delivery] | None,
    told: str,
) -> None:
    """Counts, keys and dates that do not hold are named, before anything of the day is visible."""
    delivery = delivered(tmp_path, text)
    delivery = change(delivery) if change else delivery
    stage(delivery=delivery, destination=destination)
    with pytest.raises(InvalidOrders) as caught:
        validate(delivery=delivery, destination=destination)
    assert caught.value.problems == (told,)
    assert state_of(destination) == EMPTY


def test_all_problems_are_told_at_once(destination: Destination, tmp_path: Path) -> None:
    """One error names wrong counts, repeated keys and wrong days together."""
    delivery = wrong_count(delivered(tmp_path, csv_of(GOOD) + f"o2,{DAY}T13:00:00Z,5\n" + LATE))
    stage(delivery=delivery, destination=destination)
    with pytest.raises(InvalidOrders) as caught:
        validate(delivery=delivery, destination=destination)
    assert len(caught.value.problems) == 3


def test_a_broken_file_stages_nothing(destination: Destination, tmp_path: Path) -> None:
    """A file that is no list of orders leaves no staging table behind."""
    delivery = delivered(tmp_path, csv_of(GOOD) + f"o4,{DAY},1\n")
    with pytest.raises(InvalidOrders, match="line 5"):
        stage(delivery=delivery, destination=destination)
    name = staging_table(Operation.of(delivery).name).name
    assert not inspect(destination._engine).has_table(name)
    with pytest.raises(NotStaged):
        validate(delivery=delivery, destination=destination)


def test_a_changed_file_is_refused(destination: Destination, tmp_path: Path) -> None:
    """A file that is not the one any more that was verified is not read."""
    delivery = delivered(tmp_path, GOOD)
    path = tmp_path / DAY / "v1" / "orders.csv"
    path.unlink()
    path.write_text(csv_of(CORRECTED))
    with pytest.raises(BadDelivery):
        stage(delivery=delivery, destination=destination)
    assert state_of(destination) == EMPTY


@pytest.mark.parametrize(
    ("zone", "start", "end"),
    [
        ("UTC", "2026-05-01T00:00:00Z", "2026-05-01T12:00:00Z"),
        ("UTC", "2026-05-01T00:00:00Z", "2026-05-03T00:00:00Z"),
        ("UTC", "2026-05-01T01:00:00Z", "2026-05-02T01:00:00Z"),
        ("Africa/Cairo", "2026-04-23T23:00:00Z", "2026-04-24T21:00:00Z"),
        ("Africa/Cairo", "2026-04-22T22:00:00Z", "2026-04-23T21:00:00Z"),
    ],
    ids=["half a day", "two days", "from one to one", "an hour late", "an hour short"],
)
def test_a_day_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, start: str, end: str) -> None:
    """A delivery about anything but one day is refused: it has no partition."""
    monkeypatch.setattr("orders_settings.TIMEZONE", zone)
    document = delivered(tmp_path, GOOD).to_xcom()
    document["interval"] = {"start": start, "end": end}
    with pytest.raises(InvalidOrders, match=f"expected one day in {zone}"):
        Operation.of(Delivery.from_xcom(document))


@pytest.mark.parametrize(
    ("zone", "day", "start", "end"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"),
        ("America/Havana", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
        ("America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
        ("America/Havana", "2026-10-31", "2026-10-31T04:00:00Z", "2026-11-01T05:00:00Z"),
        ("America/Havana", "2026-11-01", "2026-11-01T05:00:00Z", "2026-11-02T05:00:00Z"),
        ("Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"),
    ],
)
def test_days_at_a_clock_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, day: str, start: str, end: str
) -> None:
    """A day of 23 or 25 hours is one day, also where its midnight does not exist or comes twice."""
    monkeypatch.setattr("orders_settings.TIMEZONE", zone)
    document = delivered(tmp_path, GOOD).to_xcom()
    document["interval"] = {"start": start, "end": end}
    assert Operation.of(Delivery.from_xcom(document)).day == day


def test_no_table_is_made_silently(tmp_path: Path) -> None:
    """Without the set-up the first step fails, and says which command is missing."""
    path, delivery = tmp_path / "new.db", delivered(tmp_path, GOOD)
    for _ in range(2):
        with pytest.raises(NotSetUp, match=r"python orders_setup\.py"):
            stage(delivery=delivery, destination=Destination(f"sqlite:///{path}"))
        assert not path.exists() or path.stat().st_size == 0
        path.touch()  # an empty file has no tables either


def test_no_password_is_shown() -> None:
    """The destination's repr, which errors carry, has no password in it."""
    assert "pw-EXAMPLE" not in repr(Destination("postgresql+psycopg2://shop:pw-EXAMPLE@127.0.0.1/shop"))
    with pytest.raises(ValueError, match="SQLite or PostgreSQL") as caught:
        Destination("mysql://shop:pw-EXAMPLE@127.0.0.1/shop")
    assert "pw-EXAMPLE" not in str(caught.value)


def test_a_transport_that_fails_is_asked_again(destination: Destination, tmp_path: Path) -> None:
    """A notice that could not be sent is not recorded as sent; its identity stays the same."""
    delivery = delivered(tmp_path, GOOD)
    through(delivery, destination, last="publish")
    tried: list[Notice] = []

    def send(_connection: Connection, notice: Notice) -> None:
        tried.append(notice)
        if len(tried) == 1:
            raise ConnectionError("the mail server is away")

    with pytest.raises(ConnectionError):
        notify(delivery=delivery, destination=destination, send=send)
    answers = [notify(delivery=delivery, destination=destination, send=send) for _ in range(2)]
    assert answers == ["sent", "already sent"]
    assert len(tried) == 2
    assert tried[0] == tried[1]
    assert tried[0].text == "Orders of 2026-05-01: 3 orders, 60 cents"


def stagings(destination: Destination) -> int:
    """How many staging tables are there."""
    names = inspect(destination._engine).get_table_names()
    return sum(name.startswith("orders_staging_") for name in names)


def test_settled_stagings_are_dropped(destination: Destination, tmp_path: Path) -> None:
    """What is in place or superseded goes; what may still be retried stays until it is old."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    waiting = delivered(tmp_path, GOOD, day="2026-05-02")
    for delivery in (first, second, waiting):
        stage(delivery=delivery, destination=destination)
    replace(delivery=second, destination=destination)
    gone = {Operation.of(delivery).name for delivery in (first, second)}
    assert set(clean_up(destination=destination)) == gone
    assert stagings(destination) == 1
    later = datetime.now(tz=timezone.utc) + timedelta(days=8)
    assert clean_up(destination=destination, now=later) == [Operation.of(waiting).name]
    assert stagings(destination) == 0
    assert clean_up(destination=destination, now=later) == []


def test_steps_after_the_clean_up(destination: Destination, tmp_path: Path) -> None:
    """Once a day is in place its later steps may be cleared without its staging; a new start stages anew."""
    delivery = delivered(tmp_path, GOOD)
    through(delivery, destination)
    clean_up(destination=destination)
    assert replace(delivery=delivery, destination=destination) == "already replaced"
    with pytest.raises(NotStaged, match="clear the task `stage`"):
        validate(delivery=delivery, destination=destination)
    assert through(delivery, destination)[:2] == [3, 3]
    assert state_of(destination)["orders"] == GOOD


def test_the_header_is_required(destination: Destination, tmp_path: Path) -> None:
    """A file whose columns have another order or name is not guessed at."""
    swapped = HEADER.replace("order_id,ordered_at", "ordered_at,order_id")
    with pytest.raises(InvalidOrders, match="expected the columns order_id, ordered_at, amount_cents"):
        stage(delivery=delivered(tmp_path, swapped), destination=destination)
