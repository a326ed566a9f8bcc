"""Fifty processes turn to one ledger at the same moment: the ledger decides, and exactly one wins."""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from airflow_landmark.deliveries import CreatableLedger, open_ledger
from airflow_landmark.markers import Interval
from airflow_landmark.testing import LocalPostgres
from claimants import DATASET, DAY, Answer, Claimant, at_once, run_claimants
from radosgw import ACCESS_KEY, SECRET_KEY, RadosGateway, installed
from s3server import AWS_ENVIRONMENT, S3Server

MANY = 50
INTERVAL = Interval.parse(DAY)
slow = pytest.mark.slow


@dataclass(frozen=True)
class Arena:
    """A ledger that processes can be sent to.

    :param url: what ``open_ledger`` takes.
    """

    url: str
    table: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def ledger(self) -> CreatableLedger:
        """The ledger, for this process."""
        return open_ledger(self.url, options=self.options, table=self.table)

    def run(self, claimants: list[Claimant]) -> list[Answer]:
        """What the processes were told; they must have come at the same moment, most of them."""
        answers = run_claimants(
            self.url, claimants, options=self.options, table=self.table, environment=self.environment
        )
        assert 2 * at_once(answers) >= len(claimants), "they came one after the other: nothing was tried"
        return answers


class SerialS3Server(S3Server):
    """A server that takes one request at a time: this one compares and writes in two steps."""

    def __init__(self) -> None:
        super().__init__()
        self._one_at_a_time = threading.Lock()

    def _note(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        with self._one_at_a_time:
            return super()._note(environ, start_response)


@pytest.fixture(scope="module")
def postgres() -> Iterator[LocalPostgres]:
    """Return a running server."""
    with LocalPostgres() as server:
        yield server


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """Return a running server."""
    with SerialS3Server() as server:
        yield server


@pytest.fixture(scope="module")
def ceph() -> Iterator[RadosGateway]:
    """Return a running server that really has many writers."""
    if not installed() and not os.environ.get("CI"):  # there its absence is a fault, which the start tells
        pytest.skip("apt-get install radosgw ceph-mon ceph-osd")
    with tempfile.TemporaryDirectory(prefix="rgw") as home, RadosGateway(Path(home)) as gateway:
        yield gateway


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=slow) for name in ("postgres", "s3", "ceph"))])
def arena(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
    """Return a new ledger of each kind."""
    server = None if request.param == "sqlite" else request.getfixturevalue(request.param)
    name = f"test-{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}"
    if server is None:
        arena = Arena(f"sqlite:///{tmp_path}/ledger.db")
    elif request.param == "postgres":
        arena = Arena(server.url, name.replace("-", "_"))
    elif request.param == "s3":
        arena = _bucket(server.url, server.bucket())
    else:
        _make_bucket(server, name)
        keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        arena = _bucket(server.url, name, region="us-east-1", keys=keys)
    for name, value in arena.environment.items():
        monkeypatch.setenv(name, value)
    arena.ledger.create()
    return arena


def _bucket(
    url: str, name: str, *, region: str = "eu-west-3", keys: Mapping[str, str] | None = None
) -> Arena:
    options = {"endpoint_url": url, "addressing_style": "path", "region": region}
    return Arena(f"s3://{name}/ledger/", options=options, environment={**AWS_ENVIRONMENT, **(keys or {})})


def _make_bucket(gateway: RadosGateway, name: str) -> None:
    client = botocore.session.Session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=gateway.url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
    )
    client.create_bucket(Bucket=name)
    client.close()


@pytest.mark.timeout(900)
def test_same_version(arena: Arena) -> None:
    """Of many who claim the same version at the same moment one is granted it, and the ledger says which."""
    answers = arena.run([Claimant(f"run-{number}", commits=True) for number in range(MANY)])
    granted = [one.owner for one in answers if one.claim == "granted"]
    entry = arena.ledger.entry(DATASET, INTERVAL)
    assert entry is not None
    assert entry.taken is not None
    # Whoever comes once the winner has committed may repeat the work: never two at once.
    history = [(event.word, event.held.owner) for event in arena.ledger.history(DATASET, INTERVAL)]
    assert history == [(word, owner) for owner in turns(history) for word in ("claimed", "taken")]
    assert sorted(turns(history)) == sorted(granted)
    refused = Counter(one.claim for one in answers if one.claim != "granted")
    assert set(refused) <= {"already taken"}
    assert all(one.commit == "granted" for one in answers if one.claim == "granted")


def turns(history: list[tuple[str, str]]) -> list[str]:
    """The owners, in the order of their claims."""
    return [owner for word, owner in history if word == "claimed"]


@pytest.mark.timeout(900)
def test_exactly_one_claim(arena: Arena) -> None:
    """Of many who claim the same version at the same moment and hold it, exactly one is granted it."""
    answers = arena.run([Claimant(f"run-{number}") for number in range(MANY)])
    assert Counter(one.claim for one in answers) == {"granted": 1, "already taken": MANY - 1}
    entry = arena.ledger.entry(DATASET, INTERVAL)
    assert entry is not None
    assert entry.claim is not None
    assert [one.owner for one in answers if one.claim == "granted"] == [entry.claim.owner]
    assert [event.word for event in arena.ledger.history(DATASET, INTERVAL)] == ["claimed"]


@pytest.mark.timeout(900)
def test_same_version_other_bytes(arena: Arena) -> None:
    """Of many who claim the same version, each with other bytes, exactly one is granted it."""
    answers = arena.run([Claimant(f"run-{number}", identity=f"{number:064x}") for number in range(MANY // 5)])
    assert Counter(one.claim for one in answers) == {"granted": 1, "reused version": MANY // 5 - 1}


@pytest.mark.timeout(900)
def test_many_versions(arena: Arena) -> None:
    """Of many versions claimed at the same moment the highest is taken, and what is held only rises."""
    versions = list(range(1, MANY + 1))
    random.shuffle(versions)
    answers = arena.run(
        [Claimant(f"run-{n}", version=n, identity=f"{n:064x}", commits=True) for n in versions]
    )
    entry = arena.ledger.entry(DATASET, INTERVAL)
    assert entry is not None
    assert entry.taken is not None
    assert (entry.taken.version, entry.taken.owner, entry.claim) == (MANY, f"run-{MANY}", None)
    history = arena.ledger.history(DATASET, INTERVAL)
    claimed = [event.held.version for event in history if event.word == "claimed"]
    assert claimed == sorted(set(claimed))
    assert sorted(one.version for one in answers if one.claim == "granted") == claimed
    taken = [event.held.version for event in history if event.word == "taken"]
    assert taken == sorted(set(taken))
    assert sorted(one.version for one in answers if one.commit == "granted") == taken
    assert {one.claim for one in answers} <= {"granted", "older version"}
    assert {one.commit for one in answers} <= {"granted", "older version", None}
