"""What a local Airflow and a local PostgreSQL say when something is missing or fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from airflow_landmark.testing import (
    ComponentFailed,
    LocalAirflow,
    LocalPostgres,
    MetadataDatabase,
    MissingSoftware,
    Run,
    _airflow,
    _postgres,
    wait_until,
)


def test_airflow_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Airflow the start says in one line what to install."""
    monkeypatch.setattr(_airflow, "_AIRFLOW", str(tmp_path / "airflow"))
    with pytest.raises(MissingSoftware, match=r"^Airflow is not installed: pip install 'airflow-.*'$"):
        LocalAirflow(home=tmp_path, dags=tmp_path).start()


def test_postgres_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PostgreSQL the start says in one line what to install."""
    monkeypatch.setattr(_postgres, "DEBIAN_PROGRAMS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingSoftware, match=r"^PostgreSQL is not installed: apt-get .*$"), LocalPostgres():
        pass


class _OneTask(LocalAirflow):
    """An Airflow of which only a worker and its task are real."""

    process: psutil.Process

    def task_process(self, *, run: Run, task_id: str, map_index: int | None = None) -> psutil.Process:
        """Return the task's process."""
        return self.process


def test_lost_worker_stands_still(tmp_path: Path) -> None:
    """A lost worker is stopped while its task goes on; afterwards the task is gone and the worker goes on."""
    code = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        airflow = _OneTask(home=tmp_path, dags=tmp_path)
        airflow.process = task = psutil.Process(int(worker.stdout.readline()))
        run = airflow.api.run(dag_id="orders", run_id="one")
        with airflow.lost_worker(run=run, task_id="load") as found:
            assert found == task
            stopped = psutil.Process(worker.pid)
            wait_until(check=lambda: stopped.status() == psutil.STATUS_STOPPED, what="stopped", seconds=10)
            assert task.status() != psutil.STATUS_STOPPED
        worker.communicate("\n", timeout=10)
        wait_until(check=lambda: not task.is_running(), what="the task's end", seconds=10)
    assert worker.returncode == 0


@pytest.mark.slow
def test_component_fails(tmp_path: Path) -> None:
    """A start that fails quotes the last lines of what failed, and leaves nothing running."""
    wrong = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "sqlite:////nowhere/airflow.db"}
    airflow = LocalAirflow(home=tmp_path / "home", dags=tmp_path, environment=wrong)
    with pytest.raises(ComponentFailed, match="unable to open database file"):
        airflow.start()
    assert airflow.components == ()


@pytest.mark.slow
def test_postgres_comes_back() -> None:
    """A server that was stopped as by a crash has its data when it is started again."""
    with LocalPostgres() as postgres:
        database = MetadataDatabase(url=postgres.url)
        assert database.query(sql="select :value", values={"value": 1}) == [(1,)]
        postgres.stop()
        postgres.start()
        assert database.query(sql="select 2") == [(2,)]
        database.close()
