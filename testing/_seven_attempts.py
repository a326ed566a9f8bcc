"""Injections that repeat the work: killed, changed meanwhile, overtaken, run beside a backfill."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ._errors import NotExercised, RequestRefused
from ._injection import Hold, Injection, Kill
from ._pipeline import Pipeline
from ._waiting import wait_until

if TYPE_CHECKING:
    from airflow_landmark.markers import Interval

    from ._run import Run

__all__ = ["backfill_over_correction", "killed_after_commit", "late_attempt", "source_changed"]

REPLACE = (
    "replace the whole interval in one transaction (delete and insert, one commit), or give every row a key "
    "and remove the keys that are gone"
)
FENCE = (
    "store the input's version beside the rows, and let one transaction with the write move it only "
    "forwards: an attempt that finds a higher one is refused"
)


def killed_after_commit(pipeline: Pipeline, *, lot: int = 0) -> None:
    """Kill the task after its write has committed and before it has returned.

    Must hold: the destination has the interval exactly once after the retry.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises DestinationWrong: when it does not hold.
    :raises NotExercised: when the task was not killed there, or not tried again.
    """
    (interval,) = _unused(pipeline, lot)
    pipeline.partner.good(interval, pipeline.first(interval).files)
    with pipeline.injections.planned(
        pipeline.at_write(Kill(), when="after", run_id=pipeline.run_id(interval))
    ) as killed:
        run = pipeline.start(interval)
        pipeline.end(run)
        killed.check_reached(times=1)
    _check_tried_again(pipeline, run)
    rule = "a task that is killed after its write has committed leaves the interval exactly once"
    pipeline.expect(interval, pipeline.first(interval).rows, rule=rule, advice=REPLACE)


def source_changed(pipeline: Pipeline, *, lot: int = 1) -> None:
    """Correct the delivery, one row less, between two attempts of the write; then repeat the run.

    Must hold: after the retry, which may still work with the delivery that its run has accepted, the
    destination has one version wholly; after the repeated run it has the corrected one, and so not the row
    that is gone.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises DestinationWrong: when it does not hold.
    :raises NotExercised: when the write was not reached, or not tried again.
    """
    (interval,) = _unused(pipeline, lot)
    pipeline.partner.good(interval, pipeline.first(interval).files)
    with pipeline.injections.planned(
        pipeline.at_write(Hold(), when="after", run_id=pipeline.run_id(interval))
    ) as held:
        run = pipeline.start(interval)
        held.wait(seconds=pipeline.seconds)
        pipeline.partner.corrected(interval, pipeline.corrected(interval).files)
        held.release("kill")
        pipeline.end(run)
    _check_tried_again(pipeline, run)
    rule = "a retry after the source has changed leaves one version of the interval, wholly"
    pipeline.expect(
        interval, pipeline.first(interval).rows, pipeline.corrected(interval).rows, rule=rule, advice=REPLACE
    )
    pipeline.repeat(run)
    rule = "a row that has disappeared from the source disappears from the destination"
    pipeline.expect(interval, pipeline.corrected(interval).rows, rule=rule, advice=REPLACE)


def late_attempt(pipeline: Pipeline, *, lot: int = 2) -> None:
    """Pause the first attempt before its write, on a worker that is lost; let a corrected second one commit
    first; then let the first one write.

    Takes Airflow's heartbeat timeout for tasks longer than the others.
    Must hold: the late write changes nothing.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises DestinationWrong: when it does not hold.
    :raises NotExercised: when no attempt was late.
    """
    (interval,) = _unused(pipeline, lot)
    pipeline.partner.good(interval, pipeline.first(interval).files)
    with pipeline.injections.planned(pipeline.at_write(Hold(), run_id=pipeline.run_id(interval))) as held:
        run = pipeline.start(interval)
        held.wait(seconds=pipeline.seconds)
        with pipeline.airflow.lost_worker(run=run, task_id=pipeline.write_task):
            pipeline.partner.corrected(interval, pipeline.corrected(interval).files)
            pipeline.repeat(run)
            rule = "a second attempt, with a corrected delivery, can write while the first one hangs"
            pipeline.expect(
                interval, pipeline.corrected(interval).rows, rule=rule, advice="hold no lock while waiting"
            )
            held.release()
            held.wait_end(seconds=pipeline.seconds)
    rule = "an attempt that comes late, with an older input, changes nothing"
    pipeline.expect(interval, pipeline.corrected(interval).rows, rule=rule, advice=FENCE)


def backfill_over_correction(pipeline: Pipeline, *, lot: int = 3) -> None:
    """Pause a backfill's run before it writes or publishes; let a live run publish a correction of the same
    interval; then let the backfill go on.

    Must hold: the correction survives, whatever the backfill's run says.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises DestinationWrong: when it does not hold.
    :raises NotExercised: when the backfill's run did not come so far.
    """
    (interval,) = _unused(pipeline, lot)
    pipeline.partner.good(interval, pipeline.first(interval).files)
    at_publish = Injection(
        action=Hold(),
        target=pipeline.publish or pipeline.write,
        dag_id=pipeline.dag_id,
        task_id=pipeline.publish_task or pipeline.write_task,
        run_id="backfill__*",
    )
    with pipeline.injections.planned(at_publish) as held:
        _start_backfill(pipeline, interval)
        backfill = held.wait(seconds=pipeline.seconds)
        pipeline.partner.corrected(interval, pipeline.corrected(interval).files)
        live = pipeline.start(interval, name="live", after=(interval.end - interval.start) / 2)
        pipeline.end(live)
        rule = "a live run can publish a correction while a backfill is at the same interval"
        pipeline.expect(
            interval, pipeline.corrected(interval).rows, rule=rule, advice="hold no lock between tasks"
        )
        held.release()
        held.wait_end(seconds=pipeline.seconds)
        pipeline.end(pipeline.airflow.api.run(dag_id=pipeline.dag_id, run_id=backfill.run_id))
    rule = "a correction that a live run has published survives the backfill of its interval"
    advice = f"publish by compare-and-swap, never with an unconditional write; {FENCE}"
    pipeline.expect(interval, pipeline.corrected(interval).rows, rule=rule, advice=advice)


def _unused(pipeline: Pipeline, lot: int) -> list[Interval]:
    intervals = pipeline.intervals(lot, 1)
    for interval in intervals:
        pipeline.expect_unused(interval)
    return intervals


def _check_tried_again(pipeline: Pipeline, run: Run) -> None:
    tries = run.task(task_id=pipeline.write_task)["try_number"]
    if tries < 2:
        raise NotExercised(f"{pipeline.write_task} was tried {tries} times only: give it retries")


def _start_backfill(pipeline: Pipeline, interval: Interval) -> None:
    """Start a backfill of one interval, once the Dag's last one is over: Airflow allows one at a time."""
    pipeline.airflow.api.wait_dag(dag_id=pipeline.dag_id)
    pipeline.airflow.api.pause(dag_id=pipeline.dag_id, paused=False)
    body = {
        "dag_id": pipeline.dag_id,
        "from_date": interval.start.isoformat(),
        "to_date": (interval.start + timedelta(seconds=1)).isoformat(),
        "max_active_runs": 1,
        "reprocess_behavior": "completed",
    }

    def start() -> bool:
        try:
            pipeline.airflow.api.call(method="POST", path="backfills", body=body)
        except RequestRefused as error:
            if error.status != 409:
                raise
            return False
        return True

    wait_until(check=start, what="no other backfill of the Dag", seconds=pipeline.seconds, every=1.0)
