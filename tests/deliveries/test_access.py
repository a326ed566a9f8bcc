"""How a store is reached: the same words lead to the same access, wherever a delivery is looked at."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import (
    AccessTrouble,
    Target,
    Unavailable,
    Way,
    _access,
    accept,
    announce,
    check,
    look_once,
    reach,
    wait,
)
from airflow_landmark.deliveries import Announcement as News
from airflow_landmark.stores import (
    HttpAccess,
    InvalidAccess,
    InvalidAddress,
    LastingTrouble,
    PassingTrouble,
    S3Access,
    parse_uri,
)
from remote import Remote
from resolving import SECRET, Airflow

Make = Callable[..., Any]
MARKER = "s3://lake/in/_delivery.json"


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Airflow:
    """Airflow, so to speak."""
    airflow = Airflow()
    monkeypatch.setattr(_access, "_resolver", lambda: airflow.resolve)
    return airflow


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Remote:
    """Buckets and origins."""
    return Remote().install(monkeypatch)


async def test_options_alone() -> None:
    """Without a connection the options make the access, and a local path has none."""
    assert await reach("s3://lake/in", options={"region": "eu-west-3"}) == S3Access(region="eu-west-3")
    assert await reach("https://host.example/in", options={"gone": "fail"}) == HttpAccess(gone="fail")
    assert await reach("s3://lake/in") == S3Access()
    assert await reach("/in") is None


async def test_a_connection_and_options(airflow: Airflow) -> None:
    """With a connection the access is the one that Airflow's side makes of both."""
    access = await reach("s3://lake/in", conn_id="partner", options={"region": "eu-west-3"})
    assert access == S3Access(region="eu-west-3", access_key_id="partner", secret_access_key=SECRET)
    assert airflow.asked == [("s3", "partner", {"region": "eu-west-3"})]


@pytest.mark.parametrize(
    ("uri", "conn_id", "options", "says"),
    [
        ("/in", "partner", {}, "a local path is reached without them"),
        ("file:///in", None, {"region": "x"}, "a local path is reached without them"),
        ("s3://lake/in", "", {}, "the name of a connection"),
        ("s3://lake/in", " partner", {}, "the name of a connection"),
        ("s3://lake/in", "x\ny", {}, "the name of a connection"),
        ("s3://lake/in", "x" * 251, {}, "the name of a connection"),
        ("s3://lake/in", 7, {}, "the name of a connection"),
        ("s3://lake/in", None, ["region"], "names and values"),
        ("s3://lake/in", None, {"token": SECRET}, "secrets belong into a connection"),
        ("s3://lake/in", None, {"region": 7}, "region: must be text"),
        ("s3://lake/in", None, {"endpoint_url": f"http://user:{SECRET}@host"}, "without user, password"),
        ("https://host.example/in", None, {"headers": {"Authorization": SECRET}}, "secrets belong into"),
        ("https://host.example/in", None, {"Authorization": SECRET}, "secrets belong into a connection"),
        ("https://host.example/in", None, {"read_timeout": 0}, "0.1 to 600 seconds"),
    ],
)
async def test_ways_that_lead_nowhere(
    airflow: Airflow, uri: str, conn_id: Any, options: Any, says: str
) -> None:
    """What cannot reach a store is refused before anybody is asked, with the reason and without secrets."""
    with pytest.raises(InvalidAccess, match=says) as caught:
        await reach(uri, conn_id=conn_id, options=options)
    assert SECRET not in str(caught.value)
    assert not airflow.asked


async def test_bad_uris_are_told_without_secrets(airflow: Airflow) -> None:
    """A URI that names no place is refused, and its secrets are not repeated."""
    with pytest.raises(InvalidAddress) as caught:
        await reach(f"https://user:{SECRET}@host.example/in?sig=abc123", conn_id="partner")
    assert SECRET not in str(caught.value)
    assert "abc123" not in str(caught.value)


async def test_fifty_at_once_ask_once(airflow: Airflow) -> None:
    """All who name the same connection and options share one look-up; others have their own."""
    airflow.answers.clear()
    same = [asyncio.ensure_future(reach(f"s3://lake/{n}", conn_id="partner")) for n in range(50)]
    other = asyncio.ensure_future(reach("s3://lake/0", conn_id="partner", options={"region": "x"}))
    while len(airflow.asked) < 2:
        await asyncio.sleep(0.001)
    airflow.answers.set()
    assert len(set(await asyncio.gather(*same))) == 1
    assert await other != await same[0]
    assert len(airflow.asked) == 2


async def test_a_look_up_is_kept_for_a_while(airflow: Airflow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes within the minute does not ask again; who comes later does."""
    await reach("s3://lake/in", conn_id="partner")
    await reach("s3://lake/in", conn_id="partner")
    assert len(airflow.asked) == 1
    now = _access.time.monotonic()
    monkeypatch.setattr(_access.time, "monotonic", lambda: now + _access._KEPT_SECONDS + 1)
    await reach("s3://lake/in", conn_id="partner")
    assert len(airflow.asked) == 2


async def test_failures_are_not_kept(airflow: Airflow) -> None:
    """A look-up that failed, for whatever reason, is made again."""
    airflow.troubles = [PassingTrouble("x", "away"), InvalidAccess("x", "unknown"), RuntimeError("defect")]
    for expected in (PassingTrouble, InvalidAccess, RuntimeError):
        with pytest.raises(expected):
            await reach("s3://lake/in", conn_id="partner")
    assert await reach("s3://lake/in", conn_id="partner") is not None


async def test_a_wait_that_is_cancelled_takes_no_other_along(airflow: Airflow) -> None:
    """The look-up belongs to all: it goes on when the one who asked first is cancelled."""
    airflow.answers.clear()
    first, second = (asyncio.ensure_future(reach("s3://lake/in", conn_id="partner")) for _ in range(2))
    while not airflow.asked:
        await asyncio.sleep(0.001)
    first.cancel()
    await asyncio.sleep(0.001)
    airflow.answers.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second is not None
    assert len(airflow.asked) == 1


@pytest.mark.parametrize("entries", [[], [EntryPoint("airflow", "no_such_module:x", _access._GROUP)]])
async def test_without_airflow_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, entries: list[EntryPoint]
) -> None:
    """Where nothing knows connections the error has the line that installs it."""
    monkeypatch.setattr(_access, "entry_points", lambda **_which: EntryPoints(entries))
    _access._resolver.cache_clear()
    with pytest.raises(InvalidAccess) as caught:
        await reach("s3://lake/in", conn_id="partner")
    assert "pip install 'airflow-landmark[airflow]'" in str(caught.value)


@pytest.mark.parametrize(
    ("origin", "uri"),
    [
        (None, "https://host.example/in"),
        ("https://host.example", "https://host.example:443/in"),
        ("https://host.example", "HTTPS://HOST.example/in"),
        ("http://host.example:8080", "http://host.example:8080/in"),
    ],
)
async def test_credentials_have_an_origin(airflow: Airflow, origin: str | None, uri: str) -> None:
    """Credentials are for the connection's origin, or for the URI's where the connection names none."""
    airflow.origin = origin
    access = await reach(uri, conn_id="partner")
    place = parse_uri(uri)
    assert isinstance(access, HttpAccess)
    assert access.origin == f"{place.scheme}://{place.authority}"


@pytest.mark.parametrize(
    "uri", ["http://host.example/in", "https://host.example:444/in", "https://host.example.evil/in"]
)
async def test_credentials_go_to_no_other_origin(airflow: Airflow, uri: str) -> None:
    """A URI at another origin is refused, and both are named."""
    airflow.origin = "https://host.example"
    with pytest.raises(InvalidAccess, match=r"it is for https://host\.example and") as caught:
        await reach(uri, conn_id="partner")
    assert uri.removesuffix("/in") in str(caught.value)


@pytest.mark.parametrize(
    "bad", [7, [], {"conn_id": "x"}, {"conn_id": 7, "options": {}}, {"conn_id": "x", "options": 7}]
)
def test_documents_that_are_no_way(bad: Any) -> None:
    """Only what ``to_json`` wrote is read."""
    with pytest.raises((TypeError, KeyError)):
        Way.from_json(bad)


@given(
    st.none() | st.from_regex(r"[a-z_]{1,20}", fullmatch=True),
    st.dictionaries(st.sampled_from(["region", "profile"]), st.text("abc-1", min_size=1)),
)
def test_ways_survive_json(conn_id: str | None, options: dict[str, str]) -> None:
    """What is written reads back as the same."""
    way = Way(conn_id, options)
    assert Way.from_json(json.loads(json.dumps(way.to_json()))) == way


@pytest.fixture
def delivered(remote: Remote, make_marker: Make) -> Callable[[str], str]:
    """Return a function that puts a delivery beside a marker's URI."""

    def put(uri: str = MARKER) -> str:
        files = {"a.csv": b"id\n1\n", "a b/ü%20.csv": b"id\n2\n"}
        place = parse_uri(uri)
        remote.files |= {place.at(path).uri: data for path, data in files.items()}
        remote.files[uri] = make_marker(files=files)
        return uri

    return put


WAY = Way("partner", {"read_timeout": 3.0})


async def test_every_step_reaches_the_store_alike(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make
) -> None:
    """First look, wait and acceptance reach the store by the same access."""
    terms = make_terms(delivered(), way=WAY, verify="digests")
    await look_once(terms)
    assert (await wait(terms)).kind == "arrived"
    await accept(terms)
    await check(MARKER, way=WAY)
    expected = S3Access(read_timeout=3.0, access_key_id="partner", secret_access_key=SECRET)
    assert remote.reached == [expected] * 4
    assert len(airflow.asked) == 1


async def test_an_access_comes_before_a_way(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make
) -> None:
    """Who gives the access itself, as a command line may, is not asked for another."""
    access = S3Access(region="x")
    terms = make_terms(delivered(), way=WAY)
    target = Target.of(MARKER, access=access)
    await wait(dataclasses.replace(terms, target=target))
    await check(MARKER, way=WAY, access=access)
    assert (remote.reached, airflow.asked) == ([access] * 2, [])


async def test_trouble_with_the_look_up_is_waited_out(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make, clock: Any, started: Any
) -> None:
    """While Airflow cannot be asked the wait asks again, less and less often, and tells it once."""
    airflow.troubles = [PassingTrouble("connection", "away") for _ in range(3)]
    airflow.now = clock.monotonic
    told: list[str] = []
    terms = make_terms(delivered(), way=WAY, within=100.0)
    task = started.add(wait(terms, clock=clock, tell=told.append))
    while not task.done():
        await clock.advance(0.5)
        await asyncio.sleep(0.002)  # look-ups go through threads, which the clock does not know
    assert task.result().kind == "arrived"
    gaps = [later - earlier for earlier, later in itertools.pairwise(airflow.asked_at)]
    assert [gap >= least for gap, least in zip(gaps, (1.0, 2.0, 4.0), strict=True)] == [True] * 3
    assert told.count("connection: away") == 1


async def test_trouble_to_the_end(
    airflow: Airflow, remote: Remote, make_terms: Make, clock: Any, started: Any
) -> None:
    """A wait that could not even ask ends at its deadline, and says why."""
    airflow.troubles = [PassingTrouble("connection", "away") for _ in range(20)]
    task = started.add(wait(make_terms(MARKER, way=WAY, within=10.0), clock=clock))
    while not task.done():
        await clock.advance(1.0)
        await asyncio.sleep(0.002)
    outcome = task.result()
    assert (outcome.kind, outcome.word, outcome.text) == ("deadline", "trouble", "connection: away")
    assert (outcome.looks.count, outcome.looks.last, outcome.dataset) == (
        0,
        "connection: away",
        "sales/orders",
    )
    assert not remote.reached


async def test_a_password_that_was_changed_is_taken(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make, clock: Any, started: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A wait of days outlives its password: before it gives up it asks once more what the connection says."""
    allowed, look = [SECRET], remote.look_many

    async def looked(wanted: Any, **how: Any) -> Any:
        access = remote.reached[-1]
        if not isinstance(access, S3Access) or access.secret_access_key not in allowed:
            return {address: LastingTrouble(address.uri, "access denied") for address in wanted}
        return await look(wanted, **how)

    monkeypatch.setattr(remote, "look_many", looked)
    monkeypatch.setattr(_access, "_KEPT_SECONDS", 0.0)
    told: list[str] = []
    task = started.add(wait(make_terms(MARKER, way=WAY), clock=clock, tell=told.append))

    async def until(done: Callable[[], bool]) -> None:
        while not done():
            await clock.advance(5.0)
            await asyncio.sleep(0.002)

    await until(lambda: bool(told))
    allowed[:] = [airflow.password] = ["another"]
    delivered()
    await until(task.done)
    assert task.result().kind == "arrived"
    assert len(airflow.asked) == 2
    assert any("the connection has changed" in text for text in told)
    allowed[:] = []
    refused = started.add(wait(make_terms(MARKER, way=WAY), clock=clock))
    await until(refused.done)
    assert (refused.result().kind, refused.result().word) == ("failed", "access")
    assert len(airflow.asked) == 4  # once at its start, and once before it gave up


async def test_what_cannot_be_reached_ends_every_step(
    airflow: Airflow, remote: Remote, make_terms: Make
) -> None:
    """A connection that does not exist ends first look, wait and acceptance; trouble does not end a look."""
    terms = make_terms(MARKER, way=WAY)
    for step in (look_once, wait):
        airflow.troubles = [InvalidAccess("connection", "unknown")]
        with pytest.raises(InvalidAccess):
            await step(terms)
    airflow.troubles = [InvalidAccess("connection", "unknown")]
    with pytest.raises(AccessTrouble) as caught:
        await accept(terms)
    assert caught.value.kind == "configuration"
    airflow.troubles = [InvalidAccess("connection", "unknown")]
    assert (await check(MARKER, way=WAY)).answer == "unknown"
    airflow.troubles = [InvalidAccess("connection", "unknown")]
    with pytest.raises(AccessTrouble):
        await announce("s3://lake/in", News(terms.expectation), way=WAY)
    airflow.troubles = [PassingTrouble("connection", "away")] * 2
    assert (await look_once(terms)).word == "trouble"
    with pytest.raises(Unavailable):
        await accept(terms)
    assert not remote.reached


def test_terms_are_checked_with_their_way(make_terms: Make) -> None:
    """Terms refuse a way that leads to no store of their kind."""
    with pytest.raises(InvalidAccess):
        make_terms("/in/_delivery.json", way=WAY).check()
