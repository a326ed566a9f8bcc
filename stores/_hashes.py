"""Which digests this release computes, and how."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from typing import Any, Protocol

from airflow_landmark.markers import STRONG_ALGORITHMS, show

from ._errors import LastingTrouble

__all__ = ["Hash", "computable", "new_hash"]

_PLAIN_WEAK = ("md5", "sha1")
_CRC_BYTES = {"crc32c": 4, "crc64nvme": 8}


class Hash(Protocol):
    """A running digest."""

    def update(self, chunk: bytes, /) -> object:
        """Take the next bytes."""

    def hexdigest(self) -> str:
        """Lower-case hex of what was taken so far, big endian."""


def computable(algorithm: str) -> bool:
    """Whether :func:`new_hash` can compute a digest of this algorithm."""
    if algorithm in STRONG_ALGORITHMS or algorithm in _PLAIN_WEAK:
        return True
    return algorithm in _CRC_BYTES and find_spec("awscrt") is not None


def new_hash(algorithm: str) -> Hash:
    """A hash by its name in a manifest; the weak ones are damage checks, not for security.

    :raises LastingTrouble: when this release cannot compute it.
    """
    if algorithm in STRONG_ALGORITHMS:
        return hashlib.new(algorithm)
    if algorithm in _PLAIN_WEAK:
        return hashlib.new(algorithm, usedforsecurity=False)
    if computable(algorithm):
        return _Crc(algorithm)
    raise LastingTrouble(show(algorithm), "this release cannot compute that digest")


class _Crc:
    """A cyclic check of the AWS runtime library, which the S3 extra brings."""

    def __init__(self, algorithm: str) -> None:
        from awscrt import checksums  # noqa: PLC0415 - part of an extra

        self._function: Any = getattr(checksums, algorithm)
        self._bytes = _CRC_BYTES[algorithm]
        self._value = 0

    def update(self, chunk: bytes, /) -> None:
        self._value = self._function(chunk, self._value)

    def hexdigest(self) -> str:
        return int(self._value).to_bytes(self._bytes, "big").hex()
