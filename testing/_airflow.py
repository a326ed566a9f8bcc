"""A real Airflow on this machine for as long as a test needs it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import psutil

from ._api import AirflowApi
from ._database import MetadataDatabase
from ._errors import MissingSoftware
from ._injections import Injections
from ._ports import free_port
from ._processes import Processes, run_command
from ._rest import RestClient
from ._run import Run
from ._settings import Place, component_environment
from ._waiting import wait_until

__all__ = ["LocalAirflow"]

COMMAND_SECONDS = 300.0
START_SECONDS = 300.0
END_SECONDS = 20.0
_AIRFLOW = str(Path(sys.executable).with_name("airflow"))


class LocalAirflow:
    """Airflow's API server, scheduler, Dag processor and triggerers, started together; use it as a block.

    Everything listens on 127.0.0.1, and everything ends with the block, or with this process, however it
    ends. One start takes about 15 seconds on two cores, so use one instance for many tests.

    :param home: its own folder, made when it is not there: logs, outputs, the SQLite database.
    :param dags: the folder of Dag files; it is on the components' import path too.
    :param database: SQLAlchemy URL of the metadata database (:class:`LocalPostgres` gives one); None: an
        SQLite file in ``home``.
    :param triggerers: how many triggerers to start: ``triggerer-1`` and so on.
    :param plugins: a folder of Airflow plugins; None: none.
    :param fast: with short intervals, so that a test waits for seconds and not for minutes; False: with
        Airflow's own intervals, as in production. A Dag file that has changed is read again at once, one
        that has not after 300 s only; that a module has changed which it imports is not noticed before.
    :param environment: variables for all components, ``AIRFLOW__SECTION__KEY`` included; they win over
        everything that is set here.
    :param port: the API server's; None: any free one.
    :param injections: what may be injected into its tasks; None: nothing.
    """

    def __init__(
        self,
        *,
        home: Path,
        dags: Path,
        database: str | None = None,
        triggerers: int = 1,
        plugins: Path | None = None,
        fast: bool = True,
        environment: Mapping[str, str] | None = None,
        port: int | None = None,
        injections: Injections | None = None,
    ) -> None:
        self.home = home.absolute()
        place = Place(
            home=self.home,
            dags=dags.absolute(),
            plugins=None if plugins is None else plugins.absolute(),
            database=database or f"sqlite:///{self.home}/airflow.db",
            port=port or free_port(),
        )
        self.url = place.url
        self.environment = component_environment(place=place, fast=fast, extra=environment or {})
        if injections is not None:
            self.environment |= injections.environment(self.environment)
        self.database = MetadataDatabase(url=place.database)
        self._client = RestClient(url=self.url)
        self.api = AirflowApi(client=self._client)
        self._port = place.port
        self._triggerers = triggerers
        self._arguments: dict[str, list[str]] = {}
        self._processes = Processes(folder=self.home)

    def __enter__(self) -> LocalAirflow:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Make the database, start all components, and return when they are healthy.

        :raises MissingSoftware: when Airflow is not installed.
        :raises ComponentFailed: when one of them ends; tells its last lines.
        :raises NotInTime: when one of them is not healthy in time.
        """
        if not os.access(_AIRFLOW, os.X_OK):
            raise MissingSoftware("Airflow is not installed: pip install 'airflow-landmark[airflow]'")
        self.home.mkdir(parents=True, exist_ok=True)
        try:
            self.command(arguments=["db", "migrate"])
            before = self.database.newest_job()
            self._start("api-server", ["api-server", "--host", "127.0.0.1", "--port", str(self._port)])
            self._start("scheduler", ["scheduler", "--skip-serve-logs"])
            self._start("dag-processor", ["dag-processor"])
            for number in range(1, self._triggerers + 1):
                self._start_triggerer(f"triggerer-{number}", [])
            self._wait_healthy(triggerers_after=before, count=self._triggerers)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill all components at once; the folder stays. May be called again."""
        self._processes.close()  # in order, a triggerer that holds waits would take ten seconds
        self.database.close()

    @property
    def components(self) -> tuple[str, ...]:
        """The names of the components that are running."""
        return self._processes.names

    def command(self, *, arguments: Sequence[str], seconds: float = COMMAND_SECONDS) -> str:
        """Run one ``airflow`` command to its end and return what it printed.

        :raises ComponentFailed: when it exits with anything but 0.
        :raises NotInTime: when it takes longer than ``seconds``.
        """
        return run_command(
            command=[_AIRFLOW, *arguments], environment=self.environment, folder=self.home, seconds=seconds
        )

    def start_triggerer(self, *, name: str, arguments: Sequence[str] = ()) -> int:
        """Start one more triggerer, wait until it has reported, and return its job id.

        :param arguments: more of its command line, ``["--capacity", "10"]`` for instance.
        """
        before = self.database.newest_job()
        self._start_triggerer(name, arguments)
        return wait_until(
            check=lambda: self._triggerers_after(before), what=f"{name} reported", seconds=START_SECONDS
        )[0]

    def ended(self) -> dict[str, int]:
        """Return the exit codes of the components that have ended by themselves, by name.

        One that was killed by a signal counts too, unless :meth:`kill` or :meth:`terminate` did it.
        """
        return self._processes.ended()

    def restart(self, *, name: str) -> None:
        """Start a component anew with the command line it had, as a supervisor of services does.

        What is left of the old one is killed first. Returns at once: the component needs seconds to report.

        :raises KeyError: when no component of this name was started before.
        """
        arguments = self._arguments[name]
        if name in self._processes.names:
            self._processes.end(name=name, grace=0)
        self._start(name, arguments)

    def kill(self, *, name: str) -> None:
        """Kill a component with all its processes (SIGKILL): it ends in no order."""
        self._processes.end(name=name, grace=0)

    def terminate(self, *, name: str, seconds: float = END_SECONDS) -> None:
        """Ask a component to end (SIGTERM), and kill it when it has not after ``seconds``."""
        self._processes.end(name=name, grace=seconds)

    def signal(self, *, name: str, number: signal.Signals, whole: bool = True) -> None:
        """Send a signal to a component, SIGSTOP and SIGCONT for instance.

        :param whole: to all its processes; False: to the first one only.
        """
        self._processes.signal(name=name, number=number, whole=whole)

    def process_tree(self, *, name: str) -> list[psutil.Process]:
        """Return a component's processes, the first one first."""
        return self._processes.tree(name=name)

    def task_process(self, *, run: Run, task_id: str, map_index: int | None = None) -> psutil.Process:
        """Return the process in which a running task's code runs; its parent is the executor's worker.

        :raises LookupError: when the task is not running.
        """
        task = run.task(task_id=task_id, map_index=map_index)
        workers = {process.pid: process for process in self.process_tree(name="scheduler")}
        if task["state"] != "running" or task["pid"] not in workers:
            raise LookupError(f"task {task_id} of {run} is {task['state']}, and no process of it is here")
        return workers[task["pid"]]

    @contextmanager
    def lost_worker(
        self, *, run: Run, task_id: str, map_index: int | None = None
    ) -> Iterator[psutil.Process]:
        """Let a running task's worker stand still (SIGSTOP), as a lost machine does; the task itself goes on.

        Airflow hears nothing of the task any more, and starts its next try after the heartbeat timeout.
        At the end of the block the task's process is killed and the worker goes on.

        :returns: the task's process.
        :raises LookupError: when the task is not running.
        """
        process = self.task_process(run=run, task_id=task_id, map_index=map_index)
        worker = process.parent()
        if worker is None:
            raise LookupError(f"task {task_id} of {run} has no worker")
        worker.suspend()
        try:
            yield process
        finally:
            with suppress(psutil.NoSuchProcess):
                process.kill()
            with suppress(psutil.NoSuchProcess):
                worker.resume()

    def output(self, *, name: str) -> str:
        """Return what a component has printed."""
        return self._processes.output(name=name)

    def _start(self, name: str, arguments: Sequence[str]) -> None:
        self._arguments[name] = list(arguments)
        self._processes.start(name=name, command=[_AIRFLOW, *arguments], environment=self.environment)

    def _start_triggerer(self, name: str, arguments: Sequence[str]) -> None:
        # the log servers of two triggerers would want the same port
        self._start(name, ["triggerer", "--skip-serve-logs", *arguments])

    def _triggerers_after(self, job: int) -> list[int]:
        self._processes.check()
        return self.database.triggerers_since(job=job)

    def _wait_healthy(self, *, triggerers_after: int, count: int) -> None:
        """Wait for all; the API's own health report names only one triggerer."""

        def look() -> bool:
            started = self._triggerers_after(triggerers_after)
            health = self._client.health()
            wanted = ["metadatabase", "scheduler", "dag_processor"]
            return len(started) >= count and all(health.get(name) == "healthy" for name in wanted)

        wait_until(check=look, what="all components healthy", seconds=START_SECONDS, every=0.2)
