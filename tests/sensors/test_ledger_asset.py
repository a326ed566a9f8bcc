"""The ledger in an asset's state store: the rules of every ledger, without compare-and-set."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, AssetAlias
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse
from airflow.sdk.execution_time.context import set_current_context

from airflow_landmark.deliveries import AccessTrouble, BadDelivery, Ledger, Unavailable
from airflow_landmark.markers import Taken
from airflow_landmark.sensors import AssetLedger, CommitDelivery, MarkerSensor
from parcels import DATASET, END, START, deliver
from sensing import OWNER, SPAN, run_task, stamp_of

ORDERS = Asset("orders")
WAIT: dict[str, Any] = {"task_id": "wait", "uri": "/in/", "dataset": DATASET, "interval": f"{START}/{END}"}


class State(dict[str, Any]):
    """The state of one asset, which keeps its values as JSON. Something may happen before each use."""

    before: Callable[[str, str], Any] = staticmethod(lambda _verb, _key: None)

    def get(self, key: str, default: Any = None) -> Any:
        """Read a value."""
        self.before("get", key)
        return super().get(key, default)

    def set(self, key: str, value: Any) -> None:
        """Overwrite a value."""
        self.before("set", key)
        assert value is not None
        self[key] = json.loads(json.dumps(value, allow_nan=False))

    def delete(self, key: str) -> None:
        """Forget a value; of a key that is not there, nothing."""
        self.before("delete", key)
        self.pop(key, None)


@contextmanager
def inside_a_task(state: State) -> Iterator[None]:
    """Run as a task that has the asset."""
    with set_current_context({"asset_state_store": {ORDERS: state}}):  # type: ignore[typeddict-item]
        yield


@pytest.fixture
def state() -> Iterator[State]:
    """The asset's state, seen from within a task."""
    state = State()
    with inside_a_task(state):
        yield state


@pytest.fixture
def ledger() -> AssetLedger:
    """A ledger that does not wait for claims to settle."""
    return AssetLedger(ORDERS, settle=0)


def test_versions_are_claimed_taken_and_given_back(state: State, ledger: AssetLedger) -> None:
    """All steps follow the rules of the other ledgers, and any step may be repeated."""
    assert isinstance(ledger, Ledger)
    assert ledger.taken(DATASET, SPAN) is None
    for _ in range(2):
        ledger.claim(stamp_of(1), "one")
    with pytest.raises(BadDelivery, match="claimed by one") as caught:
        ledger.claim(stamp_of(1), "two")
    assert caught.value.kind == "already taken"
    for _ in range(2):
        ledger.commit(stamp_of(1), "one")
    assert ledger.taken(DATASET, SPAN) == Taken(1, "a" * 64)
    for stamp, kind in ((stamp_of(1, letter="b"), "reused version"), (stamp_of(2), "not claimed")):
        with pytest.raises(BadDelivery) as caught:
            ledger.commit(stamp, "two")
        assert caught.value.kind == kind
    ledger.claim(stamp_of(2), "two")
    for _ in range(2):
        ledger.release(stamp_of(2), "two")
    assert ledger.taken(DATASET, SPAN) == Taken(1, "a" * 64)
    assert list(state) == [f"landmark_taken:{DATASET}:{SPAN}"]


def test_commit_that_dies_half_way_may_be_repeated(state: State, ledger: AssetLedger) -> None:
    """What was taken is written first: the claim that is left over ends with the repetition."""
    ledger.claim(stamp_of(1), "one")

    def die(verb: str, _key: str) -> None:
        if verb == "delete":
            raise ConnectionError("killed")

    state.before = die  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        ledger.commit(stamp_of(1), "one")
    del state.before  # type: ignore[misc]
    assert ledger.taken(DATASET, SPAN) == Taken(1, "a" * 64)
    ledger.commit(stamp_of(1), "one")
    assert len(state) == 1


def test_of_two_claimants_at_the_same_moment_one_wins(state: State) -> None:
    """Both read before either writes: the later write stays, and the other one sees it at its second look."""
    ledger = AssetLedger(ORDERS, settle=2)
    both_have_read, done = threading.Barrier(2), set[str]()

    def wait(verb: str, key: str) -> None:
        name = threading.current_thread().name
        if verb == "get" and "claim" in key and name not in done:
            done.add(name)
            both_have_read.wait(60)

    state.before = wait  # type: ignore[method-assign]
    answers: list[str] = []

    def claim(owner: str) -> None:
        try:
            ledger.claim(stamp_of(1), owner)
            answers.append("won")
        except BadDelivery as error:
            answers.append(error.kind)

    threads = [threading.Thread(target=claim, args=(name,), name=name) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert sorted(answers) == ["already taken", "won"]


def test_claimant_that_is_slower_than_the_settling_wins_too(state: State, ledger: AssetLedger) -> None:
    """The limit of this ledger: a write that comes too late is not seen, so two tasks work; one commits."""
    raced: list[str] = []

    def another_task_is_through_before(verb: str, _key: str) -> None:
        if verb == "set" and not raced:
            raced.append("other")
            ledger.claim(stamp_of(1), "other")

    state.before = another_task_is_through_before  # type: ignore[method-assign]
    ledger.claim(stamp_of(1), "slow")
    assert raced == ["other"]
    with pytest.raises(BadDelivery) as caught:
        ledger.commit(stamp_of(1), "other")
    assert caught.value.kind == "not claimed"
    ledger.commit(stamp_of(1), "slow")


def test_late_claim_never_overwrites_what_was_taken(state: State, ledger: AssetLedger) -> None:
    """A correction that claims while the lower version is committed leaves that on record."""
    ledger.claim(stamp_of(1), "one")

    def committed_just_before(verb: str, key: str) -> None:
        if verb == "set" and "claim" in key:
            del state.before  # type: ignore[misc]
            ledger.commit(stamp_of(1), "one")

    state.before = committed_just_before  # type: ignore[method-assign]
    ledger.claim(stamp_of(2), "two")
    ledger.release(stamp_of(2), "two")
    assert ledger.taken(DATASET, SPAN) == Taken(1, "a" * 64)


def test_claim_that_is_overwritten_by_a_lower_one_is_tried_again(state: State, ledger: AssetLedger) -> None:
    """The task is told to retry, and does not believe that it holds what it does not."""
    ledger.claim(stamp_of(1), "low")
    low = dict(state)
    state.clear()

    def overwritten(verb: str, key: str) -> None:
        if verb == "get" and state:
            state.update(low)

    state.before = overwritten  # type: ignore[method-assign]
    with pytest.raises(Unavailable, match="overwritten"):
        ledger.claim(stamp_of(2), "high")


def error(kind: ErrorType, **detail: Any) -> AirflowRuntimeError:
    """What Airflow's task runner raises."""
    return AirflowRuntimeError(ErrorResponse(error=kind, detail=detail or None))


@pytest.mark.parametrize("step", ["taken", "claim", "commit"])
@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (error(ErrorType.API_SERVER_ERROR, status_code=404), "configuration"),
        (error(ErrorType.API_SERVER_ERROR, status_code=403), "access"),
        (error(ErrorType.PERMISSION_DENIED), "access"),
        (error(ErrorType.API_SERVER_ERROR, status_code=500), "trouble"),
        (error(ErrorType.API_SERVER_ERROR, status_code=None, message="refused"), "trouble"),
        (error(ErrorType.GENERIC_ERROR), "trouble"),
        (ConnectionError("s3cret"), "trouble"),
    ],
)
def test_trouble_of_airflow_is_sorted(
    step: str, raised: Exception, kind: str, state: State, ledger: AssetLedger
) -> None:  # fmt: skip
    """What passes may be retried, what does not says what to do; texts of others are not repeated."""

    def fail(_verb: str, _key: str) -> None:
        raise raised

    state.before = fail  # type: ignore[method-assign]
    steps = {
        "taken": lambda: ledger.taken(DATASET, SPAN),
        "claim": lambda: ledger.claim(stamp_of(), "one"),
        "commit": lambda: ledger.commit(stamp_of(), "one"),
    }
    with pytest.raises(Unavailable if kind == "trouble" else AccessTrouble) as caught:
        steps[step]()
    assert caught.value.kind == kind
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("value", [7, "x", [], {}, {"version": 1}, {"__class__": "x"}, "\ud800"])
def test_foreign_values_are_not_taken_for_a_ledgers(value: Any, state: State, ledger: AssetLedger) -> None:
    """Whoever writes to the asset's state can break the ledger, but not make it believe something."""
    state[f"landmark_taken:{DATASET}:{SPAN}"] = value
    with pytest.raises(AccessTrouble, match="what no ledger wrote") as caught:
        ledger.claim(stamp_of(), "one")
    assert caught.value.kind == "unreadable"


def test_it_is_reached_within_a_task_only(ledger: AssetLedger) -> None:
    """Outside of a task, and in one that has not this asset, the error says so."""
    with pytest.raises(AccessTrouble, match="from within a task only"):
        ledger.taken(DATASET, SPAN)
    for context in ({}, {"asset_state_store": {Asset("other"): State()}}):
        with (
            set_current_context(context),  # type: ignore[arg-type]
            pytest.raises(AccessTrouble, match="inlets or outlets") as caught,
        ):
            ledger.taken(DATASET, SPAN)
        assert caught.value.kind == "configuration"


@pytest.mark.parametrize("mode", ["deferrable", "poke", "reschedule"])
def test_sensor_claims_in_the_state_of_its_asset(
    mode: str, tmp_path: Path, state: State, ledger: AssetLedger
) -> None:  # fmt: skip
    """Every mode claims there, in the name of the task."""
    deliver(tmp_path, version=3)
    document = run_task(mode, tmp_path, ledger=ledger, inlets=[ORDERS])
    assert document["claim"] == {"owner": OWNER}
    (value,) = state.values()
    assert (value["version"], value["owner"]) == (3, OWNER)


@pytest.mark.parametrize("given", [{}, {"inlets": [Asset("other")]}, {"outlets": [AssetAlias("orders")]}])
def test_task_without_the_asset_is_refused_when_the_dag_is_parsed(
    given: dict[str, Any], ledger: AssetLedger
) -> None:  # fmt: skip
    """Airflow would give it no state store; the text says which argument to add."""
    with pytest.raises(ValueError, match=r"inlets=\[Asset\('orders'\)\]"):
        MarkerSensor(**WAIT, ledger=ledger, **given)
    with pytest.raises(ValueError, match="to task commit"):
        CommitDelivery(task_id="commit", delivery="{{ doc }}", ledger=ledger, **given)


@pytest.mark.parametrize(
    "given", [{"inlets": [ORDERS]}, {"outlets": [ORDERS]}, {"inlets": [Asset.ref(name="orders")]}]
)
def test_task_with_the_asset_is_accepted(given: dict[str, Any], ledger: AssetLedger) -> None:
    """Either side will do, since Airflow opens the store for both."""
    with DAG("orders", schedule=None):
        wait = MarkerSensor(**WAIT, ledger=ledger, **given)
        CommitDelivery(task_id="commit", delivery=wait.output, ledger=ledger, **given)


@pytest.mark.parametrize(
    ("asset", "settle", "raised"),
    [
        ("orders", 1, TypeError),
        (AssetAlias("orders"), 1, TypeError),
        (ORDERS, -1, ValueError),
        (ORDERS, 61, ValueError),
    ],
)
def test_wrong_arguments_are_refused(asset: Any, settle: float, raised: Any) -> None:
    """An asset and a time to settle, nothing else."""
    with pytest.raises(raised):
        AssetLedger(asset, settle=settle)


def test_example_of_the_documentation_is_a_dag() -> None:
    """The page of the ledgers shows a Dag that can be parsed."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (code,) = (block for block in blocks if "AssetLedger" in block)
    names: dict[str, Any] = {}
    exec(compile(code, "ledger.md", "exec"), names)  # noqa: S102 - that is the test
    assert names["dag"].task_ids == ["wait", "load", "commit"]
