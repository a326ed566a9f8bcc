"""One Dag run, as the REST API shows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._errors import RequestRefused, RunEnded
from ._log_lines import log_line
from ._processes import last_lines
from ._rest import RestClient, quoted
from ._waiting import wait_until

__all__ = ["Run"]

ENDED = ("success", "failed")
TASK_ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Run:
    """A Dag run; made by :meth:`AirflowApi.start_run` and :meth:`AirflowApi.run`.

    Task instances are returned as the REST API gives them: ``state``, ``try_number``, ``pid``,
    ``trigger``, ``start_date``, and so on.
    """

    dag_id: str
    run_id: str
    client: RestClient = field(repr=False, compare=False)

    def state(self) -> str:
        """Return the run's state."""
        return str(self._call("GET", self._path())["state"])

    def wait(self, *, states: Collection[str] = ("success",), seconds: float = 120.0) -> str:
        """Wait until the run is in one of ``states``, and return which.

        :param seconds: how long to wait at most.
        :raises RunEnded: when it has come to another end; tells the tasks' states and a failed one's log.
        :raises NotInTime: when it is in another state still.
        """

        def look() -> str:
            state = self.state()
            if state in ENDED and state not in states:
                raise self._ended(state)
            return state if state in states else ""

        return wait_until(check=look, what=f"{self} in {'/'.join(states)}", seconds=seconds, every=0.25)

    def task(self, *, task_id: str, map_index: int | None = None) -> dict[str, Any]:
        """Return a task instance.

        :param map_index: of a mapped task; None: the task is not mapped.
        """
        found: dict[str, Any] = self._call("GET", self._task_path(task_id, map_index))
        return found

    def tasks(self) -> list[dict[str, Any]]:
        """Return all task instances, mapped ones included."""
        found: list[dict[str, Any]] = []
        while True:
            query = {"limit": str(PAGE), "offset": str(len(found))}
            page = self.client.call(method="GET", path=self._path("taskInstances"), query=query)
            found += page["task_instances"]
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    def wait_task(
        self,
        *,
        task_id: str,
        states: Collection[str],
        map_index: int | None = None,
        seconds: float = 60.0,
    ) -> dict[str, Any]:
        """Wait until a task instance is in one of ``states``, and return it.

        :raises RunEnded: when the run has ended meanwhile with the task in another state.
        :raises NotInTime: when it is in another state still.
        """

        def look() -> dict[str, Any]:
            run_state = self.state()  # before the task's, which may change in between
            found = self.task(task_id=task_id, map_index=map_index)
            if found["state"] in states:
                return found
            if run_state in ENDED and found["state"] in TASK_ENDED:
                raise self._ended(run_state)
            return {}

        what = f"task {task_id} of {self} in {'/'.join(states)}"
        return wait_until(check=look, what=what, seconds=seconds)

    def xcom(self, *, task_id: str, key: str = "return_value", map_index: int = -1) -> Any:
        """Return what a task has pushed.

        :raises RequestRefused: with status 404 when there is nothing.
        """
        path = f"{self._task_path(task_id, None)}/xcomEntries/{quoted(key)}"
        query = {"deserialize": "true", "map_index": str(map_index)}
        return self.client.call(method="GET", path=path, query=query)["value"]

    def log(self, *, task_id: str, try_number: int | None = None, map_index: int = -1) -> str:
        """Return a task's log as the web interface shows it, the triggerer's part included.

        :param try_number: from 1; None: the latest.
        """
        if try_number is None:
            found = self.task(task_id=task_id, map_index=None if map_index < 0 else map_index)
            try_number = int(found["try_number"])
        path = f"{self._task_path(task_id, None)}/logs/{try_number}"
        query = {"map_index": str(map_index), "full_content": "true"}
        lines = self.client.call(method="GET", path=path, query=query)["content"]
        return "\n".join(log_line(line) for line in lines)

    def clear(self, *, task_ids: Sequence[str]) -> None:
        """Clear task instances, whatever their state: they run again."""
        body = {
            "dry_run": False,
            "only_failed": False,
            "dag_run_id": self.run_id,
            "task_ids": list(task_ids),
        }
        self._call("POST", f"dags/{quoted(self.dag_id)}/clearTaskInstances", body)

    def mark_task(self, *, task_id: str, state: str, map_index: int | None = None) -> None:
        """Mark a task instance, as a user does.

        :param state: ``"success"``, ``"failed"`` or ``"skipped"``.
        """
        self._call("PATCH", self._task_path(task_id, map_index), {"new_state": state})

    def mark(self, *, state: str) -> None:
        """Mark the run: ``"success"``, ``"failed"`` or ``"queued"``."""
        self._call("PATCH", self._path(), {"state": state})

    def delete(self) -> None:
        """Delete the run; one that has not ended is marked as failed first."""
        if self.state() not in ENDED:
            self.mark(state="failed")
        self._call("DELETE", self._path())

    def __str__(self) -> str:
        return f"{self.dag_id} {self.run_id}"

    def _ended(self, state: str) -> RunEnded:
        instances = self.tasks()
        log = next((self._log_end(task) for task in instances if task["state"] == "failed"), "")
        tasks = {_label(task): str(task["state"]) for task in instances}
        return RunEnded(run=str(self), state=state, tasks=tasks, log=log)

    def _log_end(self, task: dict[str, Any]) -> str:
        attempt, index = task["try_number"], task["map_index"]
        try:
            log = self.log(task_id=task["task_id"], try_number=attempt, map_index=index)
        except RequestRefused as error:
            return str(error)
        return last_lines(log)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self.client.call(method=method, path=path, body=body)

    def _path(self, rest: str = "") -> str:
        path = f"dags/{quoted(self.dag_id)}/dagRuns/{quoted(self.run_id)}"
        return f"{path}/{rest}" if rest else path

    def _task_path(self, task_id: str, map_index: int | None) -> str:
        path = self._path(f"taskInstances/{quoted(task_id)}")
        return path if map_index is None else f"{path}/{map_index}"


def _label(task: dict[str, Any]) -> str:
    name, index = task["task_id"], task["map_index"]
    return str(name) if index < 0 else f"{name}[{index}]"
