"""Which errors are retried, how often, and how far apart 200 tasks return that failed together.

Run: ``python examples/orders/programs/retries.py``
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from _airflow import query, run_to_its_end
from _table import show
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import DAG, BaseOperator

from airflow_landmark.sensors import LandmarkRetryPolicy

DAY = datetime(2024, 10, 1, tzinfo=timezone.utc)
FIRST_SECONDS, LONGEST_SECONDS, TASKS, BUCKET_SECONDS = 30, 600, 200, 10
CALLS: Counter[str] = Counter()
"""How often each task was executed."""


class Failing(BaseOperator):
    """A task that fails a number of times, whichever try it is."""

    def __init__(self, *, error: type[Exception], times: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.error = error
        self.times = times

    def execute(self, context: Any) -> None:  # noqa: ARG002 - Airflow passes it by name
        """Fail, until it has failed often enough."""
        CALLS[self.task_id] += 1
        if CALLS[self.task_id] <= self.times:
            raise self.error


def run_tasks() -> None:
    """Let Airflow run three tasks that have three retries each, and show what became of them."""
    policy = LandmarkRetryPolicy(first=0.1, longest=0.1)
    always = 99
    cases: dict[str, tuple[str, type[Exception], int, LandmarkRetryPolicy | None]] = {
        "transient": ("ConnectionError, twice", ConnectionError, 2, policy),
        "permanent": ("PermissionError, always", PermissionError, always, policy),
        "permanent_without": ("PermissionError, always", PermissionError, always, None),
    }
    with DAG("orders", schedule=None) as dag:
        for name, (_, error, times, chosen) in cases.items():
            Failing(
                task_id=name, error=error, times=times,
                retries=3, retry_delay=timedelta(), retry_policy=chosen,
            )  # fmt: skip
    run_to_its_end(dag, logical_date=DAY)
    ended = {name: rest for name, *rest in query("SELECT task_id, state, try_number FROM task_instance")}
    rows = [
        (title, type(chosen).__name__ if chosen else "none", *ended[name], CALLS[name])
        for name, (title, _, _, chosen) in cases.items()
    ]
    show(
        "Three tasks with retries=3, run by Airflow",
        ("what it raises", "retry policy", "final state", "attempts", "executed"),
        rows,
        "A policy can end the retries earlier. It cannot add any.",
    )


def by_airflow(task_id: str, try_number: int, *, multiplier: float) -> float:
    """Seconds until the retry, asked of Airflow's own method with a stand-in for the task instance."""
    failed_at = datetime(2024, 10, 2, tzinfo=timezone.utc)
    stand_in: Any = SimpleNamespace(
        dag_id="orders", task_id=task_id, logical_date=DAY, try_number=try_number,
        end_date=failed_at, retry_delay_override=None,
        task=SimpleNamespace(
            retry_delay=timedelta(seconds=FIRST_SECONDS),
            retry_exponential_backoff=multiplier,
            max_retry_delay=timedelta(seconds=LONGEST_SECONDS),
        ),
    )  # fmt: skip
    again: datetime = TaskInstance.next_retry_datetime(stand_in)
    return (again - failed_at).total_seconds()


def by_policy(task_id: str, try_number: int) -> float:
    """Seconds until the retry, asked of our policy."""
    ti = SimpleNamespace(
        dag_id="orders", run_id=f"scheduled__{DAY.isoformat()}", task_id=task_id, map_index=-1
    )
    return LandmarkRetryPolicy(first=FIRST_SECONDS, longest=LONGEST_SECONDS).delay(try_number, {"ti": ti})


def spread(rule: str, try_number: int, delay: Callable[[str, int], float]) -> tuple[object, ...]:
    """How 200 tasks that failed in the same second come back."""
    delays = [delay(f"extract_{number}", try_number) for number in range(TASKS)]
    buckets = Counter(int(seconds // BUCKET_SECONDS) for seconds in delays)
    bounds = (f"{min(delays):.0f}", f"{max(delays):.0f}")
    return rule, try_number, *bounds, len(set(delays)), max(buckets.values())


def show_delays() -> None:
    """How far apart the retries are."""
    base = f"{FIRST_SECONDS} s"

    def fixed(task_id: str, try_number: int) -> float:
        return by_airflow(task_id, try_number, multiplier=0)

    def growing(task_id: str, try_number: int) -> float:
        return by_airflow(task_id, try_number, multiplier=2)

    rows = [spread(f"retry_delay={base}", 1, fixed)]
    rows += [spread(f"retry_delay={base}, retry_exponential_backoff=2", n, growing) for n in (1, 4, 6)]
    rows += [spread(f"LandmarkRetryPolicy(first={base})", n, by_policy) for n in (1, 4, 6)]
    show(
        f"{TASKS} tasks fail together; the longest delay is {LONGEST_SECONDS} s",
        ("rule", "after try", "shortest s", "longest s", "distinct", f"busiest {BUCKET_SECONDS} s"),
        rows,
        "Airflow spreads above the delay and cuts that off at the longest: then all return at once.",
        "The policy spreads below the delay: sooner and closer together at first, but never all at once.",
    )
    one = ", ".join(f"{growing('extract_17', number):.0f}" for number in range(1, 7))
    print(f"One task, extract_17, with exponential backoff: {one} s after tries 1 to 6.")


if __name__ == "__main__":
    run_tasks()
    show_delays()
