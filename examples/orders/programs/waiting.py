"""A deferred wait beside a rescheduled one: what survives between two starts, and what a wrong marker does.

Run: ``python examples/orders/programs/waiting.py``
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from _airflow import query, run_to_its_end
from _table import show
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException

from airflow_landmark.deliveries import Announcement, announce, run
from airflow_landmark.markers import Expectation, Interval
from airflow_landmark.sensors import MarkerSensor

DATASET = "shop/orders"
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
DAY_BEFORE = Interval.parse("2024-09-30T00:00:00Z/2024-10-01T00:00:00Z")


@dataclass
class Story:
    """One wait, told from outside: what is kept on a sensor would be gone.

    :param delivered: the interval of what the partner delivers at each start, ``None`` for nothing: after
        the look of a start that looks, and before the check of a start that resumes.
    """

    title: str
    delivered: Sequence[Interval | None]
    starts: list[tuple[str, str]] = field(default_factory=list)
    result: str = ""


STORIES = {
    "deferred": Story("deferred", [DAY, None]),
    "stale": Story("deferred, a stale marker comes", [DAY_BEFORE, None]),
    "replaced": Story("deferred, stale before the resume", [DAY, DAY_BEFORE]),
    "rescheduled": Story("rescheduled, three looks", [None, DAY, None]),
}


class Watched(MarkerSensor):
    """Notes at each start what the instance holds: what ``execute`` set on it, and what the Dag gave it."""

    def __init__(self, *, given: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.given = given

    def execute(self, context: Any) -> Any:
        """Look, set an attribute, and wait."""
        self._note_start()
        self.set_by_execute = "there"
        try:
            return self._note_end(super().execute(context))
        finally:
            self._let_partner_deliver()

    def resume(self, context: Any, event: Any = None) -> Any:
        """Go on after the wait."""
        self._note_start()
        self._let_partner_deliver()
        try:
            return self._note_end(super().resume(context, event))
        except AirflowException as error:
            STORIES[self.task_id].result = str(error).replace(self.uri, "")
            raise

    def _note_start(self) -> None:
        STORIES[self.task_id].starts.append((getattr(self, "set_by_execute", "gone"), self.given))

    def _note_end(self, document: Any) -> Any:
        STORIES[self.task_id].result = f"version {document['version']} is handed on"
        return document

    def _let_partner_deliver(self) -> None:
        story = STORIES[self.task_id]
        interval = story.delivered[len(story.starts) - 1]
        if interval is not None:
            (Path(self.uri) / "orders.csv").write_text("id,amount\no1,10\n")
            run(lambda: announce(self.uri, Announcement(Expectation(DATASET, interval, 7))))


def waits(landing: Path) -> DAG:
    """A Dag with one wait for each story."""
    in_the_triggerer: dict[str, Any] = {"deferrable": True}
    started_anew: dict[str, Any] = {"deferrable": False, "mode": "reschedule"}
    with DAG("waiting", schedule=None) as dag:
        for name in STORIES:
            (landing / name).mkdir()
            Watched(
                task_id=name, given="there", uri=f"{landing / name}/", dataset=DATASET, interval=DAY,
                on_mismatch="fail", poke_interval=0.2, first_event_delay=0, timeout=1800,
                **(started_anew if name == "rescheduled" else in_the_triggerer),
            )  # fmt: skip
    return dag


def main() -> None:
    """Let Airflow run the waits, and read in its database what became of them."""
    with tempfile.TemporaryDirectory(prefix="landmark-landing-") as folder:
        run_to_its_end(waits(Path(folder)), logical_date=datetime(2024, 10, 2, tzinfo=timezone.utc))
    count = "(SELECT count(*) FROM task_reschedule WHERE ti_id = task_instance.id)"
    found = query(f"SELECT task_id, try_number, {count}, state FROM task_instance")  # noqa: S608 - ours
    ended = {name: rest for name, *rest in found}
    show(
        f"Waits for {DATASET} of {DAY}, as the last start finds them",
        ("wait", "starts", "set by execute", "from the Dag", "try number", "reschedule rows", "state"),
        [
            (story.title, len(story.starts), *story.starts[-1], *ended[name])
            for name, story in STORIES.items()
        ],
        *(f"{story.title}: {story.result}" for story in STORIES.values()),
    )


if __name__ == "__main__":
    main()
