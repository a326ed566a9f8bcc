"""What an accepted delivery goes through before the task succeeds, and what the task's log tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from structlog.testing import capture_logs

from airflow_landmark.sensors import (
    AccessRefused,
    Delivery,
    DeliveryRefused,
    DeliveryUnavailable,
    MarkerSensor,
)
from parcels import DATASET, DAY_BEFORE, END, FILES, START, deliver, put
from sensing import MODES, context_of, deferral_of, fired, run_task, sensor_of


class Extras(dict[Any, Any]):
    """The outlet events of a task, each with a place for extra facts."""

    def __missing__(self, key: Any) -> Any:
        event = type("Event", (), {})()
        event.extra = {"kept": True}
        self[key] = event
        return event


class Picky(MarkerSensor):
    """Refuses deliveries by rules of its own."""

    seen: list[tuple[Delivery, Any]]

    def __init__(self, *, least_files: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.least_files = least_files

    def validate(self, delivery: Delivery, context: Any) -> None:
        """Ask for a number of files."""
        type(self).seen.append((delivery, context))
        if len(delivery.files()) < self.least_files:
            raise AirflowFailException("too few files")


@pytest.mark.parametrize("mode", MODES)
def test_outlets_tell_what_was_delivered(mode: str, tmp_path: Path) -> None:
    """Every asset of the task's outlets gets the delivery's identity with its event."""
    deliver(tmp_path, version=5)
    assets = [Asset("orders"), Asset("orders_raw", uri="file:///in/orders")]
    context = context_of(outlet_events=Extras())
    document = run_task(mode, tmp_path, context=context, outlets=[*assets, AssetAlias("any")])
    assert set(context["outlet_events"]) == set(assets)
    for asset in assets:
        extra = context["outlet_events"][asset].extra
        assert json.loads(json.dumps(extra)) == {
            "kept": True,
            "dataset": DATASET,
            "interval": {"start": START, "end": END},
            "version": 5,
            "marker_sha256": document["marker"]["sha256"],
        }


def test_outlets_of_a_refused_delivery_tell_nothing(tmp_path: Path) -> None:
    """Nothing is said of a delivery that was refused."""
    deliver(tmp_path, written=FILES | {"a.csv": b"id\n2\n"})
    context = context_of(outlet_events=Extras())
    with pytest.raises(DeliveryRefused):
        run_task("poke", tmp_path, context=context, outlets=[Asset("orders")])
    assert not context["outlet_events"]


@pytest.mark.parametrize("mode", MODES)
def test_own_check_sees_the_delivery(mode: str, tmp_path: Path) -> None:
    """A subclass may look at the verified delivery, with the task's context, once."""
    Picky.seen = []
    deliver(tmp_path, version=2)
    context = context_of()
    document = run_task(mode, tmp_path, context=context, made=Picky, least_files=2)
    ((delivery, given),) = Picky.seen
    assert given is context
    assert delivery.to_xcom() == document
    assert [file.path for file in delivery.files()] == ["a.csv", "b.csv"]


@pytest.mark.parametrize("soft_fail", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_own_check_may_refuse(mode: str, soft_fail: bool, tmp_path: Path) -> None:
    """What a subclass raises ends the task as it is, whatever soft_fail says, and nothing is handed on."""
    Picky.seen = []
    deliver(tmp_path)
    context = context_of(outlet_events=Extras())
    with pytest.raises(AirflowFailException, match="too few files") as caught:
        run_task(
            mode,
            tmp_path,
            context=context,
            made=Picky,
            least_files=3,
            soft_fail=soft_fail,
            outlets=[Asset("o")],
        )
    assert not isinstance(caught.value, AirflowSkipException)
    assert not context["outlet_events"]


def lines_of(logs: list[Any]) -> str:
    """The log as one text."""
    return "\n".join(str(line) for line in logs)


def test_log_tells_the_wait_and_what_was_accepted(tmp_path: Path) -> None:
    """With the triggerer's log lost, the task's own says where, when, how often, what and which."""
    deliver(tmp_path, interval=DAY_BEFORE)
    deferral = deferral_of(sensor_of(tmp_path, min_version=2))
    event = fired(deferral_of(sensor_of(tmp_path, min_version=2, timeout=0.25)))
    assert event["looks"]["seen"]
    deliver(tmp_path, version=2)
    arrived = fired(deferral)
    arrived["looks"] = event["looks"]
    with capture_logs() as logs:
        resumed = sensor_of(tmp_path).resume_execution("resume", {"event": arrived}, context_of())
    text = lines_of(logs)
    looks = event["looks"]
    for told in (
        f"{looks['count']} times", looks["first_at"], looks["last_at"], "other interval", "2024-04-30",
        str(tmp_path / "_delivery.json"), DATASET, f"{START}/{END}", "version 2", resumed["marker"]["sha256"],
        "2 files", "digests",
    ):  # fmt: skip
        assert told in text


def test_log_tells_of_a_wait_that_never_looked(tmp_path: Path) -> None:
    """A wait without a look is told from one that saw nothing."""
    looks = {"first_at": None, "last_at": None, "count": 0, "seen": {}, "last": "no look was made"}
    event = {"landmark": 1, "outcome": "failed", "looks": looks, "error": {"kind": "access", "text": "no"}}
    with capture_logs() as logs, pytest.raises(AccessRefused):
        sensor_of(tmp_path).resume_execution("resume", {"event": event}, context_of())
    assert "no look" in lines_of(logs)


def test_log_tells_of_a_replacement(tmp_path: Path) -> None:
    """Taking another version than the one seen is worth a warning."""
    deferral = deferral_of(sensor_of(tmp_path))
    deliver(tmp_path, version=2)
    event = fired(deferral)
    deliver(tmp_path, version=3)
    with capture_logs() as logs:
        sensor_of(tmp_path).resume_execution("resume", {"event": event}, context_of())
    (warning,) = [line for line in logs if line["log_level"] == "warning"]
    assert "version 3 has replaced it" in str(warning)


def test_log_tells_of_unlisted_files(tmp_path: Path) -> None:
    """With on_unexpected="warn" files that nobody listed are named."""
    put(tmp_path / "extra.csv", "x")
    deliver(tmp_path)
    with capture_logs() as logs:
        run_task("poke", tmp_path, on_unexpected="warn")
    assert "does not list, such as extra.csv" in lines_of(logs)


def test_log_of_a_long_wait_is_short(tmp_path: Path) -> None:
    """In poke mode, too, many looks at the same are one line."""
    with capture_logs() as logs, pytest.raises(Exception, match="no such file"):
        run_task("poke", tmp_path, timeout=0.6)
    assert len(logs) <= 3


@pytest.mark.parametrize("mode", MODES)
def test_refusal_tells_what_is_wrong(mode: str, tmp_path: Path) -> None:
    """A refusal carries its kind, the marker's address and the problems, and says them in its text."""
    deliver(
        tmp_path, files={f"{n}.csv": b"1" for n in range(9)}, written={f"{n}.csv": b"2" for n in range(9)}
    )
    with pytest.raises(DeliveryRefused) as caught:
        run_task(mode, tmp_path)
    error = caught.value
    assert (error.kind, error.uri, len(error.problems)) == ("corrupt", f"{tmp_path}/_delivery.json", 9)
    assert all(p.expected.startswith("sha256 ") and p.found.startswith("sha256 ") for p in error.problems)
    assert "0.csv" in str(error)
    assert "more" in str(error)
    assert error.__suppress_context__


def test_what_may_pass_may_be_retried() -> None:
    """Trouble of the store fails the try, not the task."""
    assert not issubclass(DeliveryUnavailable, AirflowFailException)
    assert issubclass(DeliveryRefused, AirflowFailException)
    assert issubclass(AccessRefused, AirflowFailException)


def test_large_delivery_is_handed_on_without_its_list(tmp_path: Path) -> None:
    """A document that would be too large for XCom is loaded again where it is used."""
    files = {f"part-{n:04}.csv": b"" for n in range(400)}
    deliver(tmp_path, files=files)
    document = run_task("poke", tmp_path, verify="files")
    assert document["files"] is None
    assert len(json.dumps(document)) < 32 * 1024
    assert len(Delivery.from_xcom(document).files()) == 400


@pytest.mark.parametrize("mode", ["deferrable", "reschedule"])
def test_poke_is_one_look(mode: str, tmp_path: Path) -> None:
    """Poking looks once: not there, or there with its document."""
    sensor = sensor_of(tmp_path, mode)
    assert not sensor.poke(context_of())
    deliver(tmp_path)
    poked = sensor.poke(context_of())
    assert poked
    assert poked.xcom_value["version"] == 1


def test_poke_raises_for_bad_data(tmp_path: Path) -> None:
    """Poking refuses what waiting would refuse."""
    deliver(tmp_path, interval=DAY_BEFORE)
    with pytest.raises(DeliveryRefused):
        sensor_of(tmp_path, on_mismatch="fail").poke(context_of())
