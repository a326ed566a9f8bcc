"""What the tests of the readers share: metadata databases of Airflow, on SQLite and on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from airflow_landmark.testing import LocalAirflow, LocalPostgres
from metadata import Metadata


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPostgres]:
    """Return a server whose database ``airflow`` has Airflow's tables."""
    home = tmp_path_factory.mktemp("migrated")
    with LocalPostgres() as server:
        LocalAirflow(home=home, dags=home, database=server.url).command(arguments=["db", "migrate"])
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def metadata(request: pytest.FixtureRequest, tmp_path: Path) -> Metadata:
    """Return a metadata database of the test's own, as Airflow makes it."""
    if request.param == "postgres":
        return Metadata(_own_copy(request.getfixturevalue("postgres"), request.node.name))
    path = tmp_path / "airflow.db"
    template = request.getfixturevalue("empty_db")
    shutil.copyfile(template, path)
    return Metadata(f"sqlite:///{path}")


def _own_copy(server: LocalPostgres, test: str) -> str:
    """The URL of a new database with the same tables."""
    url = sa.make_url(server.url)
    name = "".join(letter for letter in test.lower() if letter.isalnum())[-60:]
    engine = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE airflow"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)
