"""Opening what lies on an HTTP origin, and digesting it beside the loop."""

from __future__ import annotations

import io
import os
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.stores import Address, Changed, LastingTrouble, Pin
from airflow_landmark.stores import _http_pass as passes
from airflow_landmark.stores import _http_read as reading
from httpserver import Answer, HttpServer, Page

On = Callable[..., Address]
DATA = random.Random(1).randbytes(1_000_000)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody sleep before going on."""
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0.0)


async def test_open(http: Any, on: On, http_server: HttpServer, no_descriptor_left: None) -> None:
    """A file is open at its start, may seek, and stays when the store and the resource are gone."""
    http_server.pages["/in/a"] = Page(DATA, etag='"e"', breaks_after=[300_000])
    file = await http.open(on("a"), pin=Pin(etag='"e"'))
    await http.aclose()
    del http_server.pages["/in/a"]
    with file:
        assert file.read() == DATA
        file.seek(-10, os.SEEK_END)
        assert file.read() == DATA[-10:]


async def test_open_takes_no_more_than_was_told(http: Any, on: On, http_server: HttpServer) -> None:
    """A server that sends more than it told of fills no disk."""
    http_server.pages["/in/a"] = Page(DATA, headers={})
    http_server.script["/in/a"] = deque([Answer(200, headers={"Content-Length": "10"})])
    with pytest.raises(Changed, match="has not the 10 bytes"):
        await http.open(on("a"))


async def test_no_room_for_a_copy(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is too small is told by name before anything is copied."""
    monkeypatch.setattr(passes, "disk_usage", lambda folder: type("Usage", (), {"free": 999_999})())
    http_server.pages["/in/a"] = DATA
    with pytest.raises(LastingTrouble, match=r"1000000 bytes .* 999999: set TMPDIR"):
        await http.open(on("a"))
    assert [seen.method for seen in http_server.seen] == ["HEAD"]


async def test_a_disk_that_fills_up(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that cannot be written is dropped."""

    class Full(io.BytesIO):
        def writelines(self, lines: Any) -> None:
            raise OSError(28, os.strerror(28))

    file = Full()
    monkeypatch.setattr(passes.tempfile, "TemporaryFile", lambda **named: file)
    http_server.pages["/in/a"] = DATA
    with pytest.raises(LastingTrouble, match="No space left on device"):
        await http.open(on("a"))
    assert file.closed


async def test_a_digest_leaves_the_loop_alone(
    http: Any, on: On, http_server: HttpServer, loop_gaps: Any
) -> None:
    """Large files are hashed off the loop, in pieces."""
    http_server.pages["/in/a"] = Page.of(bytes(64 << 20))
    async with loop_gaps() as gaps:
        await http.digest(on("a"), ["sha256", "sha512", "blake2b"])
    assert len(gaps) > 10
    assert max(gaps) < 0.1
