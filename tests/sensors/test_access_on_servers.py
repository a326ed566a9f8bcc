"""Connections on real servers: what the worker sends, the trigger sends too."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from structlog.testing import capture_logs

from airflow_landmark.sensors import AccessRefused, Delivery
from guarded import Guarded, guarded
from parcels import FILES, deliver
from sensing import MODES, deferral_of, run_task, sensor_of

pytestmark = [
    pytest.mark.usefixtures("no_pauses"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore", "ignore::DeprecationWarning:moto"),
]
SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    """A web server, and a connection to it."""
    (tmp_path / "in").mkdir()
    with guarded(tmp_path, user="user", password=SECRET) as server:
        partner = {"conn_type": "http", "host": "127.0.0.1", "port": server.port, "login": "user"}
        partner |= {"password": SECRET, "extra": {"query": f"sig=abc123{SECRET}"}}
        monkeypatch.setenv("AIRFLOW_CONN_PARTNER", json.dumps(partner))
        yield server


@pytest.mark.parametrize("mode", MODES)
def test_the_same_authorization_on_worker_and_trigger(
    mode: str, server: Guarded, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every request of every step brings the connection's password and query, and no log tells them."""
    caplog.set_level(logging.DEBUG)
    asks = {"uri": f"{server.uri}in/", "conn_id": "partner"}
    with capture_logs() as lines:
        if mode == "deferrable":
            deferral_of(sensor_of(tmp_path, **asks))  # nothing lies there yet: the worker looks, and defers
        before = len(server.seen)
        deliver(tmp_path / "in")
        document = run_task(mode, tmp_path, **asks)
        with Delivery.from_xcom(document).open("a.csv") as file:
            assert file.read() == FILES["a.csv"]
    assert len(server.seen) > before
    assert set(server.seen) == {server.expected}
    assert set(server.queries) == {f"sig=abc123{SECRET}"}
    for secret in (SECRET, "abc123", server.expected):
        assert secret not in f"{lines} {caplog.text} {json.dumps(document)}"


def test_without_the_connection_it_is_refused(server: Guarded, tmp_path: Path) -> None:
    """Without the connection nothing is sent, and the server's refusal ends the task."""
    deliver(tmp_path / "in")
    with pytest.raises(AccessRefused):
        run_task("deferrable", tmp_path, uri=f"{server.uri}in/", timeout=20)
    assert set(server.seen) == {None}


@pytest.fixture(scope="module")
def s3_port() -> Iterator[int]:
    """A server that speaks S3."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def lake(s3_port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A bucket, a connection to it, and a client that puts objects there."""
    import boto3

    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    extra = {"endpoint_url": f"http://127.0.0.1:{s3_port}", "region_name": "eu-west-3"}
    extra["config_kwargs"] = {"connect_timeout": 3, "s3": {"addressing_style": "path"}}
    lake = {"conn_type": "aws", "login": "AKIA", "password": SECRET, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
    client = boto3.client(
        "s3", endpoint_url=extra["endpoint_url"], region_name="eu-west-3", aws_access_key_id="AKIA",
        aws_secret_access_key=SECRET,
    )  # fmt: skip
    client.create_bucket(Bucket="lake", CreateBucketConfiguration={"LocationConstraint": "eu-west-3"})
    yield client
    for item in client.list_objects_v2(Bucket="lake").get("Contents", ()):
        client.delete_object(Bucket="lake", Key=item["Key"])
    client.delete_bucket(Bucket="lake")
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("has_provider", [True, False])
def test_a_bucket_by_its_connection(
    mode: str, has_provider: bool, lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bucket behind an endpoint of one's own is reached at every step, with and without the provider."""
    monkeypatch.setattr("airflow_landmark.triggers._access_s3._has_provider", lambda: has_provider)
    asks = {"uri": "s3://lake/in/", "conn_id": "lake"}
    if mode == "deferrable":
        deferral_of(sensor_of(tmp_path, **asks))
    folder = tmp_path / "drop"
    folder.mkdir()
    deliver(folder)
    for file in sorted(folder.iterdir(), reverse=True):
        lake.put_object(Bucket="lake", Key=f"in/{file.name}", Body=file.read_bytes())
    shutil.rmtree(folder)
    document = run_task(mode, tmp_path, **asks)
    assert document["access"] == {"conn_id": "lake", "options": {}}
    with Delivery.from_xcom(document).open("b.csv") as opened:
        assert opened.read() == FILES["b.csv"]
