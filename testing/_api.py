"""What tests ask of Airflow's REST API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import DagImportFailed, RequestRefused
from ._rest import RestClient, quoted
from ._run import Run
from ._waiting import wait_until

__all__ = ["AirflowApi"]


class AirflowApi:
    """Dags, runs, variables and pools; anything else by :meth:`call`.

    :param client: a client of the API server.
    """

    def __init__(self, *, client: RestClient) -> None:
        self._client = client

    def call(
        self,
        *,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Send any request to ``/api/v2/PATH`` and return the answer's JSON.

        :raises RequestRefused: for an answer of 400 and more.
        """
        return self._client.call(method=method, path=path, body=body, query=query)

    def wait_dag(self, *, dag_id: str, seconds: float = 60.0) -> None:
        """Wait until the Dag has been read from its file.

        :raises DagImportFailed: when it is not there, and files could not be imported.
        :raises NotInTime: when it is not there.
        """
        wait_until(check=lambda: self._is_read(dag_id), what=f"Dag {dag_id} read", seconds=seconds)

    def start_run(
        self,
        *,
        dag_id: str,
        logical_date: str | None = None,
        interval: tuple[str, str] | None = None,
        conf: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> Run:
        """Wait for the Dag, unpause it, and start a run.

        :param logical_date: ISO 8601 with an offset; None: a run without one, as assets start it.
        :param interval: start and end of the run's data interval, ISO 8601; None: what the Dag's timetable
            makes of the logical date.
        :param conf: the run's configuration.
        :param run_id: None: Airflow makes one.
        """
        self.wait_dag(dag_id=dag_id)
        self.pause(dag_id=dag_id, paused=False)
        body: dict[str, Any] = {"logical_date": logical_date, "conf": dict(conf or {})}
        if interval is not None:
            body |= {"data_interval_start": interval[0], "data_interval_end": interval[1]}
        if run_id is not None:
            body["dag_run_id"] = run_id
        answer = self.call(method="POST", path=f"dags/{quoted(dag_id)}/dagRuns", body=body)
        return self.run(dag_id=dag_id, run_id=answer["dag_run_id"])

    def run(self, *, dag_id: str, run_id: str) -> Run:
        """Return a run that is there already."""
        return Run(dag_id=dag_id, run_id=run_id, client=self._client)

    def pause(self, *, dag_id: str, paused: bool) -> None:
        """Pause or unpause a Dag."""
        self.call(method="PATCH", path=f"dags/{quoted(dag_id)}", body={"is_paused": paused})

    def set_variable(self, *, key: str, value: str) -> None:
        """Make or change an Airflow variable."""
        self._make_or_change("variables", key, {"key": key, "value": value}, {"key": key, "value": value})

    def set_pool(self, *, name: str, slots: int, include_deferred: bool = False) -> None:
        """Make or change a pool.

        :param slots: 0 lets no task start; -1 sets no limit.
        """
        body = {"slots": slots, "description": "", "include_deferred": include_deferred}
        self._make_or_change("pools", name, {"name": name, **body}, {"pool": name, **body})

    def resize_pool(self, *, name: str, slots: int) -> None:
        """Change the slots of a pool that is there, the default one too; its other settings stay."""
        body, only = {"pool": name, "slots": slots}, {"update_mask": "slots"}
        self.call(method="PATCH", path=f"pools/{quoted(name)}", body=body, query=only)

    def _make_or_change(self, kind: str, name: str, new: dict[str, Any], changed: dict[str, Any]) -> None:
        try:
            self.call(method="POST", path=kind, body=new)
        except RequestRefused as error:
            if error.status != 409:
                raise
            self.call(method="PATCH", path=f"{kind}/{quoted(name)}", body=changed)

    def _is_read(self, dag_id: str) -> bool:
        try:
            return not self.call(method="GET", path=f"dags/{quoted(dag_id)}")["is_stale"]
        except RequestRefused as error:
            if error.status != 404:
                raise
        broken = self.call(method="GET", path="importErrors")["import_errors"]
        if broken:
            traces = {str(file["filename"]): str(file["stack_trace"]) for file in broken}
            raise DagImportFailed(dag_id=dag_id, traces=traces)
        return False
