"""A pipeline's intervals, injections and checks, without a running Airflow."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from airflow_landmark.markers import Interval
from airflow_landmark.testing import (
    Contents,
    DestinationWrong,
    Injections,
    Kill,
    LocalAirflow,
    NotExercised,
    Partner,
    Pipeline,
)


def rows_of(interval: Interval) -> list[int]:
    """A destination that holds one row of every day but the second of May."""
    return [] if interval.start.day == 2 else [1]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """Return a pipeline whose Airflow was not started."""
    injections = Injections(folder=tmp_path / "injections")
    return Pipeline(
        airflow=LocalAirflow(home=tmp_path / "home", dags=tmp_path, injections=injections),
        injections=injections,
        partner=Partner(folder=tmp_path, dataset="shop/orders"),
        dag_id="orders",
        wait_task="wait",
        write_task="load",
        write="work:write",
        rows=rows_of,
        first=lambda _: Contents(files={}, rows=[1]),
        corrected=lambda _: Contents(files={}, rows=[]),
        today=date(2026, 5, 4),
    )


def days(intervals: list[Interval]) -> list[str]:
    """The days of intervals, each a whole one in UTC."""
    return [str(interval)[:10] for interval in intervals if str(interval).count("T00:00:00Z") == 2]


def test_intervals_of_lots_do_not_meet(pipeline: Pipeline) -> None:
    """Lots are days before yesterday and, for waits, after today; two lots have none in common.

    Yesterday's run is made by the schedule of a Dag that is unpaused.
    """
    assert days(pipeline.intervals(0, 2)) == ["2026-05-02", "2026-05-01"]
    assert days(pipeline.coming(0, 2)) == ["2026-05-05", "2026-05-06"]
    found = [day for lot in range(20) for day in days(pipeline.intervals(lot, 12) + pipeline.coming(lot, 12))]
    assert len(found) == len(set(found)) == 480


def test_intervals_of_ones_own(pipeline: Pipeline) -> None:
    """A pipeline that is not daily in UTC gives its own intervals, by the same numbers."""
    asked: list[int] = []
    hour = Interval.parse("2026-05-02T00:00:00Z/2026-05-02T01:00:00Z")
    own = replace(pipeline, interval=lambda number: asked.append(number) or hour)  # type: ignore[func-returns-value]
    assert own.intervals(1, 2) + own.coming(1, 1) == [hour] * 3
    assert asked == [13, 14, -14]


def test_injection_at_the_write(pipeline: Pipeline) -> None:
    """An injection at the write is meant for the pipeline's task and function only."""
    made = pipeline.at_write(Kill(), when="after")
    assert (made.target, made.dag_id, made.task_id, made.tries) == ("work:write", "orders", "load", (1,))
    inside = pipeline.at_write(Kill(), target="work:insert")
    assert (inside.target, inside.task_id) == ("work:insert", "load")


def test_expectation_names_the_reader(pipeline: Pipeline) -> None:
    """What a destination lacks is told with the Dag, the interval and the reader's name."""
    (interval,) = pipeline.intervals(0, 1)
    pipeline.expect(interval, [], rule="empty", advice="none")
    with pytest.raises(DestinationWrong, match=r"where: orders, interval 2026-05-02T.*, as rows_of reads it"):
        pipeline.expect(interval, [1], rule="one row", advice="write it")


def test_used_intervals_are_refused(pipeline: Pipeline) -> None:
    """An injection whose interval is in the destination already would show nothing."""
    empty, used = pipeline.intervals(0, 2)
    pipeline.expect_unused(empty)
    with pytest.raises(
        NotExercised, match=r"holds rows for 2026-05-01.* already; give each injection another"
    ):
        pipeline.expect_unused(used)


def test_airflow_is_told_of_the_plan(pipeline: Pipeline) -> None:
    """Components of an Airflow with injections find the plan; those of one without it do not."""
    environment = pipeline.airflow.environment
    assert environment["LANDMARK_INJECTIONS"] == str(pipeline.injections.folder)
    assert environment["PYTHONPATH"].endswith(str(pipeline.injections.folder / "plugin"))
    assert environment["PYTHONPATH"].startswith(str(pipeline.injections.folder.parent))
    without = LocalAirflow(home=pipeline.airflow.home, dags=pipeline.airflow.home)
    assert "LANDMARK_INJECTIONS" not in without.environment
