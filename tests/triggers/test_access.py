"""Connections in the triggerer: looked up on the loop, once for all, and never told."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.bases.hook import BaseHook
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ConnectionResult, ErrorResponse, GetConnection
from structlog.testing import capture_logs

from airflow_landmark.deliveries import reach
from airflow_landmark.stores import HttpAccess, InvalidAccess, PassingTrouble, S3Access, parse_uri
from airflow_landmark.triggers import MarkerTrigger
from parcels import FILES, marker_of
from remote import Remote

Drain = Callable[..., Awaitable[list[Any]]]
SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere
MARKER = "https://host.example/in/_delivery.json"
PARTNER: dict[str, Any] = {
    "conn_type": "http",
    "host": "host.example",
    "schema": "https",
    "login": "user",
    "password": SECRET,
    "extra": {"X-Token": f"token-{SECRET}", "query": f"sig={SECRET}", "timeout": 3},
}


def answer_of(conn_id: str = "partner", **fields: Any) -> ConnectionResult:
    """The API server's answer."""
    everything: dict[str, Any] = dict.fromkeys(("conn_type", "host", "schema", "login", "password", "port"))
    extra = json.dumps(fields["extra"]) if "extra" in fields else None
    return ConnectionResult(**everything | fields | {"conn_id": conn_id, "extra": extra})


class Supervisor:
    """What a triggerer or a task asks for connections.

    :ivar answer: to every request.
    :ivar asked: the connections that were asked for.
    """

    def __init__(self) -> None:
        self.answer: Any = None
        self.asked: list[str] = []

    async def asend(self, message: Any) -> Any:
        """Answer, after others had their turn."""
        await asyncio.sleep(0.01)
        if not isinstance(message, GetConnection):
            return None
        self.asked.append(message.conn_id)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def send(self, message: Any) -> Any:
        """Refuse: from the loop's thread it would block the loop that has to answer."""
        raise AssertionError(f"a synchronous request in {threading.current_thread().name}: {message!r}")


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    """A supervisor, as triggerers and tasks have one."""
    supervisor = Supervisor()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    return supervisor


@pytest.fixture
def partner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection in the environment."""
    monkeypatch.setenv("AIRFLOW_CONN_PARTNER", json.dumps(PARTNER))


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Remote:
    """An origin with a delivery."""
    remote = Remote().install(monkeypatch)
    place = parse_uri(MARKER)
    remote.files = {place.at(path).uri: data for path, data in FILES.items()}
    remote.files[MARKER] = json.dumps(marker_of()).encode()
    return remote


@pytest.fixture(autouse=True)
def no_synchronous_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every synchronous accessor fails in the loop's thread."""
    loop_thread = threading.main_thread()

    def guarded(name: str, original: Any) -> Any:
        def accessor(*arguments: Any, **options: Any) -> Any:
            assert threading.current_thread() is not loop_thread, name
            return original(*arguments, **options)

        return accessor

    for owner, name in ((Connection, "get"), (BaseHook, "get_connection"), (BaseHook, "get_hook")):
        monkeypatch.setattr(owner, name, guarded(name, getattr(owner, name)))


EXPECTED = HttpAccess(
    origin="https://host.example", username="user", password=SECRET, connect_timeout=3.0, read_timeout=3.0,
    headers=(("X-Token", f"token-{SECRET}"),), query=f"sig={SECRET}",
)  # fmt: skip


async def test_a_connection_of_the_environment(partner: None) -> None:
    """A connection is found where Airflow finds it, here in the environment."""
    assert await reach(MARKER, conn_id="partner") == EXPECTED


async def test_a_connection_as_a_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections in the form of a URI mean the same."""
    uri = f"http://user:{SECRET}@host.example:8443/https?X-Trace=7&verify=false&timeout=3"
    monkeypatch.setenv("AIRFLOW_CONN_PARTNER", uri)
    access = await reach("https://host.example:8443/in", conn_id="partner")
    assert access == HttpAccess(
        origin="https://host.example:8443", username="user", password=SECRET, headers=(("X-Trace", "7"),),
        verify=False, connect_timeout=3.0, read_timeout=3.0,
    )  # fmt: skip


async def test_a_connection_of_the_api_server(supervisor: Supervisor) -> None:
    """In a triggerer or a task the supervisor is asked, asynchronously."""
    supervisor.answer = answer_of(
        "lake", conn_type="aws", login="AKIA", password=SECRET, extra={"region_name": "eu-west-3"}
    )
    access = await reach("s3://lake/in", conn_id="lake")
    assert isinstance(access, S3Access)
    assert access.region == "eu-west-3"
    assert supervisor.asked == ["lake"]


async def test_a_connection_that_does_not_exist() -> None:
    """An unknown connection is told by its name, with what to do."""
    with pytest.raises(InvalidAccess, match="connection 'nobody': Airflow knows none of this name"):
        await reach(MARKER, conn_id="nobody")


@pytest.mark.parametrize(
    ("answer", "expected", "says"),
    [
        (ErrorResponse(error=ErrorType.CONNECTION_NOT_FOUND), InvalidAccess, "knows none of this name"),
        (ErrorResponse(error=ErrorType.PERMISSION_DENIED), InvalidAccess, "does not give it to this task"),
        (ErrorResponse(error=ErrorType.API_SERVER_ERROR), PassingTrouble, "does not answer"),
        (ErrorResponse(error=ErrorType.GENERIC_ERROR), PassingTrouble, "does not answer"),
        (
            AirflowRuntimeError(ErrorResponse(error=ErrorType.CONNECTION_NOT_FOUND)),
            InvalidAccess,
            "knows none of this name",
        ),
        (
            AirflowRuntimeError(ErrorResponse(error=ErrorType.GENERIC_ERROR)),
            PassingTrouble,
            "does not answer",
        ),
        (ConnectionResetError(SECRET), PassingTrouble, "does not answer"),
    ],
)
async def test_an_outage_is_no_missing_connection(
    supervisor: Supervisor, answer: Any, expected: type[Exception], says: str
) -> None:
    """Airflow says "not found" for an outage too: whether it is one is asked, and told apart."""
    supervisor.answer = answer
    with pytest.raises(expected, match=says) as caught:
        await reach(MARKER, conn_id="partner")
    assert SECRET not in str(caught.value)


async def test_other_trouble_is_told_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Airflow raises otherwise may pass; its text is not repeated, since nobody knows what it holds."""

    async def broken(_conn_id: str) -> Any:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(Connection, "async_get", broken)
    with pytest.raises(PassingTrouble, match="RuntimeError") as caught:
        await reach(MARKER, conn_id="partner")
    assert SECRET not in str(caught.value)


def trigger_of(arguments: dict[str, Any], **changes: Any) -> MarkerTrigger:
    """A trigger at the partner's origin."""
    return MarkerTrigger(**arguments | {"uri": MARKER, "conn_id": "partner"} | changes)


async def test_a_trigger_reaches_its_store(
    partner: None, remote: Remote, arguments: dict[str, Any], drain: Drain
) -> None:
    """Connection and options reach the store, also after the way through the database."""
    _, kwargs = trigger_of(arguments, options={"gone": "fail", "read_timeout": 7}).serialize()
    assert (kwargs["conn_id"], kwargs["options"]) == ("partner", {"gone": "fail", "read_timeout": 7})
    (event,) = await drain(MarkerTrigger(**json.loads(json.dumps(kwargs))))
    assert event["outcome"] == "arrived"
    (access,) = remote.reached
    assert isinstance(access, HttpAccess)
    assert (access.gone, access.read_timeout, access.password) == ("fail", 7.0, SECRET)


async def test_arguments_of_an_older_release(remote: Remote, arguments: dict[str, Any], drain: Drain) -> None:
    """Without connection and options the arguments are those of before, and the environment is taken."""
    _, kwargs = MarkerTrigger(**arguments | {"uri": MARKER}).serialize()
    assert not kwargs.keys() & {"conn_id", "options"}
    (event,) = await drain(MarkerTrigger(**kwargs))
    assert (event["outcome"], remote.reached) == ("arrived", [HttpAccess()])


async def test_fifty_triggers_ask_once(
    supervisor: Supervisor, remote: Remote, arguments: dict[str, Any], drain: Drain
) -> None:
    """Triggers that start together share one look-up and one store, and no poll looks anything up."""
    supervisor.answer = answer_of(**PARTNER)
    data = remote.files.pop(MARKER)
    waits = [asyncio.ensure_future(drain(trigger_of(arguments, min_version=n % 3 + 1))) for n in range(50)]
    await asyncio.sleep(0.5)
    assert not any(task.done() for task in waits)
    remote.files[MARKER] = data.replace(b'"version": 1', b'"version": 9')
    events = [event for (event,) in await asyncio.gather(*waits)]
    assert {event["outcome"] for event in events} == {"arrived"}
    assert (supervisor.asked, remote.reached) == (["partner"], [EXPECTED])


async def test_a_missing_connection_is_one_event(arguments: dict[str, Any], drain: Drain) -> None:
    """A wait whose connection does not exist ends at once, as misconfigured, with its name."""
    (event,) = await drain(trigger_of(arguments, conn_id="nobody"))
    assert (event["outcome"], event["error"]["kind"]) == ("failed", "configuration")
    assert "connection 'nobody'" in event["error"]["text"]


async def test_an_outage_is_waited_out(
    supervisor: Supervisor, remote: Remote, arguments: dict[str, Any], drain: Drain
) -> None:
    """A wait goes on when the look-up succeeds at last."""
    supervisor.answer = ErrorResponse(error=ErrorType.API_SERVER_ERROR)
    task = asyncio.ensure_future(drain(trigger_of(arguments)))
    while len(supervisor.asked) < 2:
        await asyncio.sleep(0.01)
    supervisor.answer = answer_of(conn_type="http")
    (event,) = await task
    assert (event["outcome"], remote.reached) == ("arrived", [HttpAccess(origin="https://host.example")])


async def test_an_outage_until_the_deadline(
    supervisor: Supervisor, arguments: dict[str, Any], drain: Drain
) -> None:
    """A wait that could not ask until its deadline says so in the event of the deadline."""
    supervisor.answer = ErrorResponse(error=ErrorType.API_SERVER_ERROR)
    (event,) = await drain(trigger_of(arguments, deadline="2024-05-03T00:00:00Z"))
    assert (event["outcome"], event["error"]["kind"]) == ("deadline", "trouble")
    assert "API server" in event["error"]["text"]


@pytest.mark.parametrize(
    "change",
    [
        {"conn_id": 7},
        {"conn_id": ""},
        {"conn_id": ["partner"]},
        {"options": "x"},
        {"options": ["gone"]},
        {"options": {"gone": "maybe"}},
        {"options": {"Authorization": f"Basic {SECRET}"}},
        {"options": {"headers": {"Authorization": SECRET}}},
        {"uri": "/in/_delivery.json"},
        {"uri": "/in/_delivery.json", "conn_id": None, "options": {"region": "x"}},
        {"uri": "https://other.example/in/_delivery.json"},
        {"uri": "s3://lake/in/_delivery.json"},
        {"uri": f"https://user:{SECRET}@host.example/m.json?sig=abc123"},
        {"uri": "https://host.example/m.json?sig=abc123"},
        {"uri": f"https://user:{SECRET}/?#@host.example/m.json?sig=abc123"},
        {"uri": f"s3://user:{SECRET}@lake/in/_delivery.json"},
    ],
)
async def test_ways_that_lead_nowhere_are_one_event(
    partner: None,
    remote: Remote,
    arguments: dict[str, Any],
    drain: Drain,
    change: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What cannot be reached is one event, without a look; what may be a secret in it is nowhere."""
    caplog.set_level(logging.DEBUG)
    with capture_logs() as lines:
        trigger = trigger_of(arguments, **change)
        (event,) = await drain(trigger)
    assert (event["outcome"], event["error"]["kind"]) == ("failed", "configuration")
    assert not remote.reached
    again = MarkerTrigger(**trigger.serialize()[1])
    assert again.serialize() == trigger.serialize()
    told = f"{json.dumps(event)} {trigger!r} {trigger} {trigger.serialize()} {lines} {caplog.text}"
    for secret in (SECRET, "abc123", "sig="):
        assert secret not in told


async def test_secrets_of_a_connection_are_nowhere(
    partner: None,
    remote: Remote,
    arguments: dict[str, Any],
    drain: Drain,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Password, token and query of the connection are in no kwargs, event, log or text of an access."""
    caplog.set_level(logging.DEBUG)
    with capture_logs() as lines:
        trigger = trigger_of(arguments)
        (event,) = await drain(trigger)
    (access,) = remote.reached
    address = parse_uri(MARKER, access=access)
    told = f"{event} {trigger!r} {trigger.serialize()} {lines} {caplog.text} {access!r} {address!r} {address}"
    assert event["outcome"] == "arrived"
    assert SECRET not in told
