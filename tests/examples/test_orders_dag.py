"""The orders Dag: what Airflow reads of it, what is retried, which pool a backfill gets, what is parsed."""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG, RetryAction
from hypothesis import given
from hypothesis import strategies as st
from orders_csv import LONGEST_LINE, orders_in
from orders_errors import InvalidOrders, NotSetUp, NotStaged, PublishConflict, Superseded
from orders_retry import OrdersRetryPolicy
from sqlalchemy import exc

from airflow_landmark.deliveries import AccessTrouble, BadDelivery, Unavailable
from airflow_landmark.sensors import DeliveryRefused, DeliveryUnavailable
from ordering import DAGS, HEADER, ORDERS

HIDDEN = "pw-EXAMPLE-1"
IGNORE_FILE = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")
"""Airflow's reader of ``.airflowignore`` calls what its own dependency has deprecated."""


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> DAG:
    """Return the Dag as the Dag processor reads it, from a folder in which it is the only one."""
    monkeypatch.setenv("ORDERS_LANDING", "s3://partner/orders/")
    monkeypatch.setenv("ORDERS_CONNECTION", "partner_bucket")
    monkeypatch.setenv("ORDERS_DESTINATION", f"postgresql+psycopg2://shop:{HIDDEN}@127.0.0.1/shop")
    bag = DagBag(dag_folder=str(DAGS), bundle_path=DAGS, bundle_name="orders")
    assert bag.import_errors == {}
    assert list(bag.dags) == ["orders"]
    return bag.dags["orders"]


@IGNORE_FILE
def test_the_order_of_the_tasks(dag: DAG) -> None:
    """The steps follow each other; what waits is first, the ledger's commit last, the clean-up aside."""
    steps = ["wait_for_orders", "stage", "validate", "replace", "publish", "notify", "commit"]
    for before, after in zip(steps, [*steps[1:], "clean_up"], strict=True):
        assert after in dag.get_task(before).downstream_task_ids
    sensor: Any = dag.get_task("wait_for_orders")
    assert sensor.uri.startswith("s3://partner/orders/{{ data_interval_start")
    assert sensor.conn_id == "partner_bucket"
    assert dag.get_task("commit").downstream_task_ids == {"clean_up"}
    assert dag.get_task("clean_up").is_teardown
    assert not dag.get_task("clean_up").on_failure_fail_dagrun


@IGNORE_FILE
def test_no_secret_is_stored(dag: DAG) -> None:
    """The destination's password is in nothing that Airflow stores of the Dag."""
    from airflow.serialization.serialized_objects import DagSerialization

    assert HIDDEN not in json.dumps(DagSerialization.to_dict(dag), default=str)
    assert all(task.retry_policy is not None for task in dag.tasks)


def dbapi(kind: type[exc.DBAPIError]) -> exc.DBAPIError:
    """An error as SQLAlchemy raises it."""
    return kind("SELECT 1", {}, Exception("no"))


@pytest.mark.parametrize(
    "error",
    [
        InvalidOrders("no", []),
        Superseded("no"),
        NotStaged("no"),
        NotSetUp("no"),
        BadDelivery("/in", "changed", "no"),
        AccessTrouble("/in", "access", "no"),
        DeliveryRefused("no", kind="corrupt", uri="/in"),
        PermissionError("no"),
        dbapi(exc.ProgrammingError),
        dbapi(exc.IntegrityError),
        dbapi(exc.DataError),
    ],
    ids=lambda error: type(error).__name__,
)
def test_permanent_errors_fail_at_once(error: Exception) -> None:
    """What a retry cannot help is not retried."""
    assert OrdersRetryPolicy().evaluate(error, 1, 3).action is RetryAction.FAIL


@pytest.mark.parametrize(
    "error",
    [
        PublishConflict("no"),
        Unavailable("/in", "trouble", "no"),
        DeliveryUnavailable("no"),
        ConnectionError("no"),
        dbapi(exc.OperationalError),
        dbapi(exc.InterfaceError),
    ],
    ids=lambda error: type(error).__name__,
)
def test_passing_and_ambiguous_errors_are_retried(error: Exception) -> None:
    """What may pass, and what may have been done, is retried; tasks that failed together spread out."""
    decisions = [
        OrdersRetryPolicy().evaluate(error, 1, 3, {"ti": SimpleNamespace(task_id=f"t{n}")})  # type: ignore[arg-type]
        for n in range(20)
    ]
    assert {decision.action for decision in decisions} == {RetryAction.RETRY}
    assert len({decision.retry_delay for decision in decisions}) == 20


def test_the_policy_survives_serialization() -> None:
    """What the scheduler reads back decides as the Dag file's own policy."""
    policy = OrdersRetryPolicy(first=5)
    again = OrdersRetryPolicy.deserialize(json.loads(json.dumps(policy.serialize())))
    assert (again.first, again.evaluate(NotSetUp("no"), 1, 3).action) == (5, RetryAction.FAIL)


@pytest.mark.parametrize(
    ("dag_id", "run", "run_id", "pool"),
    [
        ("orders", "backfill", "backfill__2026", "orders_backfill"),
        ("orders", "scheduled", "scheduled__2026", "default_pool"),
        ("orders", "manual", "backfill__named_so_by_hand", "default_pool"),
        ("orders", None, "backfill__2026", "orders_backfill"),
        ("orders", None, "manual__2026", "default_pool"),
        ("other", "backfill", "backfill__2026", "default_pool"),
    ],
)
def test_only_backfills_get_the_backfill_pool(dag_id: str, run: str | None, run_id: str, pool: str) -> None:
    """Runs of a backfill of this Dag move to its pool, and nothing else does."""
    hook = runpy.run_path(str(ORDERS / "config" / "airflow_local_settings.py"))["task_instance_mutation_hook"]
    instance = SimpleNamespace(dag_id=dag_id, run_id=run_id, pool="default_pool")
    hook(instance, dag_run=None if run is None else SimpleNamespace(run_type=run))
    assert instance.pool == pool


def parsed(content: bytes) -> list[dict[str, Any]]:
    """The orders in a file's bytes."""
    return list(orders_in(io.BytesIO(content), name="orders.csv"))


LINES = st.text(alphabet='o1,"\n\r2026-05T:Z \x00é', max_size=60)


@given(st.one_of(st.binary(max_size=200), LINES.map(lambda text: (HEADER + text).encode())))
def test_any_bytes_are_orders_or_refused(content: bytes) -> None:
    """Whatever bytes a file has, they are orders that fit the tables, or one error with its problems."""
    try:
        found = parsed(content)
    except InvalidOrders as error:
        assert error.problems
        return
    for order in found:
        assert 1 <= len(order["order_id"]) <= 64
        assert order["ordered_at"].tzinfo is None
        assert abs(order["amount_cents"]) < 10**15


def test_times_become_utc() -> None:
    """An order's time is kept in UTC, whatever offset it came with; a byte order mark is no part of it."""
    (order,) = parsed(f"\ufeff{HEADER}o1,2026-05-01T01:30:00+02:00,5\r\n".encode())
    assert order["ordered_at"].isoformat() == "2026-04-30T23:30:00"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("o1,2026-05-01T12:00:00Z\n", "line 2: expected 3 fields"),
        ("o1,2026-05-01T12:00:00Z,1,2\n", "line 2: expected 3 fields"),
        ("o1,2026-05-01T12:00:00Z,1.5\n", "line 2: amount_cents must be a whole number"),
        ("o1,2026-05-01T12:00:00,1\n", "line 2: '2026-05-01T12:00:00' has no offset"),
        ("o 1,2026-05-01T12:00:00Z,1\n", "line 2: order_id must be 1 to 64 printable"),
        ("x" * LONGEST_LINE, f"a line is longer than {LONGEST_LINE} characters"),
        ('"o1\n', "unexpected end of data"),
    ],
)
def test_wrong_rows_are_named(rows: str, told: str) -> None:
    """Each wrong row is told with its line and what was expected."""
    with pytest.raises(InvalidOrders) as caught:
        parsed((HEADER + rows).encode())
    assert caught.value.problems[0].startswith(told)


def test_problems_are_bounded() -> None:
    """A file that is wrong throughout is given up after ten problems."""
    with pytest.raises(InvalidOrders) as caught:
        parsed((HEADER + "o1,never,1\n" * 1000).encode())
    assert len(caught.value.problems) == 10


def test_the_set_up_makes_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command makes the destination's tables and the ledger's, and may be repeated."""
    from orders_setup import set_up

    monkeypatch.setenv("ORDERS_DESTINATION", f"sqlite:///{tmp_path}/orders.db")
    first, again = set_up(), set_up()
    assert "made orders, orders_days, orders_notices" in first[0]
    assert "all tables are there" in again[0]
    assert len(first) == len(again) == 2
