"""Credentials of the client: where they come from, and how they are renewed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import anyio
import pytest
from aiobotocore.credentials import AioRefreshableCredentials
from aiobotocore.session import AioSession

from airflow_landmark.stores import Address, LastingTrouble, PassingTrouble, S3Access, StoreError
from airflow_landmark.stores import _s3_lease as lease
from airflow_landmark.stores._s3_client import S3Connection
from s3server import ABSENT, Reply, Request, ScriptedS3, error, opened

THERE = Address("s3", "bucket", "in/", "m.json")


class Sessions:
    """A source of sessions with credentials that get older.

    :ivar made: how many sessions were asked for.
    """

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> AioSession:
        """A session with a new key."""
        assert threading.current_thread() is not threading.main_thread()
        self.made += 1
        session = AioSession()
        session.set_credentials(f"KEY{self.made}", "s", "t")
        return session


def _expires(*keys: str) -> Callable[[Request], Reply]:
    """A server for which these keys have expired."""
    return lambda request: error(400, "ExpiredToken") if request.signed_with[0] in keys else ABSENT


async def test_a_session_source_builds_the_session(scripted: ScriptedS3) -> None:
    """Credentials come from it, and from nowhere else."""
    async with opened(scripted.url, session=Sessions(), region="eu-west-1") as store:
        await store.look(THERE)
    assert scripted.requests[0].signed_with == ("KEY1", "eu-west-1")


async def test_expired_credentials_are_renewed(scripted: ScriptedS3) -> None:
    """One look tells the trouble, the next one has fresh credentials; one client is made for all."""
    sessions = Sessions()
    scripted.answer = _expires("KEY1")
    async with opened(scripted.url, session=sessions) as store:
        troubles = await asyncio.gather(*(store.look(THERE) for _ in range(8)), return_exceptions=True)
        assert all(type(trouble) is PassingTrouble for trouble in troubles)
        looks = await asyncio.gather(*(store.look(THERE) for _ in range(8)))
        assert all(look.sighting is None for look in looks)
    assert sessions.made == 2


async def test_renewals_are_few(scripted: ScriptedS3) -> None:
    """Where fresh credentials are refused as well, clients are not built with every look."""
    sessions = Sessions()
    scripted.answer = _expires("KEY1", "KEY2", "KEY3")
    connection = S3Connection(
        S3Access(endpoint_url=scripted.url, addressing_style="path", session=sessions), renew_seconds=0.3
    )
    for _ in range(5):
        with pytest.raises(PassingTrouble):
            await connection.call("head_object", THERE, {"Key": "k"})
    assert sessions.made <= 3
    await anyio.sleep(0.8)
    with pytest.raises(StoreError):
        await connection.call("head_object", THERE, {"Key": "k"})
    with pytest.raises(StoreError):
        await connection.call("get_object", THERE, {"Key": "k"})
    assert 2 <= sessions.made <= 4
    await connection.aclose()


async def test_keys_that_nobody_can_renew(scripted: ScriptedS3) -> None:
    """A connection's own session token stays expired: that is told as lasting trouble at the second look."""
    scripted.answer = lambda request: error(400, "ExpiredToken")
    keys = {"access_key_id": "A", "secret_access_key": "s", "session_token": "t"}
    async with opened(scripted.url, **keys) as store:
        with pytest.raises(PassingTrouble):
            await store.look(THERE)
        with pytest.raises(LastingTrouble, match="session token"):
            await store.look(THERE)


async def test_a_reader_keeps_its_client(scripted: ScriptedS3) -> None:
    """A client that is replaced is closed when its last reader has ended, not under it."""
    sessions = Sessions()

    def answer(request: Request) -> Reply:
        if request.method == "HEAD":
            return Reply(400)
        return Reply(200, bytes(3_000_000), {"ETag": '"e"'})

    scripted.answer = answer
    async with opened(scripted.url, session=sessions) as store:
        chunks = store.read(THERE)
        size = len(await anext(chunks))
        with pytest.raises(PassingTrouble, match="without a reason"):
            await store.facts(THERE)
        with pytest.raises(PassingTrouble):
            await store.facts(THERE)
        assert sessions.made == 2
        async for chunk in chunks:
            size += len(chunk)
    assert size == 3_000_000
    assert len([request for request in scripted.requests if request.method == "GET"]) == 1


async def test_credentials_that_expire_are_renewed_in_threads(scripted: ScriptedS3) -> None:
    """What renews them may read files and build clients: never in the event loop."""
    threads = []

    async def renew() -> dict[str, str]:
        threads.append(threading.current_thread())
        soon = datetime.now(timezone.utc) + timedelta(seconds=1 if len(threads) == 1 else 7_200)
        key = f"R{len(threads)}"
        return {"access_key": key, "secret_key": "s", "token": "t", "expiry_time": soon.isoformat()}

    class Source:
        def __call__(self) -> AioSession:
            session = AioSession()
            past = datetime.now(timezone.utc) - timedelta(hours=1)
            session._credentials = AioRefreshableCredentials("R0", "s", "t", past, renew, method="test")
            return session

    async with opened(scripted.url, session=Source()) as store:
        await store.look(THERE)
        await store.look(THERE)
    assert [request.signed_with[0] for request in scripted.requests] == ["R1", "R2"]
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("failure", [RuntimeError("secret"), OSError("secret"), ImportError("secret")])
async def test_a_source_that_fails(scripted: ScriptedS3, failure: Exception) -> None:
    """Foreign code may raise anything: it is trouble of the store, without its text."""

    class Source:
        def __call__(self) -> AioSession:
            raise failure

    async with opened(scripted.url, session=Source()) as store:
        with pytest.raises(StoreError) as caught:
            await store.look(THERE)
    assert "secret" not in str(caught.value)
    assert type(failure).__name__ in str(caught.value)


async def test_a_source_that_hangs(scripted: ScriptedS3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that do not come are passing trouble, and the loop goes on."""
    monkeypatch.setattr(lease, "_BUILD_SECONDS", 0.1)

    class Source:
        def __call__(self) -> AioSession:
            time.sleep(0.5)
            return AioSession()

    async with opened(scripted.url, session=Source()) as store:
        with pytest.raises(PassingTrouble, match="no credentials and no client within"):
            await store.look(THERE)
