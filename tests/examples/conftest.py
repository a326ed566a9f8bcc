"""Destinations for the orders pipeline: a new, empty one for each test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from airflow_landmark.testing import LocalPostgres
from ordering import Destination


@pytest.fixture(scope="session")
def postgres() -> Iterator[LocalPostgres]:
    """Return a running PostgreSQL server."""
    with LocalPostgres() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def destination_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/orders.db"
    url = make_url(request.getfixturevalue("postgres").url)
    name = f"orders_{uuid.uuid4().hex}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def connect(destination_url: str) -> Callable[[], Destination]:
    """Return a function that makes one more program that works with the same destination."""
    Destination(destination_url).set_up()
    return lambda: Destination(destination_url)


@pytest.fixture
def destination(connect: Callable[[], Destination]) -> Destination:
    """Return a destination that was set up."""
    return connect()
