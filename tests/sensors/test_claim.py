"""The sensor with a real ledger: what is claimed, when, in whose name, and what others' claims mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from airflow_landmark.deliveries import AccessTrouble, SqlLedger, Stamp, Unavailable
from airflow_landmark.sensors import (
    AccessRefused,
    Delivery,
    DeliveryHeld,
    DeliveryRefused,
    DeliveryUnavailable,
    WaitMisconfigured,
)
from parcels import DATASET, deliver
from sensing import (
    MODES,
    OWNER,
    SPAN,
    context_of,
    deferral_of,
    fired,
    held,
    run_task,
    sensor_of,
    sql_ledger,
)


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """A new ledger in a file."""
    return sql_ledger(tmp_path)


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    """Where the partner delivers."""
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


class Interrupted(SqlLedger):
    """A ledger that lets something happen just before it is asked for a claim."""

    meanwhile: Callable[[Stamp], Any]

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Claim, but not at once."""
        self.meanwhile(stamp)
        super().claim(stamp, owner)


def interrupted(ledger: SqlLedger, folder: Path, meanwhile: Callable[[Stamp], Any]) -> Interrupted:
    """The same ledger, in which something happens just before the next claim."""
    found = Interrupted(f"sqlite:///{folder}/ledger.db")
    found.meanwhile = meanwhile
    return found


@pytest.mark.parametrize("mode", MODES)
def test_document_tells_in_whose_name_it_is_held(mode: str, landing: Path, ledger: SqlLedger) -> None:
    """A later task, which has another name, commits in the name of the one that claimed."""
    deliver(landing, version=2)
    document = run_task(mode, landing, ledger=ledger)
    assert document["claim"] == {"owner": OWNER}
    delivery = Delivery.from_xcom(document)
    assert delivery.owner == OWNER
    assert held(ledger.entry(DATASET, SPAN)) == (None, 2)
    ledger.commit(delivery.stamp, OWNER)
    assert held(ledger.entry(DATASET, SPAN)) == (2, None)


def test_document_without_a_ledger_holds_no_claim(landing: Path) -> None:
    """What nobody remembers nobody holds."""
    deliver(landing)
    document = run_task("poke", landing)
    assert "claim" not in document
    assert Delivery.from_xcom(document).owner is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("on_taken", "ends"), [("accept", None), ("skip", AirflowSkipException), ("fail", DeliveryRefused)]
)
def test_delivery_that_was_taken_before(
    mode: str, on_taken: Any, ends: Any, landing: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """The very delivery again is claimed again, skipped or refused, as asked; only the first holds it."""
    deliver(landing, version=2)
    ledger.commit(Delivery.from_xcom(run_task("poke", landing, ledger=ledger)).stamp, OWNER)
    if ends is None:
        assert run_task(mode, landing, ledger=ledger, on_taken=on_taken)["version"] == 2
        assert held(ledger.entry(DATASET, SPAN)) == (2, 2)
        return
    with pytest.raises(ends) as caught:
        run_task(mode, landing, ledger=ledger, on_taken=on_taken)
    assert type(caught.value) is ends
    assert held(ledger.entry(DATASET, SPAN)) == (2, None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("on_taken", "soft_fail"), [("accept", False), ("skip", True), ("fail", True)])
def test_delivery_that_another_task_holds(
    mode: str, on_taken: Any, soft_fail: bool, landing: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """It fails the try and names the holder, never skips: the other may still fail, and a retry have it."""
    deliver(landing, version=2)
    other = context_of(run_id="backfill")
    document = run_task("poke", landing, context=other, ledger=ledger)
    ends = (
        r"a retry asks again: version 2 .* run: landmark ledger release .* --owner orders/backfill/wait/-1$"
    )
    with pytest.raises(DeliveryHeld, match=ends) as caught:
        run_task(mode, landing, ledger=ledger, on_taken=on_taken, soft_fail=soft_fail)
    assert isinstance(caught.value, AirflowException)
    assert not isinstance(caught.value, AirflowFailException)
    ledger.release(Delivery.from_xcom(document).stamp, "orders/backfill/wait/-1")
    assert run_task(mode, landing, ledger=ledger, on_taken=on_taken)["claim"] == {"owner": OWNER}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("on_taken", "ends"), [("accept", None), ("skip", AirflowSkipException), ("fail", DeliveryRefused)]
)
def test_delivery_that_is_taken_while_it_is_verified(
    mode: str, on_taken: Any, ends: Any, landing: Path, tmp_path: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """What another task takes after this one has judged is taken before, too; and no claim is left behind."""
    deliver(landing, version=2)

    def other_is_faster(stamp: Stamp) -> None:
        ledger.claim(stamp, "other")
        ledger.commit(stamp, "other")

    late = interrupted(ledger, tmp_path, other_is_faster)
    if ends is None:
        assert run_task(mode, landing, ledger=late, on_taken=on_taken)["version"] == 2
        return
    with pytest.raises(ends) as caught:
        run_task(mode, landing, ledger=late, on_taken=on_taken)
    assert type(caught.value) is ends
    assert getattr(caught.value, "kind", "already taken") == "already taken"
    assert held(ledger.entry(DATASET, SPAN)) == (2, None)


class Dying(Interrupted):
    """A ledger whose user is lost between its claim and its look at what is taken."""

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Claim, and never come back."""
        super().claim(stamp, owner)
        raise Unavailable("ledger", "trouble", "lost")


def leave_a_claim(ledger: SqlLedger, landing: Path) -> None:
    """Let another task take what is delivered, and a try of this task die with a claim on it."""
    stamp = Delivery.from_xcom(run_task("poke", landing)).stamp
    ledger.claim(stamp, "other")
    ledger.commit(stamp, "other")
    ledger.claim(stamp, OWNER)


LEAVES = pytest.mark.parametrize(
    ("on_taken", "ends"), [("skip", AirflowSkipException), ("fail", DeliveryRefused)]
)


@pytest.mark.parametrize("mode", MODES)
@LEAVES
def test_claim_of_a_try_that_died_is_given_back(
    mode: str, on_taken: Any, ends: Any, landing: Path, tmp_path: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """A retry that skips or fails since the delivery was taken leaves nothing that keeps others away."""
    deliver(landing, version=2)
    dying = Dying(str(ledger))
    dying.meanwhile = lambda stamp: (ledger.claim(stamp, "other"), ledger.commit(stamp, "other"))
    with pytest.raises(DeliveryUnavailable):
        run_task(mode, landing, ledger=dying, on_taken=on_taken)
    assert held(ledger.entry(DATASET, SPAN)) == (2, 2)
    for _ in range(2):
        with pytest.raises(ends):
            run_task(mode, landing, ledger=ledger, on_taken=on_taken)
        assert held(ledger.entry(DATASET, SPAN)) == (2, None)
    other = context_of(run_id="other")
    assert run_task(mode, landing, context=other, ledger=ledger)["claim"] == {"owner": "orders/other/wait/-1"}


@pytest.mark.parametrize("before", [True, False], ids=["known to the trigger", "taken meanwhile"])
@LEAVES
def test_claim_is_given_back_after_a_wait(
    before: bool, on_taken: Any, ends: Any, landing: Path, tmp_path: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """It makes no difference whether the trigger or the worker finds that the delivery was taken."""
    deliver(landing, version=2)
    marker = landing / "_delivery.json"
    if before:
        leave_a_claim(ledger, landing)
    marker.rename(tmp_path / "kept.json")
    deferral = deferral_of(sensor_of(landing, ledger=ledger, on_taken=on_taken))
    (tmp_path / "kept.json").rename(marker)
    event = fired(deferral)
    if not before:
        leave_a_claim(ledger, landing)
    assert held(ledger.entry(DATASET, SPAN)) == (2, 2)
    sensor = sensor_of(landing, ledger=ledger, on_taken=on_taken)
    with pytest.raises(ends):
        sensor.resume_execution("resume", {"event": event}, context_of())
    assert held(ledger.entry(DATASET, SPAN)) == (2, None)


@pytest.mark.parametrize("mode", MODES)
@LEAVES
def test_claim_that_cannot_be_given_back(
    mode: str, on_taken: Any, ends: Any, landing: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """While the ledger is in trouble the task fails its try, so that a retry gives the claim back."""
    deliver(landing, version=2)
    leave_a_claim(ledger, landing)

    class Away(SqlLedger):
        def release(self, stamp: Stamp, owner: str) -> None:
            """Fail."""
            raise Unavailable("ledger", "trouble", "no database")

    with pytest.raises(DeliveryUnavailable):
        run_task(mode, landing, ledger=Away(str(ledger)), on_taken=on_taken)
    with pytest.raises(ends):
        run_task(mode, landing, ledger=ledger, on_taken=on_taken)


@pytest.mark.parametrize("mode", MODES)
def test_claim_of_another_task_is_left_alone(mode: str, landing: Path, ledger: SqlLedger) -> None:
    """A skip gives back nothing but what this task holds."""
    deliver(landing, version=2)
    leave_a_claim(ledger, landing)
    with pytest.raises(AirflowSkipException):
        run_task(mode, landing, context=context_of(run_id="other"), ledger=ledger, on_taken="skip")
    assert held(ledger.entry(DATASET, SPAN)) == (2, 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("version", "letter", "kind"), [(3, "b", "older version"), (2, "b", "reused version")]
)
def test_claim_that_the_ledger_refuses(
    mode: str, version: int, letter: str, kind: str, landing: Path, tmp_path: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """A higher version or other bytes that came first refuse the delivery for good, and no outlet is told."""
    deliver(landing, version=2)

    def other_is_faster(stamp: Stamp) -> None:
        other = Stamp(
            uri="/other", sha256=letter * 64, size=1, pin=stamp.pin, dataset=stamp.dataset,
            interval=stamp.interval, version=version, files=0, size_bytes=0, rows=0,
        )  # fmt: skip
        ledger.claim(other, "other")

    told: dict[str, Any] = {}
    events = {Asset("orders"): SimpleNamespace(extra=told)}
    with pytest.raises(DeliveryRefused) as caught:
        run_task(
            mode, landing, context=context_of(outlet_events=events), soft_fail=True, outlets=[*events],
            ledger=interrupted(ledger, tmp_path, other_is_faster),
        )  # fmt: skip
    assert caught.value.kind == kind
    assert told == {}


def test_newer_version_that_came_meanwhile_is_the_one_that_is_claimed(
    landing: Path, ledger: SqlLedger
) -> None:
    """What replaced the version that the event tells of is handed on, and claimed."""
    deferral = deferral_of(sensor_of(landing, ledger=ledger))
    deliver(landing, version=2)
    event = fired(deferral)
    deliver(landing, version=5)
    sensor = sensor_of(landing, ledger=ledger)
    assert sensor.resume_execution("resume", {"event": event}, context_of())["version"] == 5
    assert held(ledger.entry(DATASET, SPAN)) == (None, 5)


@pytest.mark.parametrize("mode", MODES)
def test_correction_takes_the_place_of_a_claim(mode: str, landing: Path, ledger: SqlLedger) -> None:
    """A higher version is claimed although a lower one is still worked on."""
    deliver(landing, version=2)
    run_task("poke", landing, context=context_of(run_id="first"), ledger=ledger)
    deliver(landing, version=3)
    assert run_task(mode, landing, ledger=ledger)["version"] == 3
    assert held(ledger.entry(DATASET, SPAN)) == (None, 3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (Unavailable("ledger", "trouble", "no database"), DeliveryUnavailable),
        (AccessTrouble("ledger", "access", "no rights"), AccessRefused),
        (AccessTrouble("ledger", "configuration", "no URL"), WaitMisconfigured),
    ],
)
def test_ledger_that_fails_at_the_claim(
    mode: str, trouble: Exception, raised: Any, landing: Path, tmp_path: Path, ledger: SqlLedger
) -> None:  # fmt: skip
    """A ledger in trouble fails the task, for good or not, also with soft_fail."""
    deliver(landing)

    def fail(_: Stamp) -> None:
        raise trouble

    with pytest.raises(raised):
        run_task(mode, landing, ledger=interrupted(ledger, tmp_path, fail), soft_fail=True)


@pytest.mark.parametrize("mode", MODES)
def test_ledger_without_tables(mode: str, landing: Path, tmp_path: Path) -> None:
    """The error says which command makes them."""
    deliver(landing)
    with pytest.raises(AccessRefused, match="landmark ledger create"):
        run_task(mode, landing, ledger=SqlLedger(f"sqlite:///{tmp_path}/none.db"))


@pytest.mark.parametrize("ledger", ["sqlite:////srv/ledger.db", 7, {}, Asset("orders")])
def test_what_is_no_ledger_is_refused_when_the_dag_is_parsed(ledger: Any, landing: Path) -> None:
    """An address is not a ledger yet."""
    with pytest.raises(TypeError, match="SqlLedger"):
        sensor_of(landing, ledger=ledger)
