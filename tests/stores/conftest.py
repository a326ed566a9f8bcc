"""Stores, addresses in them, and a measure of how long the loop was busy."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_landmark.stores import Address, HttpAccess, LocalStore, parse_uri

if TYPE_CHECKING:
    from airflow_landmark.stores._http import HttpStore
    from airflow_landmark.stores._s3 import S3Store
    from httpserver import HttpServer
    from s3server import S3Server, ScriptedS3


@pytest.fixture
def at(tmp_path: Path) -> Callable[[str], Address]:
    """Return a function that makes the address of a name in the test's folder."""
    return lambda name: Address("file", "", str(tmp_path), name)


@pytest.fixture
async def store() -> AsyncIterator[LocalStore]:
    """Return a local store, closed after the test."""
    store = await LocalStore().start()
    yield store
    await store.aclose()


@pytest.fixture
def loop_gaps() -> Callable[[], AbstractAsyncContextManager[list[float]]]:
    """Return a context that collects the seconds that the loop worked between two turns of a task.

    Of its own CPU, since on a busy machine everybody waits. Few turns tell of a loop that stood still. What
    other tests have left in memory is hidden from the garbage collector: to walk it can take a second.
    """

    @asynccontextmanager
    async def measured() -> AsyncIterator[list[float]]:
        gaps: list[float] = []

        async def beat() -> None:
            while True:
                before = time.thread_time()
                await asyncio.sleep(0.005)
                gaps.append(time.thread_time() - before)

        gc.collect()
        gc.freeze()
        task = asyncio.ensure_future(beat())
        try:
            yield gaps
        finally:
            gc.unfreeze()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return measured


@pytest.fixture
def no_descriptor_left() -> Iterator[None]:
    """Fail a test that leaves a file descriptor open."""

    def opened() -> set[str]:
        found = set()
        for path in Path("/proc/self/fd").iterdir():
            try:
                found.add(f"{path.name} {path.readlink()}")
            except OSError:
                continue
        return found

    before = opened()
    yield
    deadline = time.monotonic() + 2.0
    while opened() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not opened() - before


@pytest.fixture(scope="module")
def running_server() -> Iterator[HttpServer]:
    """Return a running HTTP server."""
    from httpserver import HttpServer

    with HttpServer() as server:
        yield server


@pytest.fixture
def http_server(running_server: HttpServer) -> HttpServer:
    """Return a running HTTP server with nothing on it."""
    assert running_server.until_closed() == 0
    running_server.forget()
    return running_server


@pytest.fixture
async def make_http() -> AsyncIterator[Callable[..., Any]]:
    """Return a function that makes an HTTP store from settings; all are closed after the test."""
    from airflow_landmark.stores._http import HttpStore

    made = []

    async def make(**settings: Any) -> HttpStore:
        client = settings.pop("client", None)
        store = await HttpStore(HttpAccess(**settings), client=client).start()
        made.append(store)
        return store

    yield make
    for store in made:
        await store.aclose()


@pytest.fixture
async def http(make_http: Callable[..., Any]) -> Any:
    """Return an HTTP store without credentials."""
    return await make_http()


@pytest.fixture
def on(http_server: HttpServer) -> Callable[..., Address]:
    """Return a function that makes the address of a name in the folder /in/ of the server."""

    def address(name: str = "m.json", *, origin: str = "") -> Address:
        return parse_uri(f"{origin or http_server.origin}/in/", folder=True).at(name)

    return address


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """Return a running S3 server, for all tests."""
    from s3server import S3Server

    with S3Server() as server:
        yield server


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the environment hold made-up credentials and nothing of this machine's."""
    from s3server import AWS_ENVIRONMENT

    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))


@pytest.fixture
def s3(s3_server: S3Server, aws_environment: None) -> S3Server:
    """Return the S3 server, with no requests noted."""
    s3_server.requests.clear()
    return s3_server


@pytest.fixture
def scripted(aws_environment: None) -> Iterator[ScriptedS3]:
    """Return a server of S3's protocol on which nothing lies, and whose answers can be changed."""
    from s3server import ABSENT, ScriptedS3

    with ScriptedS3(lambda request: ABSENT) as server:
        yield server


@pytest.fixture
async def s3_store(s3: S3Server) -> AsyncIterator[S3Store]:
    """Return a store at that server, closed after the test."""
    from s3server import opened

    async with opened(s3.url) as store:
        yield store


@pytest.fixture
def s3_at(s3: S3Server) -> Callable[[str], Address]:
    """Return a function that makes the address of a name in a folder of the test's own bucket."""
    bucket = s3.bucket()
    s3.requests.clear()
    return lambda name: Address("s3", bucket, "in/", name)
