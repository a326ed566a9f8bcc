"""Waits in a bucket and on a web server, by connections, and on markers of foreign formats."""

from __future__ import annotations

import hashlib
from pathlib import Path

from airflow_landmark.deliveries import Announcement, announce, run
from airflow_landmark.markers import Expectation, Interval
from airflow_landmark.stores import S3Access
from airflow_landmark.testing import LocalAirflow
from drops import DAY, deliver, instants
from httpserver import HttpServer, Page
from s3server import AWS_ENVIRONMENT, S3Server

PASSWORD = "pw-EXAMPLE-1"  # noqa: S105 - that of the connection


def conf_of(uri: str) -> dict[str, str]:
    """The run's conf for a wait on a marker."""
    start, end = instants(DAY)
    return {"uri": uri, "start": start, "end": end}


def upload(server: S3Server, bucket: str, source: Path, *, version: int) -> None:
    """Deliver a local folder into a bucket, as a partner does."""
    access = S3Access(
        region="eu-west-3",
        endpoint_url=server.url,
        addressing_style="path",
        access_key_id=AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        secret_access_key=AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    )
    expectation = Expectation("shop/orders", Interval.parse("/".join(instants(DAY))), version)
    folder = f"s3://{bucket}/in/day 1"
    run(lambda: announce(folder, Announcement(expectation), source=str(source), access=access))


def test_a_delivery_in_a_bucket(airflow: LocalAirflow, s3_server: S3Server, tmp_path: Path) -> None:
    """A task waits in a bucket by its connection, and the next one opens the pinned objects."""
    (tmp_path / "orders+1.csv").write_text("id\n1\n2\n")
    bucket = s3_server.bucket(versions=True)
    started = airflow.api.start_run(dag_id="wait_s3", conf=conf_of(f"s3://{bucket}/in/day 1/_delivery.json"))
    started.wait_task(task_id="wait", states=["deferred"])
    upload(s3_server, bucket, tmp_path, version=2)
    started.wait()
    document = started.xcom(task_id="wait")
    assert (document["version"], document["access"]) == (2, {"conn_id": "partner_bucket", "options": {}})
    loaded = started.xcom(task_id="load")
    assert loaded["texts"] == {"orders+1.csv": "id\n1\n2\n"}
    assert loaded["pins"][0]["version_id"]
    assert AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in started.log(task_id="wait") + str(document)


def test_a_delivery_on_a_web_server(airflow: LocalAirflow, http_server: HttpServer, tmp_path: Path) -> None:
    """A task waits at an origin by its connection; worker and triggerer authenticate alike."""
    deliver(tmp_path)
    started = airflow.api.start_run(
        dag_id="wait_http", conf=conf_of(f"{http_server.origin}/out/_delivery.json")
    )
    started.wait_task(task_id="wait", states=["deferred"])
    for name in ("orders.csv", "_delivery.json"):
        http_server.pages[f"/out/{name}"] = Page.of((tmp_path / name).read_bytes())
    started.wait()
    assert started.xcom(task_id="load")["texts"] == {"orders.csv": "id\n1\n2\n"}
    sent = {seen.headers.get("Authorization") for seen in http_server.asked("/out/_delivery.json")}
    assert len(sent) == 1
    assert str(sent.pop()).startswith("Basic ")
    assert PASSWORD not in started.log(task_id="wait") + str(started.xcom(task_id="wait"))


def test_a_rescheduled_wait_on_a_web_server(
    airflow: LocalAirflow, http_server: HttpServer, tmp_path: Path
) -> None:
    """A wait without a triggerer comes to the same end."""
    deliver(tmp_path)
    uri = f"{http_server.origin}/again/_delivery.json"
    started = airflow.api.start_run(dag_id="wait_http_rescheduled", conf=conf_of(uri))
    started.wait_task(task_id="wait", states=["up_for_reschedule"])
    for name in ("orders.csv", "_delivery.json"):
        http_server.pages[f"/again/{name}"] = Page.of((tmp_path / name).read_bytes())
    started.wait()
    assert started.xcom(task_id="wait")["version"] == 1


def test_a_bag(airflow: LocalAirflow, landing: Path) -> None:
    """A task waits for a BagIt bag to be whole, and goes on with its payload."""
    bag = landing / "bag"
    (bag / "data").mkdir(parents=True)
    data = b"id\n1\n"
    (bag / "bagit.txt").write_text("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")
    (bag / "bag-info.txt").write_text(f"External-Identifier: {DAY}\nPayload-Oxum: {len(data)}.1\n")
    started = airflow.api.start_run(dag_id="wait_bag", conf=conf_of(f"{bag}/bagit.txt"))
    started.wait_task(task_id="wait", states=["deferred"])
    (bag / "manifest-sha256.txt").write_text(f"{hashlib.sha256(data).hexdigest()}  data/orders.csv\n")
    (bag / "data" / "orders.csv").write_bytes(data)
    started.wait()
    texts = started.xcom(task_id="load")["texts"]
    assert texts["data/orders.csv"] == "id\n1\n"


def test_a_success_file_whose_path_tells_the_day(airflow: LocalAirflow, landing: Path) -> None:
    """A task waits for a _SUCCESS file; the interval comes from the path, the files from the listing."""
    folder = landing / f"dt={DAY}"
    folder.mkdir()
    (folder / "part-0.csv").write_text("id\n1\n")
    started = airflow.api.start_run(dag_id="wait_success_file", conf=conf_of(f"{folder}/_SUCCESS"))
    started.wait_task(task_id="wait", states=["deferred"])
    (folder / "_SUCCESS").touch()
    started.wait()
    document = started.xcom(task_id="wait")
    assert (document["verified"], document["format"]["name"]) == ("files", "sentinel")
    assert started.xcom(task_id="load")["texts"] == {"part-0.csv": "id\n1\n"}
