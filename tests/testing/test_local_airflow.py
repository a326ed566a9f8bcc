"""What a local Airflow and a local PostgreSQL say when something is missing or fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_landmark.testing import (
    ComponentFailed,
    LocalAirflow,
    LocalPostgres,
    MetadataDatabase,
    MissingSoftware,
    _airflow,
    _postgres,
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
