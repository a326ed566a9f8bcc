"""The client: one for all waits, built off the loop, with every setting, and closed."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from airflow_landmark.stores import (
    Address,
    InvalidAccess,
    LastingTrouble,
    PassingTrouble,
    S3Access,
    open_store,
    parse_uri,
)
from airflow_landmark.stores import _s3_build as build
from airflow_landmark.stores import _s3_client as client
from airflow_landmark.stores import _s3_lease as lease
from airflow_landmark.stores._s3 import S3Store
from s3server import Reply, ScriptedS3, error, opened

THERE = Address("s3", "bucket", "in/", "m.json")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[S3Access]:
    """Return the accesses of all clients that are built."""
    made: list[S3Access] = []
    really = lease._creation

    def creation(access: S3Access) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        made.append(access)
        return really(access)

    monkeypatch.setattr(lease, "_creation", creation)
    return made


async def test_200_waits_share_one_client(
    scripted: ScriptedS3, built: list[S3Access], loop_gaps: Callable
) -> None:
    """However many start together, one client is built, in threads, and the loop goes on meanwhile."""
    access = S3Access(endpoint_url=scripted.url, addressing_style="path")
    place = parse_uri("s3://bucket/in/m.json", access=access)
    stores = set()

    async def wait() -> None:
        async with open_store(place) as store:
            stores.add(store)
            await store.look(place)

    async with loop_gaps() as gaps, anyio.create_task_group() as group:
        for _ in range(200):
            group.start_soon(wait)
    assert len(stores) == len(built) == 1
    assert max(gaps) < 0.1


async def test_all_buckets_of_an_access_share_a_client(scripted: ScriptedS3, built: list[S3Access]) -> None:
    """Another bucket is the same store; other settings are another one."""
    access = S3Access(endpoint_url=scripted.url, addressing_style="path")
    equal = S3Access(endpoint_url=scripted.url, addressing_style="path")
    other = S3Access(endpoint_url=scripted.url, addressing_style="path", region="us-west-2")
    places = [parse_uri("s3://one/m", access=access), parse_uri("s3://two/m", access=equal)]
    async with open_store(places[0]) as one, open_store(places[1]) as two:
        assert one is two
        async with open_store(parse_uri("s3://one/m", access=other)) as three:
            assert three is not one
            for place in places:
                await one.look(place)
    assert len(built) == 1


async def test_nothing_is_built_before_it_is_needed(scripted: ScriptedS3, built: list[S3Access]) -> None:
    """Opening a store costs no client; the first request builds it, the second shares it."""
    async with opened(scripted.url) as store:
        assert not built
        await asyncio.gather(*(store.look(THERE) for _ in range(5)))
        assert len(built) == 1


async def test_everything_is_closed(scripted: ScriptedS3, no_descriptor_left: None) -> None:
    """After the last wait no session and no connection is open, also after errors and cancellation."""
    async with opened(scripted.url) as store:
        await store.look(THERE)
    async with opened(scripted.url) as store:
        scripted.answer = lambda request: error(403, "AccessDenied")
        with pytest.raises(LastingTrouble):
            await store.look(THERE)
    scripted.answer = lambda request: Reply(200, bytes(1_000_000))
    async with opened(scripted.url) as store:
        with anyio.CancelScope() as scope:
            async for _ in store.read(THERE):
                scope.cancel()
    async with opened(scripted.url) as store:
        pass
    gc.collect()  # an unclosed session is a warning here, and warnings are errors


async def test_cancelling_while_the_client_is_built(scripted: ScriptedS3) -> None:
    """The next wait builds it."""
    async with opened(scripted.url) as store:
        for seconds in (0.0, 0.001, 0.01):
            with anyio.move_on_after(seconds):
                await store.look(THERE)
        assert (await store.look(THERE)).sighting is None


async def test_settings_reach_the_client(scripted: ScriptedS3) -> None:
    """Region, keys, token, path style and further settings are all heard of by the server."""
    settings = {
        "region": "ap-south-1",
        "access_key_id": "AKIAOTHER",
        "secret_access_key": "s",
        "session_token": "the-token",
        "client_config": (("user_agent_extra", "a-team/1"), ("s3", {"use_accelerate_endpoint": False})),
    }
    async with opened(scripted.url, **settings) as store:
        await store.look(THERE)
    (request,) = scripted.requests
    assert request.signed_with == ("AKIAOTHER", "ap-south-1")
    assert request.headers["x-amz-security-token"] == "the-token"
    assert request.path == "/bucket/in/m.json"
    assert "a-team/1" in request.headers["user-agent"]


async def test_the_environment_is_the_default(
    scripted: ScriptedS3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Keys, region and endpoint come from where AWS tools look, and profiles from their files."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", scripted.url)
    store = await S3Store(S3Access(addressing_style="path")).start()
    await store.look(THERE)
    await store.aclose()
    (tmp_path / "credentials").write_text(
        "[partner]\naws_access_key_id = AKIAPARTNER\naws_secret_access_key = p\nregion = sa-east-1\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    async with opened(scripted.url, profile="partner") as store:
        await store.look(THERE)
    assert [request.signed_with for request in scripted.requests] == [
        ("AKIAEXAMPLE", "eu-west-3"),
        ("AKIAPARTNER", "sa-east-1"),
    ]
    async with opened(scripted.url, profile="nobody") as store:
        with pytest.raises(LastingTrouble, match="profile"):
            await store.look(THERE)


@pytest.mark.parametrize(("style", "host"), [("virtual", "bucket.s3.example"), ("path", "s3.example")])
async def test_the_way_to_the_bucket(scripted: ScriptedS3, style: str, host: str) -> None:
    """It stands in the host's name or in the path, as the access says, and a proxy is gone through."""
    ways = {"proxies": (("http", scripted.url),), "addressing_style": style}
    async with opened("http://s3.example", **ways) as store:
        await store.look(THERE)
    (request,) = scripted.requests
    assert request.headers["host"] == host
    assert request.path.endswith("/in/m.json" if style == "virtual" else "/bucket/in/m.json")


async def test_no_other_host_is_contacted(
    scripted: ScriptedS3, monkeypatch: pytest.MonkeyPatch, built: list[S3Access]
) -> None:
    """With an endpoint and keys of its own, a store asks no token service, no metadata, no AWS."""
    contacted = set()
    really = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        contacted.add(address)
        really(self, address)

    async def sock_connect(self: object, sock: socket.socket, address: Any) -> None:
        contacted.add(address)
        await really_async(self, sock, address)

    loop = type(asyncio.get_running_loop())
    really_async = loop.sock_connect
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(loop, "sock_connect", sock_connect)
    async with opened(scripted.url) as store:
        await store.look(THERE)
    assert contacted == {("127.0.0.1", scripted.port)}


@pytest.mark.parametrize("config", [(("no_such_setting", 1),), (("retries", {"mode": "nonsense"}),)])
async def test_settings_that_botocore_does_not_take(scripted: ScriptedS3, config: Any) -> None:
    """They are refused, and nothing is sent."""
    async with opened(scripted.url, client_config=config) as store:
        with pytest.raises(LastingTrouble):
            await store.look(THERE)
    assert not scripted.requests


async def test_retries_that_are_asked_for(scripted: ScriptedS3) -> None:
    """Whoever sets them gets them."""
    scripted.answer = lambda request: error(500, "InternalError")
    config = (("retries", {"total_max_attempts": 2, "mode": "standard"}),)
    async with opened(scripted.url, client_config=config) as store:
        with pytest.raises(PassingTrouble):
            await store.look(THERE)
    assert len(scripted.requests) == 2


async def test_no_permission_is_asked_for_a_body(scripted: ScriptedS3) -> None:
    """A server that does not know the header would be waited for without end."""
    scripted.answer = lambda request: Reply(200)
    async with opened(scripted.url) as store:
        await store.put(THERE, b"{}")
    assert "expect" not in scripted.requests[0].headers


async def test_without_the_extra(aws_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text has the line that installs it."""
    monkeypatch.setattr(client, "find_spec", lambda name: None)
    with pytest.raises(InvalidAccess) as caught:
        await S3Store(S3Access()).start()
    assert "pip install 'airflow-landmark[s3]'" in str(caught.value).splitlines()


def test_the_store_is_light() -> None:
    """Importing it loads nothing of the extra: that happens in a thread, with the first request."""
    code = (
        "import sys, airflow_landmark.stores._s3 as s\n"
        "print([m for m in ('aiobotocore', 'botocore', 'aiohttp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_secret_in_a_repr() -> None:
    """Whatever is logged of a store tells none."""
    secrets = {"secret_access_key": "very-secret", "session_token": "token-secret"}
    access = S3Access(access_key_id="AKIA", **secrets)
    for thing in (access, S3Store(access), S3Store(access).connection):
        assert "secret" not in repr(thing)


def test_sessions_share_what_describes_the_service(aws_environment: None) -> None:
    """The service's description is read once for all sessions of the process."""
    loaders = {id(build.creation(S3Access())[0].get_component("data_loader")) for _ in range(3)}
    assert len(loaders) == 1
