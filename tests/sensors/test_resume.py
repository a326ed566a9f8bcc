"""Resuming: nothing that the event says is trusted."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_landmark.sensors import (
    AccessRefused,
    DeliveryNotInTime,
    DeliveryRefused,
    DeliveryUnavailable,
    UnusableEvent,
    WaitMisconfigured,
)
from parcels import DAY_BEFORE, FILES, deliver, put
from sensing import context_of, deferral_of, fired, sensor_of

pytestmark = pytest.mark.usefixtures("no_pauses")


@pytest.fixture
def event(tmp_path: Path) -> dict[str, Any]:
    """The event of a delivery of version 2 that came while it was waited for."""
    deferral = deferral_of(sensor_of(tmp_path))
    deliver(tmp_path, version=2)
    payload = fired(deferral)
    assert payload["outcome"] == "arrived"
    return dict(payload)


def resume(folder: Path, event: Any, **changes: Any) -> Any:
    """Resume a new instance with an event."""
    return sensor_of(folder, **changes).resume_execution("resume", {"event": event}, context_of())


def refusal(folder: Path, event: Any, **changes: Any) -> DeliveryRefused:
    """The refusal that resuming ends with."""
    with pytest.raises(DeliveryRefused) as caught:
        resume(folder, event, **changes)
    return caught.value


def test_delivery_is_returned(tmp_path: Path, event: dict[str, Any]) -> None:
    """What was seen and still lies there is verified and returned."""
    document = resume(tmp_path, event)
    assert (document["version"], document["marker"]["sha256"]) == (2, event["marker"]["sha256"])


def test_resuming_twice_gives_the_same(tmp_path: Path, event: dict[str, Any]) -> None:
    """The same event gives the same document however often it is resumed with, and changes nothing."""
    before = sorted((p.name, p.stat().st_mtime_ns) for p in tmp_path.iterdir())
    sent = copy.deepcopy(event)
    assert resume(tmp_path, event) == resume(tmp_path, event)
    assert event == sent
    assert sorted((p.name, p.stat().st_mtime_ns) for p in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "payload",
    [
        None, False, True, 0, 1, "", "text", [], {}, {"status": "error"}, {"status": "success"},
        {"status": "error", "message": "boom"}, {"status": "running", "files": []}, [{"landmark": 1}],
        {"landmark": 99, "outcome": "arrived"},
    ],
)  # fmt: skip
def test_foreign_events_are_refused(payload: Any, tmp_path: Path) -> None:
    """No event of another kind lets the task succeed, even where the delivery lies there."""
    deliver(tmp_path)
    with pytest.raises(UnusableEvent, match="a retry waits anew"):
        resume(tmp_path, payload)


def test_resume_without_an_event_is_refused(tmp_path: Path) -> None:
    """A resume that carries no event at all is refused in the same way."""
    deliver(tmp_path)
    for next_kwargs in (None, {}):
        with pytest.raises(UnusableEvent):
            sensor_of(tmp_path).resume_execution("resume", next_kwargs, context_of())


def test_unusable_event_may_be_retried() -> None:
    """A retry makes a new wait, so it can help."""
    assert not issubclass(UnusableEvent, AirflowFailException)


@pytest.mark.parametrize("cut", ["marker", "dataset", "interval", "version", "manifest", "looks", "outcome"])
def test_damaged_event_is_refused(cut: str, tmp_path: Path, event: dict[str, Any]) -> None:
    """An event that has lost a field on the way is refused."""
    del event[cut]
    with pytest.raises(UnusableEvent):
        resume(tmp_path, event)


def test_event_of_another_run_is_refused(tmp_path: Path, event: dict[str, Any]) -> None:
    """An event can reach another run than its own: both intervals are named, and a retry waits anew."""
    other_run = (DAY_BEFORE["start"], DAY_BEFORE["end"])
    with pytest.raises(UnusableEvent) as caught:
        resume(tmp_path, event, interval=other_run)
    assert "2024-05-01T00:00:00Z/2024-05-02T00:00:00Z" in str(caught.value)
    assert "2024-04-30T00:00:00Z/2024-05-01T00:00:00Z" in str(caught.value)


def test_deadline_of_another_run_is_refused(tmp_path: Path) -> None:
    """An event without a marker tells what was waited for, too: another run's does not end this one."""
    other_run = (DAY_BEFORE["start"], DAY_BEFORE["end"])
    payload = fired(deferral_of(sensor_of(tmp_path, interval=other_run, timeout=0.2)))
    assert payload["outcome"] == "deadline"
    with pytest.raises(UnusableEvent, match="a retry waits anew"):
        resume(tmp_path, payload)


def test_event_of_another_dataset_is_refused(tmp_path: Path, event: dict[str, Any]) -> None:
    """An event of another dataset is not this task's either."""
    with pytest.raises(UnusableEvent, match="returns"):
        resume(tmp_path, event, dataset="sales/returns")


def test_forged_version_does_not_matter(tmp_path: Path, event: dict[str, Any]) -> None:
    """The expectation is the task's: an event that claims more than lies there proves nothing."""
    deliver(tmp_path, version=1)
    event["version"] = 7
    assert refusal(tmp_path, event, min_version=5).kind == "older version"


def test_place_in_the_event_is_not_followed(tmp_path: Path, event: dict[str, Any]) -> None:
    """What is read is what the task names, wherever the event says that it lies."""
    event["marker"]["uri"] = "/etc/passwd"
    assert resume(tmp_path, event)["marker"]["uri"] == f"{tmp_path}/_delivery.json"


def test_higher_version_replaces_what_was_seen(tmp_path: Path, event: dict[str, Any]) -> None:
    """A correction that came meanwhile is taken in place of what was seen."""
    deliver(tmp_path, version=3, files={"a.csv": b"id\n9\n"})
    assert resume(tmp_path, event)["version"] == 3


def test_higher_version_is_refused_where_asked(tmp_path: Path, event: dict[str, Any]) -> None:
    """With on_replaced="fail" only what was seen is taken."""
    deliver(tmp_path, version=3)
    refused = refusal(tmp_path, event, on_replaced="fail")
    assert refused.kind == "replaced"
    assert "version 2" in str(refused)
    assert "version 3" in str(refused)


@pytest.mark.parametrize("on_replaced", ["newest", "fail"])
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"version": 2, "producer": "tills"}, "reused version"),
        ({"version": 1}, "older version"),
        ({"version": 3, "status": "withdrawn"}, "withdrawn"),
        ({"version": 3, "interval": DAY_BEFORE}, "other interval"),
        ({"version": 3, "dataset": "sales/returns"}, "other dataset"),
        ({"version": 0}, "unreadable"),
    ],
)
def test_other_changes_are_refused(
    change: dict[str, Any], kind: str, on_replaced: str, tmp_path: Path, event: dict[str, Any]
) -> None:  # fmt: skip
    """Any other marker than the one seen, or a higher version of it, fails the task."""
    deliver(tmp_path, **change)
    assert refusal(tmp_path, event, on_replaced=on_replaced).kind == kind


def test_marker_that_is_gone_is_refused(tmp_path: Path, event: dict[str, Any]) -> None:
    """A marker that was taken away meanwhile fails the task."""
    (tmp_path / "_delivery.json").unlink()
    assert refusal(tmp_path, event).kind == "gone"


def test_marker_that_is_half_written_is_refused(tmp_path: Path, event: dict[str, Any]) -> None:
    """A marker that stays damaged fails the task, with what is wrong with it."""
    put(tmp_path / "_delivery.json", '{"spec": ')
    refused = refusal(tmp_path, event)
    assert refused.kind == "unreadable"
    assert refused.problems


@pytest.mark.parametrize(
    ("verify", "kind"), [("marker", None), ("files", None), ("digests", "corrupt"), ("rows", "corrupt")]
)
def test_changed_bytes_are_found_by_digests(
    verify: str, kind: str | None, tmp_path: Path, event: dict[str, Any]
) -> None:
    """Bytes that changed under the same size are found where contents are verified."""
    put(tmp_path / "b.csv", b"id\n2\n4\n")
    if kind is None:
        assert resume(tmp_path, event, verify=verify)["verified"] == verify
    else:
        assert refusal(tmp_path, event, verify=verify).kind == kind


@pytest.mark.parametrize("verify", ["files", "digests", "rows"])
def test_all_problems_are_told_at_once(verify: str, tmp_path: Path, event: dict[str, Any]) -> None:
    """One error tells missing, short and long files apart, and names them all."""
    files = {f"{name}.csv": b"12345" for name in "abcd"}
    deliver(tmp_path, version=3, files=files)
    (tmp_path / "a.csv").unlink()
    put(tmp_path / "b.csv", b"123")
    put(tmp_path / "c.csv", b"1234567")
    problems = refusal(tmp_path, event, verify=verify).problems
    assert {(p.place, p.kind) for p in problems} == {
        ("a.csv", "missing"), ("b.csv", "incomplete"), ("c.csv", "corrupt")
    }  # fmt: skip


def test_unexpected_files_by_policy(tmp_path: Path, event: dict[str, Any]) -> None:
    """Files that nobody listed are ignored, warned of or refused."""
    put(tmp_path / "d.csv", "extra")
    assert resume(tmp_path, event, on_unexpected="warn") == resume(tmp_path, event)
    refused = refusal(tmp_path, event, on_unexpected="fail")
    assert [(p.kind, p.place) for p in refused.problems] == [("unexpected", "d.csv")]


def test_kept_event_of_a_missed_deadline_names_what_was_seen(tmp_path: Path) -> None:
    """What the trigger saw last stands in the error, so that the triggerer's log is not needed."""
    deliver(tmp_path, interval=DAY_BEFORE)
    event = fired(deferral_of(sensor_of(tmp_path, timeout=0.3)))
    with pytest.raises(DeliveryNotInTime, match="2024-04-30"):
        resume(tmp_path, event)


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("configuration", WaitMisconfigured),
        ("access", AccessRefused),
        ("trouble", DeliveryUnavailable),
        ("reused version", DeliveryRefused),
        ("anything else", DeliveryRefused),
    ],
)
def test_failed_event_raises_by_its_kind(kind: str, raised: Any, tmp_path: Path) -> None:
    """The class of the error follows from the kind of failure, so that Airflow does the right thing."""
    looks = {"first_at": None, "last_at": None, "count": 0, "seen": {}, "last": "no look was made"}
    event = {
        "landmark": 1, "outcome": "failed", "looks": looks, "error": {"kind": kind, "text": "no rights there"}
    }  # fmt: skip
    with pytest.raises(raised, match="no rights there"):
        resume(tmp_path, event)


def test_event_that_airflow_has_decoded_is_taken(tmp_path: Path, event: dict[str, Any]) -> None:
    """The payload comes back from the database as JSON: key order and spacing do not matter."""
    shuffled = json.loads(json.dumps(dict(reversed(list(event.items())))))
    assert resume(tmp_path, shuffled)["version"] == 2


def test_missing_data_file_is_refused(tmp_path: Path, event: dict[str, Any]) -> None:
    """A file that was there at the event and is gone at the resume fails the task."""
    (tmp_path / "b.csv").unlink()
    refused = refusal(tmp_path, event)
    assert [(p.kind, p.place) for p in refused.problems] == [("missing", "b.csv")]
    assert "b.csv" in str(refused)


def test_link_in_place_of_a_data_file_is_refused(tmp_path: Path, event: dict[str, Any]) -> None:
    """A link is never followed to data, whatever it holds."""
    put(tmp_path / "elsewhere", FILES["b.csv"])
    (tmp_path / "b.csv").unlink()
    (tmp_path / "b.csv").symlink_to("elsewhere")
    assert refusal(tmp_path, event).kind == "refused"
