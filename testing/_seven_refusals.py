"""Injections that must be told or waited out: a pool that is too small, a wrong delivery."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ._errors import NoAlert, NotExercised, NotInTime
from ._injection import Hold, Injection
from ._pipeline import ENDED, Pipeline
from ._rest import quoted
from ._run import Run
from ._waiting import wait_until

if TYPE_CHECKING:
    from airflow_landmark.markers import Interval

__all__ = ["request_above_pool", "wrong_interval"]


def request_above_pool(pipeline: Pipeline, *, lot: int = 5) -> None:
    """Make the pool of the task that writes smaller than what the task asks for.

    Airflow fails nothing then: the task waits for ever. The scheduler counts such tasks as starving, unless
    the pool has no open slot at all, as one of 0 slots has: then it does not look at them.
    Must hold: an alert is raised in time, nothing is written meanwhile, and once the pool is large enough the
    interval is written once.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises NoAlert, DestinationWrong: when it does not hold.
    :raises NotExercised: when an alert was raised before.
    """
    (interval,) = pipeline.intervals(lot, 1)
    pipeline.expect_unused(interval)
    pipeline.partner.good(interval, pipeline.first(interval).files)
    api, (name, wanted) = pipeline.airflow.api, _request(pipeline)
    pool = api.call(method="GET", path=f"pools/{quoted(name)}")
    if _alerts(pipeline):
        raise NotExercised(f"an alert was raised before the pool was made too small: {_alerts(pipeline)}")
    api.resize_pool(name=name, slots=wanted - 1)
    try:
        run = pipeline.start(interval)
        _wait_alert(pipeline, where=f"{run}, {wanted} slots asked of pool {name}, which has {wanted - 1}")
        rule = "a task that waits for its pool has written nothing"
        pipeline.expect(interval, [], rule=rule, advice="write in the task that has the slots")
    finally:
        api.resize_pool(name=name, slots=pool["slots"])
    pipeline.end(run)
    rule = "a task that had to wait for its pool writes once there is room"
    pipeline.expect(
        interval, pipeline.first(interval).rows, rule=rule, advice="let the task wait longer than the alert"
    )


def _request(pipeline: Pipeline) -> tuple[str, int]:
    """The pool of the task that writes, and how many slots it asks for."""
    pipeline.airflow.api.wait_dag(dag_id=pipeline.dag_id)
    path = f"dags/{quoted(pipeline.dag_id)}/tasks/{quoted(pipeline.write_task)}"
    task = pipeline.airflow.api.call(method="GET", path=path)
    return str(task["pool"]), int(task["pool_slots"])


def _alerts(pipeline: Pipeline) -> list[str]:
    return [] if pipeline.alerts is None else list(pipeline.alerts())


def _wait_alert(pipeline: Pipeline, *, where: str) -> None:
    try:
        wait_until(
            check=lambda: _alerts(pipeline), what="an alert", seconds=pipeline.alert_seconds, every=0.5
        )
    except NotInTime:
        raise NoAlert(
            rule="somebody is told when a task asks for more slots than its pool has",
            expected=f"an alert within {pipeline.alert_seconds:g} s",
            found="none" if pipeline.alerts else "none: the pipeline has no alerts",
            where=where,
            advice="alert before the interval's deadline on the metric pool.starving_tasks above 0, and on "
            "scheduled tasks of a pool in which nothing runs and no slot is open: StarvingAlert does both",
        ) from None


def wrong_interval(pipeline: Pipeline, *, lot: int = 6) -> None:
    """Leave the delivery of the interval before where the run waits: from the beginning, and, in a second
    run, in place of the right one between the trigger's event and the task that it wakes.

    Must hold: neither is written, to no interval; the right delivery, when it comes after the wrong one, is.

    The intervals are not over: a deadline that is past would refuse them all.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises DestinationWrong: when it does not hold.
    :raises NotExercised: when the wait did not come so far.
    """
    before_lying, lying, before_swapped, swapped = pipeline.coming(lot, 4)
    for interval in (before_lying, lying, before_swapped, swapped):
        pipeline.expect_unused(interval)
    _lying_there(pipeline, lying, before_lying)
    if pipeline.deferrable:
        _swapped(pipeline, swapped, before_swapped)


def _lying_there(pipeline: Pipeline, interval: Interval, told: Interval) -> None:
    pipeline.partner.misdated(interval, pipeline.first(told).files, told=told)
    run = pipeline.start(interval)
    waiting = ["deferred", "up_for_reschedule", "failed", "success"]
    run.wait_task(task_id=pipeline.wait_task, states=waiting, seconds=pipeline.seconds)
    _stay_empty(pipeline, run, interval, told)
    if run.state() in ENDED:
        return
    pipeline.partner.good(interval, pipeline.first(interval).files, version=2)
    pipeline.end(run)
    rule = "the right delivery is taken when it comes after a wrong one"
    advice = "go on waiting when a wrong delivery lies there"
    pipeline.expect(interval, pipeline.first(interval).rows, rule=rule, advice=advice)


def _swapped(pipeline: Pipeline, interval: Interval, told: Interval) -> None:
    woken = Injection(
        action=Hold(),
        dag_id=pipeline.dag_id,
        task_id=pipeline.wait_task,
        run_id=pipeline.run_id(interval),
        resumed=True,
        tries=(),
    )
    with pipeline.injections.planned(woken) as held:
        run = pipeline.start(interval)
        run.wait_task(task_id=pipeline.wait_task, states=["deferred"], seconds=pipeline.seconds)
        pipeline.partner.good(interval, pipeline.first(interval).files)
        held.wait(seconds=pipeline.seconds)
        pipeline.partner.misdated(interval, pipeline.first(told).files, told=told, version=2)
        held.release()
        if held.wait_end(seconds=pipeline.seconds).word == "returned":
            pipeline.end(run)  # something was accepted: what becomes of it shows at the run's end
    _stay_empty(pipeline, run, interval, told)
    if run.state() not in ENDED:
        run.mark(state="failed")


def _stay_empty(pipeline: Pipeline, run: Run, *intervals: Interval) -> None:
    """Look for some seconds, or until the run has ended, whether anything is written."""
    end = time.monotonic() + pipeline.quiet_seconds
    while time.monotonic() < end and run.state() not in ENDED:
        time.sleep(0.25)
    if run.task(task_id=pipeline.wait_task)["state"] == "success":
        pipeline.end(run)  # it was accepted: what becomes of that shows at the end
    for interval in intervals:
        pipeline.expect(
            interval,
            [],
            rule="a delivery for another interval is not written, however it came to lie there",
            advice="compare the marker's interval with the run's, in the trigger and again in the resumed "
            "task: MarkerSensor does both",
        )
