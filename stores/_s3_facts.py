"""Size, identity and kept digests of objects in a bucket."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

from ._address import Address
from ._s3_answer import check_readable, check_same, condition, facts_of, key_of
from ._s3_client import S3Connection
from ._values import Facts, Pin

__all__ = ["facts", "held_digests"]

_HELD = {"crc32c": "ChecksumCRC32C", "crc64nvme": "ChecksumCRC64NVME", "sha256": "ChecksumSHA256"}
"""Algorithms that S3 computes as we do, and where it tells them. Its CRCs are big endian."""
_BYTES = {"crc32c": 4, "crc64nvme": 8, "sha256": 32}


async def facts(connection: S3Connection, address: Address, *, pin: Pin | None = None) -> Facts:
    """Size and identity, with the version where the bucket keeps versions.

    :raises Absent: when nothing lies there.
    :raises Archived: when it cannot be read.
    :raises Changed: when it is not the pinned state.
    """
    parameters = {"Key": key_of(address), **condition(pin)}
    answer = await connection.call("head_object", address, parameters)
    check_same(address, pin, answer)
    check_readable(address, answer)
    return facts_of(answer)


async def held_digests(
    connection: S3Connection, address: Address, algorithms: Sequence[str], *, pin: Pin | None = None
) -> Mapping[str, str]:
    """Digests over the whole object; those over the digests of its parts prove nothing to us.

    An ETag is no digest, whatever it looks like.

    :raises Changed: when it is not the pinned state.
    """
    wanted = [name for name in algorithms if name in _HELD]
    if not wanted:
        return {}
    parameters = {"Key": key_of(address), "ChecksumMode": "ENABLED", **condition(pin)}
    answer = await connection.call("head_object", address, parameters)
    check_same(address, pin, answer)
    if answer.get("ChecksumType") != "FULL_OBJECT":
        return {}
    found = {name: _hex(str(answer.get(_HELD[name], "")), _BYTES[name]) for name in wanted}
    return {name: digest for name, digest in found.items() if digest is not None}


def _hex(encoded: str, length: int) -> str | None:
    """Base64 as hex; ``None`` for anything else, such as ``...-3`` over three parts."""
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw.hex() if len(raw) == length else None
