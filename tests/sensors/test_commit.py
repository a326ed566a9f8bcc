"""Telling the ledger how the work ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.sensors import (
    AccessRefused,
    CommitDelivery,
    Delivery,
    DeliveryRefused,
    MarkerSensor,
    WaitMisconfigured,
    commit_delivery,
    release_delivery,
)
from claimants import HOSTILE_DATASETS
from parcels import DATASET, END, START, deliver
from sensing import OWNER, SPAN, context_of, held, run_task, sql_ledger, stamp_of

TOLD = {"dataset": DATASET, "interval": {"start": START, "end": END}, "version": 2}


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """A new ledger in a file."""
    return sql_ledger(tmp_path)


@pytest.fixture
def document(tmp_path: Path, ledger: SqlLedger) -> dict[str, Any]:
    """What a sensor returned that has claimed version 2."""
    deliver(tmp_path, version=2)
    returned = run_task("poke", tmp_path, ledger=ledger)
    assert isinstance(returned, dict)
    return returned


def committed(document: Any, ledger: Any) -> Any:
    """What the operator returns for it."""
    return CommitDelivery(task_id="commit", delivery=document, ledger=ledger).execute(context_of())


@pytest.mark.parametrize(
    "commit", [committed, lambda document, ledger: commit_delivery(document, ledger=ledger)]
)
@pytest.mark.parametrize("form", [dict, json.dumps])
def test_commit_marks_as_taken_and_may_be_repeated(
    commit: Any, form: Any, document: dict[str, Any], ledger: SqlLedger
) -> None:  # fmt: skip
    """Operator and function commit in the sensor's name, whatever the try; a second time changes nothing."""
    assert [commit(form(document), ledger) for _ in range(2)] == [TOLD, TOLD]
    entry = ledger.entry(DATASET, SPAN)
    assert held(entry) == (2, None)
    assert entry is not None
    assert entry.taken is not None
    assert entry.taken.owner == OWNER
    assert [event.word for event in ledger.history(DATASET, SPAN)] == ["claimed", "taken"]


def test_release_gives_the_claim_back(document: dict[str, Any], ledger: SqlLedger) -> None:
    """After a release, and another one, a commit is refused."""
    assert [release_delivery(document, ledger=ledger) for _ in range(2)] == [TOLD, TOLD]
    assert held(ledger.entry(DATASET, SPAN)) == (None, None)
    with pytest.raises(DeliveryRefused) as caught:
        commit_delivery(document, ledger=ledger)
    assert caught.value.kind == "not claimed"


def test_release_does_not_undo_a_commit(document: dict[str, Any], ledger: SqlLedger) -> None:
    """What was taken stays taken."""
    commit_delivery(document, ledger=ledger)
    release_delivery(document, ledger=ledger)
    assert held(ledger.entry(DATASET, SPAN)) == (2, None)


@pytest.mark.parametrize("ends", ["claimed", "taken"])
def test_late_commit_of_a_lower_version_is_refused(
    ends: str, document: dict[str, Any], ledger: SqlLedger
) -> None:  # fmt: skip
    """A correction that was claimed or taken meanwhile wins, and the refusal is not retried."""
    correction = stamp_of(3)
    ledger.claim(correction, "other")
    if ends == "taken":
        ledger.commit(correction, "other")
    with pytest.raises(DeliveryRefused, match="older than version 3") as caught:
        commit_delivery(document, ledger=ledger)
    assert caught.value.kind == "older version"


@pytest.mark.parametrize("call", [commit_delivery, release_delivery])
def test_document_without_a_claim_is_refused(call: Any, tmp_path: Path, ledger: SqlLedger) -> None:
    """A sensor without a ledger holds nothing that could be committed; the text says what to write."""
    deliver(tmp_path)
    with pytest.raises(WaitMisconfigured, match=r"was not claimed.*MarkerSensor\(ledger=\.\.\.\)"):
        call(run_task("poke", tmp_path), ledger=ledger)


@pytest.mark.parametrize("call", [commit_delivery, release_delivery])
@pytest.mark.parametrize(
    "value",
    [None, 7, [], {}, "", "wait", "{'landmark_delivery': 1}", "[1]", "[" * 5000, '{"landmark_delivery": 2}'],
)
def test_what_is_no_document_is_refused(call: Any, value: Any, ledger: SqlLedger) -> None:
    """Garbage fails for good, and says what to pass."""
    with pytest.raises(WaitMisconfigured, match="delivery"):
        call(value, ledger=ledger)


@pytest.mark.parametrize("claim", [7, [], {}, {"owner": 7}, {"owner": None}, "orders"])
def test_damaged_claim_is_refused(claim: Any, document: dict[str, Any], ledger: SqlLedger) -> None:
    """A claim is an object with an owner in words."""
    with pytest.raises(WaitMisconfigured, match="not a complete delivery document"):
        commit_delivery(document | {"claim": claim}, ledger=ledger)


@pytest.mark.parametrize("owner", ["", "a\nb", "x" * 2000, "\ud800"])
def test_hostile_owner_is_refused(owner: str, document: dict[str, Any], ledger: SqlLedger) -> None:
    """A name that no ledger would keep fails for good."""
    with pytest.raises(WaitMisconfigured, match="owner"):
        commit_delivery(document | {"claim": {"owner": owner}}, ledger=ledger)


@pytest.mark.parametrize("call", [commit_delivery, release_delivery])
@pytest.mark.parametrize(
    "change",
    [
        *({"dataset": dataset} for dataset in HOSTILE_DATASETS),
        {"interval": {"start": END, "end": START}},
        {"interval": {"start": "0001-01-01T00:00:00+14:00", "end": END}},
        {"interval": {"start": "\x00", "end": "\ud800"}},
        {"version": 0},
        {"version": 2**53},
    ],
)
def test_hostile_subject_is_refused(
    call: Any, change: dict[str, Any], document: dict[str, Any], ledger: SqlLedger
) -> None:  # fmt: skip
    """A document that was changed on its way fails for good, before the ledger is asked."""
    before = ledger.entries()
    with pytest.raises(WaitMisconfigured, match=r"^delivery: "):
        call(document | change, ledger=ledger)
    assert ledger.entries() == before


def test_ledger_without_tables(document: dict[str, Any], tmp_path: Path) -> None:
    """The error says which command makes them."""
    with pytest.raises(AccessRefused, match="landmark ledger create"):
        commit_delivery(document, ledger=SqlLedger(f"sqlite:///{tmp_path}/none.db"))


def test_operator_takes_a_template_and_shows_no_secret(document: dict[str, Any], tmp_path: Path) -> None:
    """Only the delivery is rendered and shown; a ledger's password is in no repr."""
    ledger = SqlLedger("postgresql://user:pw-EXAMPLE-1@127.0.0.1/db")
    task = CommitDelivery(task_id="commit", delivery="{{ doc | tojson }}", ledger=ledger)
    assert tuple(task.template_fields) == ("delivery",)
    task.render_template_fields(context_of(doc=document))  # type: ignore[arg-type]
    assert Delivery.from_xcom(json.loads(task.delivery)).owner == OWNER
    assert "pw-EXAMPLE-1" not in repr(ledger) + str(ledger) + repr(task)


@pytest.mark.parametrize(
    "change", [{"ledger": None}, {"ledger": "sqlite://"}, {"delivery": None}, {"delivery": 7}]
)
def test_what_cannot_work_is_refused_when_the_dag_is_parsed(change: Any, ledger: SqlLedger) -> None:
    """A Dag without a ledger or without a delivery is not a Dag."""
    with pytest.raises(TypeError):
        CommitDelivery(**{"task_id": "commit", "delivery": "{{ doc }}", "ledger": ledger} | change)


def test_sensor_without_the_ledger_is_refused_when_the_dag_is_parsed(ledger: SqlLedger) -> None:
    """What its sensor does not claim could never be committed."""
    with DAG("orders", schedule=None):
        wait = MarkerSensor(task_id="wait", uri="/in/", dataset=DATASET, interval=f"{START}/{END}")
        with pytest.raises(ValueError, match="the deliveries of wait are not claimed"):
            CommitDelivery(task_id="commit", delivery=wait.output, ledger=ledger)
        held_ = MarkerSensor(
            task_id="held", uri="/in/", dataset=DATASET, interval=f"{START}/{END}", ledger=ledger
        )
        commit = CommitDelivery(task_id="commit2", delivery=held_.output, ledger=ledger)
    assert commit.upstream_task_ids == {"held"}
