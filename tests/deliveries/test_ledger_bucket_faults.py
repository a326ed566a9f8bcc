"""What goes wrong with a ledger in a bucket, and what is told: nothing is lost or granted twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_landmark.deliveries import AccessTrouble, S3Ledger, Unavailable
from airflow_landmark.deliveries import _ledger_objects as objects
from airflow_landmark.markers import Interval
from claimants import DATASET, DAY, events, stamp_of, trouble
from s3server import AWS_ENVIRONMENT, S3Server

INTERVAL = Interval.parse(DAY)


class Meddled(S3Server):
    """A server that does something else with the next requests.

    :ivar meddle: is given a request's environment and what answers it; ``None`` for the server itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.meddle: Callable[[dict[str, Any], Callable[..., Any]], tuple[str, bytes] | None] | None = None

    def _note(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        answer = self.meddle(environ, super()._note) if self.meddle else None
        if answer is None:
            return super()._note(environ, start_response)
        status, code = answer
        start_response(status, [("Content-Type", "application/xml")])
        return [b"<Error><Code>" + code + b"</Code><Message>no</Message></Error>"]


@pytest.fixture(scope="module")
def meddled() -> Iterator[Meddled]:
    """Return a running server."""
    with Meddled() as server:
        yield server


@pytest.fixture
def server(meddled: Meddled, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meddled]:
    """Return the server, which meddles with nothing yet; pauses are short."""
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(objects, "_MAX_PAUSE_SECONDS", 0.01)
    yield meddled
    meddled.meddle = None


def bucket_ledger(server: S3Server, bucket: str | None = None) -> S3Ledger:
    """A ledger in a bucket; ``None`` makes a new one."""
    options = {"endpoint_url": server.url, "addressing_style": "path"}
    return S3Ledger(f"s3://{bucket or server.bucket()}/ledger/", options=options)


@pytest.mark.parametrize(
    "answer", [("412 Precondition Failed", b"PreconditionFailed"), ("500 Oops", b"InternalError")]
)
def test_lost_acknowledgement_of_a_write(answer: tuple[str, bytes], server: Meddled) -> None:
    """A write that was done, though its answer says otherwise, counts as done."""
    ledger = bucket_ledger(server)
    lies: list[str] = []

    def meddle(environ: dict[str, Any], handle: Callable[..., Any]) -> tuple[str, bytes] | None:
        if environ["REQUEST_METHOD"] != "PUT" or len(lies) % 2:
            lies.extend([""] if environ["REQUEST_METHOD"] == "PUT" else [])
            return None
        lies.append(environ["PATH_INFO"])
        list(handle(environ, lambda *_: lambda _data: None))
        return answer

    server.meddle = meddle
    ledger.claim(stamp_of(), "alice")
    ledger.commit(stamp_of(), "alice")
    server.meddle = None
    assert lies
    assert events(ledger) == ["claimed", "taken"]


def test_lost_races_end(server: Meddled) -> None:
    """A writer that always comes too late gives up after a bounded number of times."""
    ledger = bucket_ledger(server)
    puts: list[str] = []

    def meddle(environ: dict[str, Any], _handle: Callable[..., Any]) -> tuple[str, bytes] | None:
        if environ["REQUEST_METHOD"] != "PUT":
            return None
        puts.append("")
        return "412 Precondition Failed", b"PreconditionFailed"

    server.meddle = meddle
    assert type(trouble(ledger.claim, stamp_of(), "alice")) is Unavailable
    assert len(puts) == 40


@pytest.mark.parametrize("header", ["HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH"])
def test_server_without_conditions(header: str, server: Meddled) -> None:
    """A server that passes over a condition is found out when the ledger is made."""

    def meddle(environ: dict[str, Any], _handle: Callable[..., Any]) -> tuple[str, bytes] | None:
        environ.pop(header, None)
        return None

    ledger = bucket_ledger(server)
    assert "writers that came late were refused" in ledger.create()
    server.meddle = meddle
    error = trouble(ledger.create)
    assert (type(error), error.kind) == (AccessTrouble, "configuration")
    assert header.removeprefix("HTTP_").replace("_", "-").lower() in error.text.lower()


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"\x00" * 100, b"{" * 100_000, b" " * 300_000],
    ids=["empty", "no fields", "zeros", "deep", "large"],
)
def test_corrupt_object(data: bytes, server: Meddled) -> None:
    """An object that is no entry is told with its address, and never overwritten."""
    bucket = server.bucket()
    ledger = bucket_ledger(server, bucket)
    ledger.claim(stamp_of(), "alice")
    (found,) = server.client.list_objects_v2(Bucket=bucket)["Contents"]
    server.put(bucket, found["Key"], data)
    for error in (
        trouble(ledger.claim, stamp_of(), "alice"), trouble(ledger.taken, DATASET, INTERVAL),
        trouble(ledger.entries),
    ):  # fmt: skip
        assert (type(error), error.kind) == (AccessTrouble, "unreadable")
        assert error.uri == f"s3://{bucket}/{found['Key']}"
        assert len(str(error)) < 500
    assert server.get(bucket, found["Key"]) == data


def test_other_objects_are_passed_over(server: Meddled) -> None:
    """What else lies below the prefix is no entry: other names, impossible instants, a probe."""
    bucket = server.bucket()
    ledger = bucket_ledger(server, bucket)
    ledger.create()
    for name in (
        "notes.txt",
        "a@b.json",
        "a@20241399T000000.000000Z_20241002T000000.000000Z.json",
        "x/y@.json",
    ):
        server.put(bucket, f"ledger/{name}", b"{}")
    ledger.claim(stamp_of(), "alice")
    assert [entry.dataset for entry in ledger.entries()] == [DATASET]


def test_no_bucket(server: Meddled) -> None:
    """A bucket that does not exist is lasting trouble, also for the first look."""
    for call, arguments in (
        (bucket_ledger(server, "no-such-bucket").claim, (stamp_of(), "alice")),
        (bucket_ledger(server, "no-such-bucket").create, ()),
    ):
        assert type(trouble(call, *arguments)) is AccessTrouble


@pytest.mark.parametrize(
    "uri", ["/srv/ledger", "file:///srv/ledger", "https://host/ledger/", "s3://", "s3:x"]
)
def test_bucket_only(uri: str) -> None:
    """A ledger of objects lies in a bucket: elsewhere two writers could both win."""
    with pytest.raises(ValueError, match=r"bucket|s3://"):
        S3Ledger(uri)


def test_no_credentials_in_texts(server: Meddled) -> None:
    """Neither repr nor text of a ledger holds more than its place and the connection's name."""
    ledger = S3Ledger("s3://bucket/ledger", conn_id="aws", options={"endpoint_url": server.url})
    assert (str(ledger), repr(ledger)) == (
        "s3://bucket/ledger/",
        "S3Ledger('s3://bucket/ledger/', conn_id='aws')",
    )
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in repr(vars(ledger))
