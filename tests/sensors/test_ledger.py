"""A ledger remembers what was taken, and has the say on what may be taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException

from airflow_landmark.deliveries import BadDelivery, Ledger, Stamp, Unavailable
from airflow_landmark.markers import Interval, Taken
from airflow_landmark.sensors import (
    Delivery,
    DeliveryHeld,
    DeliveryNotInTime,
    DeliveryRefused,
    DeliveryUnavailable,
    WaitMisconfigured,
)
from airflow_landmark.stores import PassingTrouble
from parcels import deliver
from sensing import MODES, OWNER, SPAN, context_of, deferral_of, fired, run_task, sensor_of


class Book:
    """A ledger in memory, which is false while it is empty."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, Interval], Taken] = {}
        self.claims: list[tuple[int, str]] = []
        self.trouble: BaseException | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """What was taken last."""
        if self.trouble:
            raise self.trouble
        return self.entries.get((dataset, interval))

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Keep a claim."""
        if self.claims and self.claims[-1][1] != owner:
            raise BadDelivery(stamp.uri, "already taken", f"claimed by {self.claims[-1][1]}")
        self.claims.append((stamp.version, owner))

    def commit(self, stamp: Stamp, owner: str) -> None:
        """Keep what was taken."""
        self.entries[stamp.dataset, stamp.interval] = Taken(stamp.version, stamp.sha256)

    def release(self, stamp: Stamp, owner: str) -> None:
        """Forget the owner's claim, if it has one."""
        if self.claims and self.claims[-1] == (stamp.version, owner):
            self.claims.pop()


@pytest.fixture
def book() -> Book:
    """An empty ledger."""
    return Book()


def taken_once(folder: Path, book: Book, version: int = 2) -> None:
    """Deliver a version and take it."""
    deliver(folder, version=version)
    stamp = Delivery.from_xcom(run_task("poke", folder)).stamp
    book.commit(stamp, "before")


def test_book_is_a_ledger(book: Book) -> None:
    """The protocol is what a ledger of one's own has to fill."""
    assert isinstance(book, Ledger)


@pytest.mark.parametrize("mode", MODES)
def test_version_is_claimed_by_the_task(mode: str, tmp_path: Path, book: Book) -> None:
    """What is handed on is claimed first, in the name of the task, whatever the try."""
    deliver(tmp_path, version=2)
    for attempt in (1, 2):
        run_task(mode, tmp_path, context=context_of(try_number=attempt), ledger=book)
    assert book.claims == [(2, OWNER)] * 2


def test_mapped_tasks_claim_in_names_of_their_own(tmp_path: Path, book: Book) -> None:
    """Elements of a mapped task are different owners."""
    deliver(tmp_path)
    run_task("poke", tmp_path, context=context_of(map_index=3), ledger=book)
    with pytest.raises(DeliveryHeld, match="orders/scheduled/wait/3"):
        run_task("poke", tmp_path, context=context_of(map_index=4), ledger=book)


@pytest.mark.parametrize("mode", MODES)
def test_empty_ledger_is_still_asked(mode: str, tmp_path: Path, book: Book) -> None:
    """A ledger that is false in a condition, as an empty one may be, is a ledger."""
    deliver(tmp_path)
    assert not book
    run_task(mode, tmp_path, ledger=book)
    assert book.claims


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [("accept", 2), ("skip", AirflowSkipException), ("fail", DeliveryRefused)])
def test_delivery_that_was_taken_before(mode: str, case: Any, tmp_path: Path, book: Book) -> None:
    """The very delivery that was taken before is taken again, skipped or refused, as asked."""
    on_taken, ends = case
    taken_once(tmp_path, book)
    if isinstance(ends, int):
        assert run_task(mode, tmp_path, ledger=book, on_taken=on_taken)["version"] == ends
    else:
        with pytest.raises(ends) as caught:
            run_task(mode, tmp_path, ledger=book, on_taken=on_taken)
        assert type(caught.value) is ends
        assert not book.claims


@pytest.mark.parametrize("mode", MODES)
def test_same_version_with_other_bytes_is_refused(mode: str, tmp_path: Path, book: Book) -> None:
    """A version that comes again with other bytes is a conflict, never a success."""
    taken_once(tmp_path, book)
    deliver(tmp_path, version=2, files={"a.csv": b"id\n7\n"})
    with pytest.raises(DeliveryRefused) as caught:
        run_task(mode, tmp_path, ledger=book)
    assert caught.value.kind == "reused version"


@pytest.mark.parametrize("mode", MODES)
def test_lower_version_than_taken_is_waited_out(mode: str, tmp_path: Path, book: Book) -> None:
    """What is older than what was taken is not a delivery."""
    taken_once(tmp_path, book, version=10)
    deliver(tmp_path, version=9)
    with pytest.raises(DeliveryNotInTime, match="version 9"):
        run_task(mode, tmp_path, ledger=book, timeout=0.2)


@pytest.mark.parametrize("mode", MODES)
def test_higher_version_than_taken_is_taken(mode: str, tmp_path: Path, book: Book) -> None:
    """A correction is a delivery: 10 is above 9."""
    taken_once(tmp_path, book, version=9)
    deliver(tmp_path, version=10)
    assert run_task(mode, tmp_path, ledger=book)["version"] == 10


def test_ledger_is_asked_again_at_the_resume(tmp_path: Path, book: Book) -> None:
    """What another task took while this one waited counts."""
    deferral = deferral_of(sensor_of(tmp_path, ledger=book))
    assert deferral.trigger.serialize()[1]["taken"] is None
    deliver(tmp_path, version=2)
    event = fired(deferral)
    (entry,) = [Taken(2, "ab" * 32)]
    book.entries["sales/orders", SPAN] = entry
    with pytest.raises(DeliveryRefused) as caught:
        sensor_of(tmp_path, ledger=book).resume_execution("resume", {"event": event}, context_of())
    assert caught.value.kind == "reused version"


def test_delivery_that_is_refused_is_not_claimed(tmp_path: Path, book: Book) -> None:
    """A claim comes last: bad data leaves none behind."""
    deliver(tmp_path, written={"a.csv": b"id\n2\n", "b.csv": b"id\n2\n3\n"})
    with pytest.raises(DeliveryRefused):
        run_task("poke", tmp_path, ledger=book)
    assert not book.claims


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (ConnectionError("no database"), ConnectionError),
        (ValueError("bad row"), ValueError),
        (Unavailable("ledger", "trouble", "no database"), DeliveryUnavailable),
        (PassingTrouble("ledger", "no bucket"), DeliveryUnavailable),
    ],
)
def test_ledger_in_trouble_may_be_retried(
    mode: str, trouble: Any, raised: Any, tmp_path: Path, book: Book
) -> None:  # fmt: skip
    """A ledger that fails is no fault of the Dag's arguments: the task fails and may be retried."""
    deliver(tmp_path)
    book.trouble = trouble
    with pytest.raises(raised) as caught:
        run_task(mode, tmp_path, ledger=book)
    assert not isinstance(caught.value, WaitMisconfigured)
