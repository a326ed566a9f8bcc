"""Digests that a server vouches for: the field Repr-Digest (RFC 9530), a dictionary of RFC 8941."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping

__all__ = ["WANTED", "repr_digests"]

WANTED = ("want-repr-digest", "sha-256=10, sha-512=5")
"""The header that asks for them."""

_ALGORITHMS = {"sha-256": ("sha256", 32), "sha-512": ("sha512", 64)}
"""Name in the field to name in a manifest, and bytes; the field's other algorithms prove nothing."""

_MAX_CHARS = 4096
_KEY = r"[a-z*][a-z0-9_.*-]*"
_BARE = (
    r"(?::[A-Za-z0-9+/=]*:"  # bytes
    r'|"(?:[ !#-\[\]-~]|\\["\\])*"'  # a string
    r"|\?[01]"  # true or false
    r"|-?[0-9]{1,15}(?:\.[0-9]{1,3})?"  # a number
    r"|[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*)"  # a token
)
_PARAMETERS = rf"(?:;[ ]*{_KEY}(?:={_BARE})?)*"
_ITEM = rf"{_BARE}{_PARAMETERS}"
_LIST = rf"\([ ]*(?:{_ITEM}(?:[ ]+{_ITEM})*[ ]*)?\){_PARAMETERS}"
_MEMBER = re.compile(rf"(?P<key>{_KEY})(?:=(?:(?P<bare>{_BARE}){_PARAMETERS}|{_LIST})|{_PARAMETERS})")
_BETWEEN = re.compile(r"[ \t]*,[ \t]*")


def repr_digests(field: str | None) -> Mapping[str, str]:
    """The digests in the field: algorithm, as a manifest names it, to lower-case hex.

    :param field: the header's value; ``None`` when it did not come.
    :returns: nothing at all when the field is malformed: what is half understood proves nothing.
    """
    members = _members((field or "").strip(" "))
    found = {}
    for name, (algorithm, size) in _ALGORITHMS.items():
        digest = _bytes(members.get(name))
        if digest is not None and len(digest) == size:
            found[algorithm] = digest.hex()
    return found


def _members(field: str) -> dict[str, str]:
    """Key to bare item of a dictionary; of a key that comes twice the last one counts."""
    members: dict[str, str] = {}
    at = 0
    if not field or len(field) > _MAX_CHARS:
        return {}
    while match := _MEMBER.match(field, at):
        members[match["key"]] = match["bare"] or ""
        if match.end() == len(field):
            return members
        comma = _BETWEEN.match(field, match.end())
        if comma is None:
            return {}
        at = comma.end()
    return {}


def _bytes(item: str | None) -> bytes | None:
    if not item or not item.startswith(":"):
        return None
    try:
        return b64decode(item[1:-1], validate=True)
    except binascii.Error:
        return None
