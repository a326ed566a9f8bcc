"""The environment of the components."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_landmark.testing._settings import Place, component_environment


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a place on SQLite."""
    database = f"sqlite:///{tmp_path}/airflow.db"
    return Place(home=tmp_path, dags=tmp_path / "dags", plugins=None, database=database, port=1234)


def test_surroundings_are_left_out(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow settings of the surrounding process are left out, everything else is handed on."""
    monkeypatch.setenv("AIRFLOW__CORE__PARALLELISM", "99")
    monkeypatch.setenv("AIRFLOW_CONN_A", "http://a")
    monkeypatch.setenv("LANDING", "/landing")
    made = component_environment(place=place, fast=True, extra={})
    assert made["AIRFLOW__CORE__PARALLELISM"] == "4"
    assert "AIRFLOW_CONN_A" not in made
    assert made["LANDING"] == "/landing"


def test_given_variables_win(place: Place) -> None:
    """A variable that the caller gives wins over everything set here."""
    extra = {"AIRFLOW__CORE__PARALLELISM": "8", "AIRFLOW__CORE__FERNET_KEY": "mine"}
    made = component_environment(place=place, fast=True, extra=extra)
    assert extra.items() <= made.items()


def test_own_intervals(place: Place) -> None:
    """Without ``fast`` no interval of Airflow is changed."""
    made = component_environment(place=place, fast=False, extra={})
    assert not [name for name in made if name.startswith("AIRFLOW__TRIGGERER__")]
    assert "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL" not in made


def test_secrets_are_shared_and_new(place: Place, tmp_path: Path) -> None:
    """All components of one place share its secrets, and another place has others; none is shown."""
    other = Place(home=tmp_path, dags=tmp_path, plugins=None, database="sqlite://", port=1)
    for name in ("api_secret", "token_secret", "fernet_key"):
        assert getattr(place, name) != getattr(other, name)
        assert getattr(place, name) not in repr(place)
    assert place.settings() == place.settings()
