"""One look at one marker in a bucket: one conditional request."""

from __future__ import annotations

import hashlib
from typing import Any

import anyio
from anyio import to_thread

from airflow_landmark.markers import MAX_DOCUMENT_BYTES

from ._address import Address
from ._errors import Absent, LastingTrouble, PassingTrouble
from ._s3_answer import Answer, key_of, pin_of
from ._s3_client import S3Connection
from ._s3_errors import status_of
from ._values import Look, Sighting

__all__ = ["look_at", "sha256_of"]

_BODY_SECONDS = 120.0
"""So long the largest marker may take; silence ends a look much earlier."""
_HASH_HERE_BYTES = 1 << 20


async def look_at(connection: S3Connection, address: Address, since: Sighting | None) -> Look:
    """Read the marker unless it is the one that was seen.

    :raises StoreError: sorted; an absent object is a look without sighting.
    """
    parameters = {"Key": key_of(address)}
    accept = set()
    if since is not None and since.pin.etag is not None:
        parameters["IfNoneMatch"] = since.pin.etag
        accept.add("304")
    try:
        with anyio.fail_after(_BODY_SECONDS):
            async with connection.streamed(address, parameters, accept=accept) as answer:
                if status_of(answer) == 304:
                    return Look(since)
                _check_whole(address, answer)
                data = await _first_bytes(answer["Body"])
                return await _seen(address, since, answer, data)
    except Absent as absent:
        return Look(None, reason=absent.reason)
    except TimeoutError:
        raise PassingTrouble(address.uri, f"not read within {_BODY_SECONDS:g} s") from None


def _check_whole(address: Address, answer: Answer) -> None:
    if status_of(answer) != 200:
        raise LastingTrouble(address.uri, "the answer is a part of the object, which was not asked for")


async def sha256_of(data: bytes) -> str:
    """In a thread when it takes long."""
    if len(data) <= _HASH_HERE_BYTES:
        return hashlib.sha256(data).hexdigest()
    return await to_thread.run_sync(lambda: hashlib.sha256(data).hexdigest())


async def _first_bytes(body: Any) -> bytes:
    """The whole body, or one byte more than the largest marker has."""
    chunks, left = [], MAX_DOCUMENT_BYTES + 1
    while left and (chunk := await body.read(left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


async def _seen(address: Address, since: Sighting | None, answer: Answer, data: bytes) -> Look:
    sha256 = await sha256_of(data)
    size = int(answer.get("ContentLength", len(data)))
    unchanged = since is not None and (since.sha256, since.size) == (sha256, size)
    return Look(Sighting(address, size, sha256, pin_of(answer)), None if unchanged else data)
