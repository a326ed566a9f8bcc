"""A ledger, wherever it lies: the same steps end the same way in every backend."""

from __future__ import annotations

import copy
import pickle
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.deliveries import (
    BadDelivery,
    CreatableLedger,
    Entry,
    Held,
    Ledger,
    S3Ledger,
    SqlLedger,
    after_claim,
    after_commit,
    after_release,
)
from airflow_landmark.markers import Interval, Taken
from airflow_landmark.testing import LocalPostgres
from claimants import DATASET, HOSTILE_DATASETS, stamp_of
from s3server import AWS_ENVIRONMENT, S3Server

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
RULES = {"claim": after_claim, "commit": after_commit, "release": after_release}


@pytest.fixture(scope="module")
def postgres() -> Iterator[LocalPostgres]:
    """Return a running server."""
    with LocalPostgres() as server:
        yield server


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """Return a running server."""
    with S3Server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow), "s3"])
def ledger(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CreatableLedger:
    """Return an empty ledger of each kind."""
    made: CreatableLedger
    if request.param == "s3":
        for name, value in AWS_ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        server = request.getfixturevalue("s3")
        options = {"endpoint_url": server.url, "addressing_style": "path"}
        return S3Ledger(f"s3://{server.bucket()}/ledger/", options=options)
    if request.param == "postgres":
        table = f"t{abs(hash(request.node.nodeid))}"
        made = SqlLedger(request.getfixturevalue("postgres").url, table=table)
    else:
        made = SqlLedger(f"sqlite:///{tmp_path}/ledger.db")
    made.create()
    return made


def refusal(call: Any, *arguments: Any) -> str:
    """The kind of the refusal; empty when there is none."""
    try:
        call(*arguments)
    except BadDelivery as error:
        return error.kind
    return ""


def test_is_a_ledger(ledger: CreatableLedger) -> None:
    """Each backend fills the protocols, and travels with a task as it is copied and pickled."""
    for one in (ledger, copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):  # noqa: S301 - ours
        assert isinstance(one, Ledger)
        assert isinstance(one, CreatableLedger)
        assert one.entries() == []


def test_two_steps(ledger: CreatableLedger) -> None:
    """A version is claimed, then taken; what was taken is refused to all who come late."""
    first, second = stamp_of(1), stamp_of(2, identity="b" * 64)
    assert ledger.taken(DATASET, DAY) is None
    assert ledger.entry(DATASET, DAY) is None
    assert refusal(ledger.commit, first, "alice") == "not claimed"
    ledger.claim(first, "alice")
    assert ledger.taken(DATASET, DAY) is None
    ledger.claim(first, "alice")  # the next try of the same task
    assert refusal(ledger.claim, first, "bob") == "already taken"
    ledger.commit(first, "alice")
    ledger.commit(first, "alice")
    assert ledger.taken(DATASET, DAY) == Taken(1, "a" * 64)
    assert refusal(ledger.claim, stamp_of(1, identity="c" * 64), "bob") == "reused version"
    ledger.claim(second, "bob")
    assert refusal(ledger.claim, first, "alice") == "older version"
    ledger.commit(second, "bob")
    assert refusal(ledger.claim, first, "alice") == "older version"
    assert ledger.taken(DATASET, DAY) == Taken(2, "b" * 64)
    words = [(event.word, event.held.version, event.held.owner) for event in ledger.history(DATASET, DAY)]
    assert words == [
        ("claimed", 1, "alice"), ("taken", 1, "alice"), ("claimed", 2, "bob"), ("taken", 2, "bob"),
    ]  # fmt: skip
    assert [event.word for event in ledger.history(DATASET, DAY, limit=1)] == ["taken"]


def test_correction_overtakes(ledger: CreatableLedger) -> None:
    """A higher version takes the place of a claim; the run that is overtaken is refused at its commit."""
    ledger.claim(stamp_of(1), "alice")
    ledger.claim(stamp_of(2, identity="b" * 64), "bob")
    assert refusal(ledger.commit, stamp_of(1), "alice") == "older version"
    ledger.commit(stamp_of(2, identity="b" * 64), "bob")
    assert refusal(ledger.commit, stamp_of(1), "alice") == "older version"


def test_release(ledger: CreatableLedger) -> None:
    """Only the owner's own claim is given back; what was taken stays taken."""
    ledger.release(stamp_of(1), "alice")
    ledger.claim(stamp_of(1), "alice")
    ledger.release(stamp_of(1), "bob")
    ledger.release(stamp_of(1, identity="b" * 64), "alice")
    assert refusal(ledger.claim, stamp_of(1), "bob") == "already taken"
    ledger.release(stamp_of(1), "alice")
    assert refusal(ledger.commit, stamp_of(1), "alice") == "not claimed"
    ledger.claim(stamp_of(1), "bob")
    ledger.commit(stamp_of(1), "bob")
    ledger.release(stamp_of(1), "bob")
    assert ledger.taken(DATASET, DAY) == Taken(1, "a" * 64)


def test_taken_is_repeated(ledger: CreatableLedger) -> None:
    """The same bytes may be worked on again, by one at a time, and stay taken meanwhile."""
    for owner in ("alice", "bob"):
        ledger.claim(stamp_of(1), owner)
        assert refusal(ledger.claim, stamp_of(1), "carol") == "already taken"
        ledger.commit(stamp_of(1), owner)
        assert ledger.taken(DATASET, DAY) == Taken(1, "a" * 64)


def test_entries(ledger: CreatableLedger) -> None:
    """Every entry is listed, the newest interval first, whatever its instants and its dataset's name are."""
    named = [
        ("sales/orders", "0001-01-01T00:00:00Z/0001-01-02T00:00:00.000001Z"),
        ("sales/orders", "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"),
        ("sales/orders", "2024-10-01T00:00:00.000001Z/2024-10-02T00:00:00Z"),
        ("..", "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"),
        ("sales/orders", "1969-12-31T23:59:59.999999Z/9999-12-31T23:59:59.999999Z"),
        ("x" * 200, "2024-10-01T02:00:00+02:00/2024-10-03T02:00:00+02:00"),
        ("SALES/orders", "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"),
    ]
    for dataset, day in named:
        ledger.claim(stamp_of(dataset=dataset, day=day), "alice")
    wanted = [(dataset, Interval.parse(day)) for dataset, day in named]
    wanted.sort(key=lambda one: one[0])
    wanted.sort(key=lambda one: one[1], reverse=True)
    assert [(entry.dataset, entry.interval) for entry in ledger.entries()] == wanted
    assert [(entry.dataset, entry.interval) for entry in ledger.entries(limit=2)] == wanted[:2]
    assert len(ledger.entries("sales/orders")) == 4
    assert ledger.entries("sales") == []
    for dataset, interval in wanted:
        entry = ledger.entry(dataset, interval)
        assert entry is not None
        assert (entry.dataset, entry.interval) == (dataset, interval)


def test_any_owner_is_kept(ledger: CreatableLedger) -> None:
    """Owners are texts of any language, and no part of a statement or of a document."""
    owner = "dag'); DROP TABLE landmark_ledger; -- \" \\ {{ é 日本 \U0001f600/%s/:x/-1"
    ledger.claim(stamp_of(2**53 - 1), owner)
    ledger.commit(stamp_of(2**53 - 1), owner)
    entry = ledger.entry(DATASET, DAY)
    assert entry is not None
    assert entry.taken is not None
    assert (entry.taken.owner, entry.taken.version) == (owner, 2**53 - 1)


@pytest.mark.parametrize("dataset", HOSTILE_DATASETS)
def test_hostile_dataset(ledger: CreatableLedger, dataset: Any) -> None:
    """A dataset that no marker could name is refused in the same words by all, and nothing is written."""
    hostile = replace(stamp_of(), dataset=dataset)
    for call, arguments in (
        (ledger.claim, (hostile, "alice")), (ledger.commit, (hostile, "alice")),
        (ledger.release, (hostile, "alice")), (ledger.taken, (dataset, DAY)), (ledger.entry, (dataset, DAY)),
        (ledger.history, (dataset, DAY)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="dataset must be 1 to 200 of") as caught:
            call(*arguments)
        assert type(caught.value) is ValueError
    assert ledger.entries() == []


def test_create_is_repeatable(ledger: CreatableLedger) -> None:
    """Making what is there already changes nothing."""
    ledger.claim(stamp_of(1), "alice")
    assert ledger.create()
    assert ledger.create()
    assert [entry.dataset for entry in ledger.entries()] == [DATASET]


steps = st.lists(
    st.tuples(
        st.sampled_from(["claim", "claim", "commit", "release"]),
        st.integers(1, 3),
        st.sampled_from("ab"),
        st.sampled_from(["alice", "bob"]),
    ),
    max_size=12,
)


@given(steps)
@settings(max_examples=25)
def test_statements_follow_the_rules(tmp_path_factory: pytest.TempPathFactory, history: list[Any]) -> None:
    """The conditions in the statements of a database say the same as the rules, step by step."""
    ledger = SqlLedger(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/ledger.db")
    ledger.create()
    follow(ledger, DATASET, history)


@pytest.mark.slow
@pytest.mark.timeout(300)
@given(steps)
@settings(max_examples=100, deadline=None)
def test_statements_follow_the_rules_on_postgres(postgres: LocalPostgres, history: list[Any]) -> None:
    """The same statements say the same on PostgreSQL."""
    ledger = SqlLedger(postgres.url, table="followed")
    ledger.create()
    follow(ledger, f"sales/{secrets.token_hex(8)}", history)


def follow(ledger: SqlLedger, dataset: str, history: list[Any]) -> None:
    """Do each step, and compare what is told, and what is held in the end, with what the rules say."""
    model = Entry(dataset, DAY)
    for word, version, letter, owner in history:
        stamp = stamp_of(version, identity=letter * 64, dataset=dataset)
        told = refusal(getattr(ledger, word), stamp, owner)
        held = Held(version, letter * 64, owner, DAY.start, stamp.uri)
        expected = ""
        try:
            model = RULES[word](model, held)
        except BadDelivery as error:
            expected = error.kind
        assert (word, version, told) == (word, version, expected)
    assert plain(ledger.entry(dataset, DAY)) == plain(model)


def plain(entry: Entry | None) -> Any:
    """What counts of an entry: not the instants, which come from a clock."""
    if entry is None:
        return [None, None]
    return [held and (held.version, held.identity, held.owner) for held in (entry.taken, entry.claim)]
