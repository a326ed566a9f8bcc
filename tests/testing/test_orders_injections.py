"""The orders example under the seven injections, on a real Airflow, and each without its safeguard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from airflow_landmark.testing import (
    AttemptsWrong,
    DestinationWrong,
    Injection,
    InjectionTests,
    Instead,
    NoAlert,
    Pipeline,
    backfill_over_correction,
    killed_after_commit,
    late_attempt,
    permanent_and_transient_error,
    request_above_pool,
    source_changed,
    wrong_interval,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]


class TestOrders(InjectionTests):
    """The seven injections; each test reads the destination."""

    @pytest.fixture
    def landmark_pipeline(self, orders_pipeline: Pipeline) -> Pipeline:
        """Return the orders example."""
        return orders_pipeline


@contextmanager
def without(pipeline: Pipeline, **functions: str) -> Iterator[None]:
    """Have functions of ``unsafe_orders`` in place of the example's, given as ``module__function=name``."""
    with ExitStack() as stack:
        for target, function in functions.items():
            module, _, name = target.partition("__")
            injection = Injection(
                action=Instead(f"unsafe_orders:{function}"),
                target=f"{module}:{name}",
                dag_id=pipeline.dag_id,
                tries=(),
            )
            stack.enter_context(pipeline.injections.planned(injection))
        yield


def test_append_doubles(orders_pipeline: Pipeline) -> None:
    """A write that appends has the day twice after a kill."""
    with (
        without(orders_pipeline, orders_replace__replace="append"),
        pytest.raises(DestinationWrong, match=r"exactly once\n.*4 rows\n.*: 7 rows: .*o1-again"),
    ):
        killed_after_commit(orders_pipeline, lot=7)


def test_upsert_keeps_what_is_gone(orders_pipeline: Pipeline) -> None:
    """A write that only inserts and updates keeps the row that has disappeared."""
    with (
        without(orders_pipeline, orders_replace__replace="upsert"),
        pytest.raises(DestinationWrong, match=r"disappears from the destination\n(.*\n)*.*'o3', 30"),
    ):
        source_changed(orders_pipeline, lot=8)


def test_unguarded_write_goes_back(orders_pipeline: Pipeline) -> None:
    """A write without the version's guard lets the late attempt bring back the old day."""
    with (
        without(
            orders_pipeline,
            orders_replace__replace="replace_unguarded",
            orders_clean_up__clean_up="clean_up_nothing",
        ),
        pytest.raises(DestinationWrong, match=r"comes late.*changes nothing\n(.*\n)*.*'o3', 30"),
    ):
        late_attempt(orders_pipeline, lot=9)


def test_unconditional_publish_loses_the_correction(orders_pipeline: Pipeline) -> None:
    """A publish without compare-and-swap lets the backfill bring back the old report."""
    with (
        without(
            orders_pipeline,
            orders_publish__publish="publish_unconditionally",
            orders_clean_up__clean_up="clean_up_nothing",
        ),
        pytest.raises(DestinationWrong, match=r"survives the backfill\n?(.*\n)*.*'published', 60"),
    ):
        backfill_over_correction(orders_pipeline, lot=10)


def test_without_policy_permanent_errors_are_retried(orders_pipeline: Pipeline) -> None:
    """Without the retry policy a permanent error is tried again."""
    with (
        without(orders_pipeline, **{"orders_retry__OrdersRetryPolicy.evaluate": "retry_anything"}),
        pytest.raises(AttemptsWrong, match=r"fails the task at once\n.*1 try\n.*tried again"),
    ):
        permanent_and_transient_error(orders_pipeline, lot=11)


def test_early_commit_leaves_what_has_failed(orders_pipeline: Pipeline) -> None:
    """A write that commits before it is done leaves rows of a task that has failed."""
    with (
        without(orders_pipeline, orders_replace___write="write_and_commit"),
        pytest.raises(
            DestinationWrong, match=r"before its commit leaves nothing.*\nexpected: no rows\nfound: 3 rows"
        ),
    ):
        permanent_and_transient_error(orders_pipeline, lot=12)


def test_fixed_delays_come_back_together(orders_pipeline: Pipeline) -> None:
    """With a fixed delay, tasks that failed together come back together."""
    with (
        without(orders_pipeline, **{"orders_retry__OrdersRetryPolicy.evaluate": "retry_together"}),
        pytest.raises(
            AttemptsWrong, match=r"do not come back together\n.*\nfound: 30.00 s, 30.00 s, 30.00 s"
        ),
    ):
        permanent_and_transient_error(orders_pipeline, lot=13)


def test_without_alert_nobody_is_told(orders_pipeline: Pipeline) -> None:
    """Without an alert on the starving count, nobody hears of a request that cannot fit."""
    with pytest.raises(NoAlert, match="an alert within 3 s\nfound: none: the pipeline has no alerts"):
        request_above_pool(replace(orders_pipeline, alerts=None, alert_seconds=3), lot=14)


def test_resume_without_check_takes_another_day(orders_pipeline: Pipeline) -> None:
    """A sensor that believes the event writes what was swapped in after it."""
    with (
        without(orders_pipeline, **{"airflow_landmark.deliveries__accept": "accept_what_lies_there"}),
        pytest.raises(
            DestinationWrong, match=r"another interval is not written.*\nexpected: no rows\n.*4 rows"
        ),
    ):
        wrong_interval(orders_pipeline, lot=15)
