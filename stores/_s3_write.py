"""Writing markers and files: S3 takes each whole or not at all."""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Mapping, Sequence
from typing import BinaryIO

from ._address import Address
from ._errors import Absent, Changed, LastingTrouble, PassingTrouble
from ._s3_again import Again
from ._s3_answer import key_of, pin_of, same_etag
from ._s3_client import S3Connection
from ._s3_look import look_at, sha256_of
from ._s3_parts import PART_BYTES, PartsUpload
from ._s3_source import Source, full_algorithm
from ._values import Facts, Sighting, Sink

__all__ = ["put", "put_file", "put_if_absent", "put_if_unchanged"]

_JSON = "application/json"


async def put(connection: S3Connection, address: Address, data: bytes) -> Facts:
    """Write, whatever lies there.

    :raises StoreError: sorted.
    """
    return await _put_marker(connection, address, data, {})


async def put_if_absent(connection: S3Connection, address: Address, data: bytes) -> Facts:
    """Write when nothing lies there: S3 itself sees to it that of two writers one wins.

    :raises Changed: when something lies there.
    """
    return await _put_marker(connection, address, data, {"IfNoneMatch": "*"})


async def put_if_unchanged(connection: S3Connection, address: Address, data: bytes, since: Sighting) -> Facts:
    """Replace what was seen.

    :raises Changed: when something else lies there, or nothing.
    """
    if since.pin.etag is None:
        text = "it was seen without an ETag, and cannot be replaced safely: look at it again"
        raise LastingTrouble(address.uri, text)
    try:
        return await _replace(connection, address, data, since, since.pin.etag)
    except Changed:
        there = (await look_at(connection, address, since)).sighting
        if there is None or not same_etag(there.pin, since.pin):
            raise
    # It lies there as it was seen: some servers, such as Ceph's, compare with an ETag without quotes.
    return await _replace(connection, address, data, since, since.pin.etag.strip('"'))


async def _replace(
    connection: S3Connection, address: Address, data: bytes, since: Sighting, etag: str
) -> Facts:
    try:
        return await _put_marker(connection, address, data, {"IfMatch": etag}, known={since.sha256})
    except Absent:
        raise Changed(address.uri, "it was removed meanwhile") from None


async def put_file(
    connection: S3Connection,
    address: Address,
    source: BinaryIO,
    *,
    size: int,
    digests: Mapping[str, str],
    sinks: Sequence[Sink],
    again: Again,
) -> Facts:
    """Write a file, by one request or in parts; the source is held against its digests before it appears.

    :raises Changed: when the source gives other bytes than were promised.
    :raises StoreError: sorted.
    """
    algorithm = full_algorithm(digests) if size > PART_BYTES else None
    reader = Source(address, source, size=size, digests=digests, also=algorithm, sinks=sinks)
    if size > PART_BYTES:
        parts = PartsUpload(connection, address, reader, size=size, algorithm=algorithm, again=again)
        return await parts.run()
    data = await reader.read(size)
    await reader.check()
    sha256 = reader.hexdigest("sha256")
    return await again.each(lambda: _put(connection, address, data, sha256, {}))


async def _put_marker(
    connection: S3Connection,
    address: Address,
    data: bytes,
    conditions: Mapping[str, str],
    *,
    known: Collection[str] = (),
) -> Facts:
    """Write a marker; when no answer comes, look whether it was written all the same.

    :param known: sha256 of what may lie there when it was not.
    """
    sha256 = await sha256_of(data)
    try:
        return await _put(connection, address, data, sha256, {"ContentType": _JSON, **conditions})
    except Changed:
        raise
    except PassingTrouble as trouble:
        there = await _there(connection, address, trouble)
        if there is not None and there.sha256 == sha256:
            return Facts(there.size, there.pin)
        if there is None or not conditions or there.sha256 in known:
            raise
        raise Changed(address.uri, "something else was written there meanwhile") from None


async def _there(connection: S3Connection, address: Address, trouble: PassingTrouble) -> Sighting | None:
    """What lies there after an answer that did not come.

    :raises PassingTrouble: the one given, when that cannot be told either.
    """
    try:
        return (await look_at(connection, address, None)).sighting
    except PassingTrouble:
        raise trouble from None


async def _put(
    connection: S3Connection, address: Address, data: bytes, sha256: str, parameters: Mapping[str, str]
) -> Facts:
    """One PUT, with a checksum that S3 checks and keeps."""
    body = {
        "Key": key_of(address),
        "Body": io.BytesIO(data),  # bytes would be written at once, which stops the event loop
        "ContentLength": len(data),
        "ChecksumAlgorithm": "SHA256",
        "ChecksumSHA256": base64.b64encode(bytes.fromhex(sha256)).decode(),
    }
    answer = await connection.call("put_object", address, {**body, **parameters}, sends_bytes=len(data))
    return Facts(len(data), pin_of(answer))
