"""Connection and options: the same store, reached in the same way, in every mode and at every step."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse
from structlog.testing import capture_logs

from airflow_landmark.sensors import (
    AccessRefused,
    Delivery,
    DeliveryNotInTime,
    DeliveryUnavailable,
    WaitMisconfigured,
)
from airflow_landmark.stores import HttpAccess, S3Access, parse_uri
from parcels import FILES, marker_of
from remote import Remote
from sensing import MODES, context_of, deferral_of, fired, run_task, sensor_of

pytestmark = pytest.mark.usefixtures("no_pauses")
SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere
LAKE, HOST = "s3://lake/in/_delivery.json", "https://host.example/in/_delivery.json"
LAKE_EXTRA = {
    "endpoint_url": "http://127.0.0.1:9000", "verify": False, "region_name": "us-east-2",
    "config_kwargs": {"connect_timeout": 3, "s3": {"addressing_style": "path"}},
}  # fmt: skip


@pytest.fixture(autouse=True)
def connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections in the environment."""
    lake = {"conn_type": "aws", "login": "AKIA", "password": SECRET, "extra": LAKE_EXTRA}
    partner = {"conn_type": "http", "host": "https://host.example", "login": "user", "password": SECRET}
    partner["extra"] = json.dumps({"X-Token": f"token-{SECRET}", "query": f"sig={SECRET}"})
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
    monkeypatch.setenv("AIRFLOW_CONN_PARTNER", json.dumps(partner))


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A bucket and an origin, with nothing in them."""
    return Remote().install(monkeypatch)


def put(remote: Remote, uri: str, **changes: Any) -> None:
    """Deliver there."""
    remote.files |= {parse_uri(uri).at(path).uri: data for path, data in FILES.items()}
    remote.files[uri] = json.dumps(marker_of(**changes)).encode()


def comes_at_the_second_look(remote: Remote, uri: str) -> None:
    """Let the marker come when it has been looked for once: every mode then has to wait."""
    look, seen = remote.look, []

    async def looked(address: Any, **how: Any) -> Any:
        if not seen:
            seen.append(address)
            put(remote, uri)
            return type(await look(address))(None, reason="no such object")
        return await look(address, **how)

    remote.look = looked  # type: ignore[method-assign]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("uri", "asks", "expected"),
    [
        (
            LAKE,
            {"conn_id": "lake", "options": {"region": "eu-west-3"}},
            S3Access(
                region="eu-west-3", endpoint_url="http://127.0.0.1:9000", verify=False,
                addressing_style="path", connect_timeout=3.0,
            ),
        ),
        (LAKE, {"options": {"anonymous": True}}, S3Access(anonymous=True)),
        (
            HOST,
            {"conn_id": "partner", "options": {"gone": "fail"}},
            HttpAccess(
                gone="fail", origin="https://host.example", username="user", password=SECRET,
                headers=(("X-Token", f"token-{SECRET}"),), query=f"sig={SECRET}",
            ),
        ),
        (HOST, {}, HttpAccess()),
    ],
)  # fmt: skip
def test_every_look_reaches_the_store_alike(
    mode: str, uri: str, asks: dict[str, Any], expected: Any, remote: Remote, tmp_path: Path
) -> None:
    """First look, wait, resume and downstream tasks reach the store with the same settings."""
    comes_at_the_second_look(remote, uri)
    document = run_task(mode, tmp_path, uri=uri, **asks)
    with Delivery.from_xcom(document).open("a.csv") as file:
        assert file.read() == FILES["a.csv"]
    assert len(set(remote.reached)) == 1
    access = remote.reached[0]
    if isinstance(access, S3Access) and access.session is not None:
        import dataclasses

        access = dataclasses.replace(access, session=None)
    assert access == expected
    assert len(remote.reached) >= (4 if mode == "deferrable" else 3)
    assert document.get("access", {"conn_id": None, "options": {}}) == {
        "conn_id": asks.get("conn_id"), "options": asks.get("options", {}),
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_rendered_connections_are_checked(mode: str, remote: Remote, tmp_path: Path) -> None:
    """What only the run knows is checked by the run, before anything is looked at."""
    sensor = sensor_of(tmp_path, mode, uri="{{ params.place }}", options={"gone": "fail"}, conn_id="{{ x }}")
    sensor.uri, sensor.conn_id = LAKE, "lake"
    with pytest.raises(WaitMisconfigured, match="no option for s3"):
        sensor.execute(context_of())
    sensor.uri, sensor.options = "/in/_delivery.json", None
    with pytest.raises(WaitMisconfigured, match="a local path is reached without them"):
        sensor.execute(context_of())
    assert not remote.reached


def test_a_poke_of_ones_own_reaches_the_store(remote: Remote, tmp_path: Path) -> None:
    """``poke`` uses the connection too, and tells what is wrong with it as ``execute`` does."""
    put(remote, HOST)
    found = sensor_of(tmp_path, uri=HOST, conn_id="partner").poke(context_of())
    assert found.is_done
    assert isinstance(remote.reached[0], HttpAccess)
    with pytest.raises(WaitMisconfigured, match="connection 'nobody'"):
        sensor_of(tmp_path, uri=HOST, conn_id="nobody").poke(context_of())


def test_a_connection_that_is_gone_at_the_resume(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that was removed meanwhile is told by its name, and the task is not retried."""
    comes_at_the_second_look(remote, HOST)
    with pytest.raises(WaitMisconfigured, match="connection 'partner'"):
        run_task(
            "deferrable", tmp_path, uri=HOST, conn_id="partner",
            meanwhile=lambda: monkeypatch.delenv("AIRFLOW_CONN_PARTNER"),
        )  # fmt: skip


class Away:
    """A supervisor whose API server does not answer."""

    async def asend(self, _message: Any) -> Any:
        """Say so."""
        from airflow.sdk.exceptions import ErrorType

        return ErrorResponse(error=ErrorType.API_SERVER_ERROR)

    def send(self, _message: Any) -> None:
        """Nothing is answered."""


@pytest.mark.parametrize("mode", MODES)
def test_an_outage_of_airflow(
    mode: str, remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the connection cannot be looked up the task waits, in every mode alike."""
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Away(), raising=False)
    with pytest.raises(DeliveryNotInTime, match="API server does not answer"):
        run_task(mode, tmp_path, uri=HOST, conn_id="elsewhere", timeout=0.4)
    assert not remote.reached


def test_an_outage_at_the_resume_is_retried(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the resume an outage is passing trouble, which a retry may not meet."""
    comes_at_the_second_look(remote, HOST)

    def gone() -> None:
        monkeypatch.delenv("AIRFLOW_CONN_PARTNER")
        monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Away(), raising=False)

    with pytest.raises(DeliveryUnavailable, match="API server does not answer"):
        run_task("deferrable", tmp_path, uri=HOST, conn_id="partner", meanwhile=gone)


def test_stores_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be opened is told as what it is when the task waits on its worker too."""
    from airflow_landmark.stores import InvalidAccess, LastingTrouble, PassingTrouble, StoreError
    from airflow_landmark.stores import _registry as registry

    raised: list[tuple[StoreError, type[AirflowException]]] = [
        (InvalidAccess("http", "no such extra"), WaitMisconfigured),
        (LastingTrouble("http", "no rights"), AccessRefused),
        (PassingTrouble("http", "away"), DeliveryUnavailable),
    ]
    for error, expected in raised:

        async def factory(_address: Any, error: StoreError = error) -> Any:
            raise error

        monkeypatch.setitem(registry._FACTORIES, "https", factory)
        with pytest.raises(expected, match=error.reason):
            run_task("poke", tmp_path, uri=HOST)


@pytest.mark.parametrize("mode", MODES)
def test_secrets_are_nowhere(
    mode: str, remote: Remote, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Password, token and query of a connection are in no argument, event, log, document or error."""
    caplog.set_level(logging.DEBUG)
    told: list[Any] = []
    with capture_logs() as lines:
        sensor = sensor_of(tmp_path, mode, uri=HOST, conn_id="partner")
        if mode == "deferrable":
            deferral = deferral_of(sensor)
            put(remote, HOST)
            told += [deferral, deferral.trigger, deferral.trigger.serialize(), fired(deferral)]
        put(remote, HOST)
        told.append(run_task(mode, tmp_path, uri=HOST, conn_id="partner"))
        put(remote, HOST, status="withdrawn")
        with pytest.raises(DeliveryNotInTime) as late:
            run_task(mode, tmp_path, uri=HOST, conn_id="partner", timeout=0.1)
    told += [sensor, vars(sensor), late.value, lines, caplog.text, *remote.reached]
    assert SECRET not in "".join(f"{thing!r} {thing}" for thing in told)


def test_access_refused_has_what_a_refused_delivery_has() -> None:
    """Handlers of both errors find kind, address and problems."""
    error = AccessRefused("no rights", uri=HOST)
    assert (error.kind, error.uri, error.problems, str(error)) == ("access", HOST, (), "no rights")
