"""The injection of errors: one that no retry helps, and one that passes, in several runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._errors import AttemptsWrong, NotExercised
from ._injection import Injection, Raise
from ._pipeline import ENDED, Pipeline
from ._run import Run
from ._waiting import wait_until

if TYPE_CHECKING:
    from airflow_landmark.markers import Interval

__all__ = ["permanent_and_transient_error"]

RUNS = 10
"""So many runs fail, to compare the delays before their retries."""
FINISHED = 3
"""So many of them go on to their end; of the others only the delay is read."""
LONG_DELAY = 5.0
"""A longer delay is read, but not waited for."""
RETRIED = "up_for_retry"
ALL_WITHIN = 0.1
"""All delays within this share of the shortest one: the tasks come back together."""
CROWD, CROWD_WITHIN = 7, 0.01
"""So many of them within this share of it: most of the tasks do.

A good policy must not be blamed. Let delays be drawn from all between half of a delay and the whole of it,
as ``LandmarkRetryPolicy`` draws them, and let x, from 0 to 1, be where in that range the shortest of ten
lies: a share s of it is then s * (1 + x) of the range. Integrated over x,

* all ten lie within a tenth with a probability of 10 * (0.1 * (1 + x))**9: 1e-9 * (2**10 - 1), 1e-6 at
  most, and 4e-7 since x ends where the range does;
* seven lie within a hundredth with at most 10 * C(9, 6) * (0.01 * (1 + x))**6: 8.4e-10 * 127 / 7, 2e-8.

Delays in whole seconds from 30 to 60 pass as surely. With a tenth of spread to either side of a delay one
test in 140 fails: such tasks do come back nearly together.
"""


def permanent_and_transient_error(pipeline: Pipeline, *, lot: int = 4) -> None:
    """Raise a permanent error at the write of one run, and a transient one in the first try of ten others.

    When the pipeline names a function inside the write, the permanent error is raised in a second run too,
    after that function has returned: the write has done something, and has not committed it.

    Must hold: a permanent error is not tried again and leaves nothing of the interval; the others are tried
    again after delays that differ (the retry policy's decisions are read; a long delay is cut short), and
    three of them, which go on to their end, have written once.

    :param lot: number of the intervals that are used; each injection takes another one.
    :raises AttemptsWrong, DestinationWrong: when it does not hold.
    :raises NotExercised: when the errors were not raised.
    """
    before, inside, *others = pipeline.intervals(lot, 2 + RUNS)
    raising = Raise(pipeline.permanent)
    _permanent(
        pipeline,
        before,
        failing=pipeline.at_write(raising, run_id=pipeline.run_id(before), tries=()),
        rule="a task that fails before its write leaves nothing of the interval",
        advice="change the destination in the write only",
    )
    if pipeline.inside is not None:
        _permanent(
            pipeline,
            inside,
            failing=pipeline.at_write(
                raising, when="after", run_id=pipeline.run_id(inside), tries=(), target=pipeline.inside
            ),
            rule="a write that fails before its commit leaves nothing of the interval",
            advice="write in one transaction, with one commit at its end",
        )
    # the scheduler starts the oldest first: where only some may run at once, those that are looked at first
    _transient(pipeline, sorted(others, key=lambda interval: interval.start))


def _permanent(pipeline: Pipeline, interval: Interval, *, failing: Injection, rule: str, advice: str) -> None:
    pipeline.expect_unused(interval)
    pipeline.partner.good(interval, pipeline.first(interval).files)
    with pipeline.injections.planned(failing) as raised:
        run = pipeline.start(interval)
        state = _first_end(pipeline, run)
        raised.check_reached()
        if state == RETRIED:
            raise AttemptsWrong(
                rule="an error that no retry can help fails the task at once",
                expected="1 try",
                found=f"{pipeline.write_task} is tried again after {pipeline.permanent}",
                where=str(run),
                advice="give the task a retry policy with a rule that fails such exceptions, "
                "or raise AirflowFailException",
            )
    pipeline.expect(interval, [], rule=rule, advice=advice)


def _transient(pipeline: Pipeline, intervals: Sequence[Interval]) -> None:
    for interval in intervals:
        pipeline.expect_unused(interval)
        pipeline.partner.good(interval, pipeline.first(interval).files)
    with pipeline.injections.planned(pipeline.at_write(Raise(pipeline.transient))) as raised:
        runs = [pipeline.start(interval) for interval in intervals]
        delays = []
        for number, run in enumerate(runs):
            delays.append(_delay(pipeline, run))
            _go_on(pipeline, run, delays[-1], finish=number < FINISHED)
        failed = {event.run_id for event in raised.events("reached")}
    if not failed >= {run.run_id for run in runs}:
        raise NotExercised(f"{raised.injection} happened in {len(failed)} of {len(runs)} runs")
    _check_spread(pipeline, delays, runs)
    for run, interval in zip(runs[:FINISHED], intervals, strict=False):
        pipeline.end(run)
        rule = "a task whose error has passed writes in its next try, once"
        pipeline.expect(
            interval,
            pipeline.first(interval).rows,
            rule=rule,
            advice="give the task retries, and repeat its work safely",
        )


def _go_on(pipeline: Pipeline, run: Run, delay: float | None, *, finish: bool) -> None:
    """Make room for the next run: a Dag may have few at once."""
    if not finish:
        run.mark(state="failed")
    elif delay is not None and delay > LONG_DELAY:
        run.clear(task_ids=[pipeline.write_task])


def _first_end(pipeline: Pipeline, run: Run) -> str:
    """How the write's first try ended: ``RETRIED``, or the state of the run, which is over."""

    def look() -> str:
        task = run.task(task_id=pipeline.write_task)
        if task["state"] == RETRIED or int(task["try_number"]) > 1:
            return RETRIED
        state = run.state()
        return state if state in ENDED else ""

    return wait_until(check=look, what=f"{pipeline.write_task} of {run} ended", seconds=pipeline.seconds)


def _delay(pipeline: Pipeline, run: Run) -> float | None:
    """The seconds that the retry policy has set before the second try; None: no policy has set any."""
    state = _first_end(pipeline, run)
    if state != RETRIED:
        raise AttemptsWrong(
            rule="an error that may pass is followed by another try",
            expected="a second try",
            found=f"{pipeline.write_task} ended as {state} after {pipeline.transient}",
            where=str(run),
            advice="give the task retries, and let its retry policy retry such exceptions",
        )
    rows = pipeline.airflow.database.query(
        # of the task itself it is gone as soon as the second try begins
        sql="select retry_delay_override from task_instance_history "
        "where dag_id = :dag_id and run_id = :run_id and task_id = :task_id and try_number = 1",
        values={"dag_id": run.dag_id, "run_id": run.run_id, "task_id": pipeline.write_task},
    )
    return None if rows[0][0] is None else float(rows[0][0])


def _check_spread(pipeline: Pipeline, delays: Sequence[float | None], runs: Sequence[Run]) -> None:
    if not _come_together(delays):
        return
    raise AttemptsWrong(
        rule="tasks that failed together do not come back together",
        expected=f"{len(runs)} retries after delays that differ by a tenth and more, set by a retry policy",
        found=", ".join("none" if delay is None else f"{delay:.2f} s" for delay in delays),
        where=f"{pipeline.write_task} of {', '.join(run.run_id for run in runs)}",
        advice="set retry_policy, LandmarkRetryPolicy() for instance: its delays are spread, also at the cap",
    )


def _come_together(delays: Sequence[float | None]) -> bool:
    """Whether a delay is not set, or too many of them are nearly the same."""
    known = sorted(delay for delay in delays if delay is not None)
    if len(known) < len(delays):
        return True
    return any(
        last - first <= share * known[0]
        for count, share in ((len(known), ALL_WITHIN), (CROWD, CROWD_WITHIN))
        for first, last in zip(known, known[count - 1 :], strict=False)
    )
