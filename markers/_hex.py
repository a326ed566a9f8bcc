"""Digests as other tools write them: names of algorithms, hex in any case, base64."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping

from ._manifest import STRONG_ALGORITHMS, WEAK_ALGORITHMS
from ._problems import show
from ._report import Report

__all__ = ["HASHES", "LENGTHS", "algorithm_of", "digest_of", "read_base64", "read_hex"]

LENGTHS: Mapping[str, int] = {**STRONG_ALGORITHMS, **WEAK_ALGORITHMS}
"""Digest algorithms, with the length of their hex."""

HASHES = ("sha256", "sha384", "sha512", "blake2b", "md5", "sha1")
"""Those that every Python computes."""

_NAMES: Mapping[str, str] = {
    **{name: name for name in LENGTHS},
    "sha-1": "sha1",
    **{f"sha{prefix}{bits}": f"sha{bits}" for prefix in ("-", "2-", "2") for bits in (256, 384, 512)},
    **dict.fromkeys(("blake2b-512", "blake2b512"), "blake2b"),
    "crc-32c": "crc32c",
    "crc-64nvme": "crc64nvme",
}
_HEX = re.compile(r"[0-9a-fA-F]+", re.ASCII)


def algorithm_of(name: str) -> str | None:
    """The algorithm that a tool names: ``SHA256``, ``SHA2-256``, ``BLAKE2b``; ``None`` for an unknown one."""
    return _NAMES.get(name.lower())


def digest_of(data: bytes, algorithm: str) -> str:
    """The digest in hex, of an algorithm among ``HASHES``."""
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def read_hex(text: str, algorithm: str, *, place: str, report: Report) -> str | None:
    """The digest in lower case; ``None`` when it is no hex of the algorithm's length."""
    if len(text) == LENGTHS[algorithm] and _HEX.fullmatch(text):
        return text.lower()
    expected = f"{LENGTHS[algorithm]} hex digits of {algorithm}"
    report.add("invalid digest", place=place, expected=expected, found=show(text))
    return None


def read_base64(text: str, algorithm: str, *, place: str, report: Report) -> str | None:
    """The digest as hex; ``None`` when it is no base64 of the algorithm's length.

    Letters keep their case, which tells values apart here, and padding has to be there.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    # Bits that the padding leaves over must be zero: one digest, one spelling.
    if len(data) * 2 == LENGTHS[algorithm] and base64.b64encode(data).decode() == text:
        return data.hex()
    expected = f"base64 of {LENGTHS[algorithm] // 2} bytes of {algorithm}"
    report.add("invalid digest", place=place, expected=expected, found=show(text))
    return None
