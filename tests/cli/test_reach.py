"""How commands reach buckets and web servers: options, connections, the environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from airflow_landmark.cli import _reach
from airflow_landmark.deliveries import Way, _access
from airflow_landmark.stores import Access, HttpAccess, S3Access
from guarded import Guarded, guarded
from remote import Remote

Landmark = Callable[..., Result]
SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere
LAKE, HOST = "s3://lake/orders/", "https://host.example/orders/"


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch, delivery: Path) -> Remote:
    """Return a bucket and an origin with the delivery."""
    remote = Remote().install(monkeypatch)
    for path in delivery.rglob("*"):
        if path.is_file():
            for place in (LAKE, HOST):
                remote.files[f"{place}{path.relative_to(delivery)}"] = path.read_bytes()
    return remote


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own credentials out."""
    for name in ("USER", "PASSWORD", "TOKEN"):
        monkeypatch.delenv(f"LANDMARK_HTTP_{name}", raising=False)


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, dict[str, Any]]]:
    """Let Airflow know a connection, and return what it was asked."""
    asked = []

    async def resolve(scheme: str, conn_id: str, options: Mapping[str, Any]) -> Access:
        asked.append((scheme, conn_id, dict(options)))
        return HttpAccess(username="user", password=SECRET) if scheme == "https" else S3Access(**options)

    monkeypatch.setattr(_access, "_resolver", lambda: resolve)
    monkeypatch.setattr(_reach, "_quieten_airflow", lambda: None)
    return asked


@pytest.mark.parametrize("place", [LAKE, HOST, f"{LAKE}_delivery.json"])
def test_verify(place: str, remote: Remote, landmark: Landmark) -> None:
    """A delivery in a bucket or on a web server is verified as one in a folder is."""
    done = landmark("verify", place, "--level", "rows", "--json")
    assert (done.exit_code, json.loads(done.stdout)["verdict"]) == (0, "holds")
    remote.files[f"{place.removesuffix('_delivery.json')}notes.txt"] = b"hullo\n"
    assert landmark("verify", place).exit_code == 1


def test_wait(remote: Remote, landmark: Landmark, wanted: list[str]) -> None:
    """The document of a wait tells the options, for whoever opens the files."""
    done = landmark("wait", LAKE, *wanted, "--option", "region=eu-west-3")
    document = json.loads(done.stdout)
    assert document["access"] == {"conn_id": None, "options": {"region": "eu-west-3"}}
    assert document["files"][0]["uri"].startswith(LAKE)
    assert set(remote.reached) == {S3Access(region="eu-west-3")}


def test_absent(remote: Remote, landmark: Landmark, wanted: list[str]) -> None:
    """A name that may be a folder's is told how it is taken; the wait goes on."""
    remote.files.clear()
    done = landmark("wait", "s3://lake/orders", *wanted, "--timeout", 0)
    assert done.exit_code == 1
    assert "s3://lake/orders is taken for the marker: a slash at the end makes it" in done.stderr
    done = landmark("wait", LAKE, *wanted, "--timeout", 0)
    assert "is taken for" not in done.stderr
    assert landmark("verify", "https://host.example/orders").exit_code == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["region=eu-west-3", "verify=false"], {"region": "eu-west-3", "verify": False}),
        (["verify=/etc/ca.pem", "anonymous=TRUE"], {"verify": "/etc/ca.pem", "anonymous": True}),
        (["connect_timeout=3", "read_timeout=2.5"], {"connect_timeout": 3.0, "read_timeout": 2.5}),
        (["profile=42"], {"profile": "42"}),
        (["profile=a=b"], {"profile": "a=b"}),
        (["endpoint_url=http://127.0.0.1:9000"], {"endpoint_url": "http://127.0.0.1:9000"}),
    ],
)
def test_options(options: list[str], expected: dict[str, Any], remote: Remote, landmark: Landmark) -> None:
    """Options reach the store as flags, numbers and text."""
    done = landmark("verify", LAKE, *(word for option in options for word in ("--option", option)))
    assert (done.exit_code, remote.reached) == (0, [S3Access(**expected)])


@pytest.mark.parametrize("command", ["verify", "wait", "deliver"])
@pytest.mark.parametrize(
    ("place", "words", "says"),
    [
        (LAKE, ["--option", "region"], "not of the form KEY=VALUE"),
        (LAKE, ["--option", "region=a", "--option", "region=b"], "given twice"),
        (LAKE, ["--option", "gone=fail"], "no option for s3"),
        (LAKE, ["--option", f"secret_access_key={SECRET}"], "secrets belong into a connection"),
        (LAKE, ["--option", "read_timeout=soon"], "0.1 to 600 seconds"),
        (LAKE, ["--option", "region="], "must be text"),
        (HOST, ["--option", f"Authorization=Bearer {SECRET}"], "secrets belong into a connection"),
        (LAKE, ["--conn-id", ""], "the name of a connection"),
        (".", ["--conn-id", "partner"], "a local path is reached without them"),
        (".", ["--option", "region=x"], "no option for file"),
        (f"https://user:{SECRET}@host.example/orders/", [], "user and password"),
        (f"https://host.example/orders/?sig={SECRET}", [], "a query would be stored readably"),
        ("s3://", [], "s3://bucket/key"),
        ("ftp://host/x", [], "no store for ftp"),
    ],
)
def test_wrong_usage(
    command: str,
    place: str,
    words: list[str],
    says: str,
    remote: Remote,
    landmark: Landmark,
    wanted: list[str],
) -> None:
    """What cannot reach a place is wrong usage, told in one line and without secrets, before any look."""
    more = {"verify": [], "wait": wanted, "deliver": [*wanted, "--version", 1]}[command]
    done = landmark(command, place, *more, *words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr
    assert SECRET not in done.stderr
    assert not remote.reached


def test_conn_id(
    airflow: list[Any], remote: Remote, landmark: Landmark, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection is asked for by its name, and comes before the environment."""
    monkeypatch.setenv("LANDMARK_HTTP_TOKEN", "another")
    done = landmark("wait", HOST, *wanted, "--conn-id", "partner", "--option", "gone=fail")
    assert json.loads(done.stdout)["access"] == {"conn_id": "partner", "options": {"gone": "fail"}}
    assert airflow[0] == ("https", "partner", {"gone": "fail"})
    (access,) = set(remote.reached)
    assert access == HttpAccess(origin="https://host.example", username="user", password=SECRET)
    assert SECRET not in done.output


ENVIRONMENT = [
    ({"USER": "user", "PASSWORD": SECRET}, {"username": "user", "password": SECRET}),
    ({"USER": "user"}, {"username": "user"}),
    ({"TOKEN": SECRET}, {"headers": (("Authorization", f"Bearer {SECRET}"),)}),
    ({"PASSWORD": SECRET}, None),
    ({"USER": ""}, None),
]


@pytest.mark.parametrize(("environment", "expected"), ENVIRONMENT)
def test_credentials_of_the_environment(
    environment: dict[str, str],
    expected: dict[str, Any] | None,
    remote: Remote,
    landmark: Landmark,
    wanted: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """User and password, or a token, are taken for the origin of the place, and for web servers only."""
    for name, value in environment.items():
        monkeypatch.setenv(f"LANDMARK_HTTP_{name}", value)
    done = landmark("verify", HOST, "--option", "gone=fail")
    origin = {} if expected is None else {"origin": "https://host.example", **expected}
    assert (done.exit_code, remote.reached) == (0, [HttpAccess(gone="fail", **origin)])
    done = landmark("wait", HOST, *wanted)
    assert "access" not in json.loads(done.stdout)
    assert SECRET not in done.output
    remote.reached.clear()
    landmark("verify", LAKE)
    assert remote.reached == [S3Access()]


@pytest.mark.parametrize(
    "environment",
    [{"USER": "user", "TOKEN": SECRET}, {"TOKEN": f"{SECRET}\r\nX: y"}, {"USER": "a\x00"[:1] + "\x7f"}],
)
def test_credentials_that_cannot_be_used(
    environment: dict[str, str], landmark: Landmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials that contradict each other, or that no header can hold, are told and not repeated."""
    for name, value in environment.items():
        monkeypatch.setenv(f"LANDMARK_HTTP_{name}", value)
    done = landmark("verify", HOST)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "LANDMARK_HTTP_TOKEN" in done.stderr
    assert SECRET not in done.stderr


def test_way_of_a_local_place(delivery: Path) -> None:
    """A folder is reached without anything."""
    reach = _reach.reach_to(f"{delivery}/", conn_id=None, options=())
    assert (reach.way, reach.access) == (Way(), None)


@pytest.fixture
def server(delivery: Path) -> Iterator[Guarded]:
    """Return a web server that shows the delivery to who knows the password."""
    with guarded(delivery, user="user", password=SECRET) as server:
        yield server


def test_on_a_web_server(
    server: Guarded, landmark: Landmark, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real web server sees the credentials of the environment, and without them answers no question."""
    place = server.uri
    assert landmark("verify", place).exit_code == 3
    assert set(server.seen) == {None}
    monkeypatch.setenv("LANDMARK_HTTP_USER", "user")
    monkeypatch.setenv("LANDMARK_HTTP_PASSWORD", SECRET)
    done = landmark("verify", place)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "HOLDS: version 2: no problems among 3 files")
    done = landmark("wait", place, *wanted)
    assert (done.exit_code, json.loads(done.stdout)["version"]) == (0, 2)
    assert SECRET not in done.output
    done = landmark("deliver", place, *wanted, "--version", 3)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "cannot be written to" in done.stderr


@pytest.mark.slow
def test_connections_of_a_real_airflow(
    server: Guarded, landmark_program: Sequence[str], wanted: list[str], tmp_path: Path
) -> None:
    """Connections come from the environment as Airflow reads it; its log stays out of the answer."""

    def landmark_with(connection: str, *words: str) -> subprocess.CompletedProcess[str]:
        uri = f"http://user:{SECRET}@127.0.0.1:{server.port}/?timeout=9"
        env = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW_CONN_PARTNER": uri}
        program = [*landmark_program, *words, "--conn-id", connection]
        return subprocess.run(program, env=env, capture_output=True, text=True, timeout=60, check=False)

    done = landmark_with("partner", "wait", server.uri, *wanted)
    document = json.loads(done.stdout)
    assert (done.returncode, document["version"], document["access"]["conn_id"]) == (0, 2, "partner")
    assert SECRET not in done.stdout + done.stderr
    done = landmark_with("nobody", "wait", server.uri, *wanted)
    assert (done.returncode, done.stdout) == (3, "")
    assert "connection 'nobody': Airflow knows none of this name" in done.stderr.splitlines()[-1]
