"""One real Airflow for all end-to-end tests: a start takes longer than most of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow
from httpserver import HttpServer
from s3server import AWS_ENVIRONMENT, S3Server

HERE = Path(__file__).parent
TEST_SECONDS = 300
"""How long one test may take unless its file says otherwise; the first one waits for the start too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder: it runs with ``make e2e`` only."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@pytest.fixture(scope="session")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where partners deliver; Dags find it in the variable ``LANDING``."""
    return tmp_path_factory.mktemp("landing")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """Return a running S3 server."""
    with S3Server() as server:
        yield server


@pytest.fixture(scope="session")
def http_server() -> Iterator[HttpServer]:
    """Return a running web server."""
    with HttpServer() as server:
        yield server


@pytest.fixture(scope="session")
def airflow(
    tmp_path_factory: pytest.TempPathFactory, landing: Path, s3_server: S3Server, http_server: HttpServer
) -> Iterator[LocalAirflow]:
    """Return a running Airflow that reads ``tests/e2e/dags``, with connections to both servers."""
    home = tmp_path_factory.mktemp("airflow")
    bucket = {
        "conn_type": "aws",
        "login": AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        "password": AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        "extra": {
            "region_name": "eu-west-3",
            "endpoint_url": s3_server.url,
            "config_kwargs": {"s3": {"addressing_style": "path"}},
        },
    }
    origin = {
        "conn_type": "http",
        "host": http_server.origin,
        "login": "partner",
        "password": "pw-EXAMPLE-1",
    }
    environment = {
        "LANDING": str(landing),
        "AIRFLOW_CONN_PARTNER_BUCKET": json.dumps(bucket),
        "AIRFLOW_CONN_PARTNER_ORIGIN": json.dumps(origin),
    }
    with LocalAirflow(home=home, dags=HERE / "dags", environment=environment) as running:
        yield running
