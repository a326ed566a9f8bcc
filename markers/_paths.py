"""Paths of manifests: refused, never repaired."""

from __future__ import annotations

import re
import unicodedata

from ._errors import UnsafePath

__all__ = ["MAX_PATH_BYTES", "check_path", "path_key"]

MAX_PATH_BYTES = 1024
"""The longest path in UTF-8 bytes: the limit of an S3 key."""

_MAX_PART_BYTES = 255  # the limit of one name on common file systems
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029]")
_PLAIN = re.compile(
    r"(?:[A-Za-z0-9_=+@,~ -][A-Za-z0-9._=+@,~ -]{0,199}/)*[A-Za-z0-9_=+@,~ -][A-Za-z0-9._=+@,~ -]{0,199}"
)
_DRIVE_OR_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_path(path: str) -> str:
    """The same path, when it stays below the delivery's folder on every store.

    :raises UnsafePath: naming the rule that it breaks.
    """
    if len(path) <= MAX_PATH_BYTES and _PLAIN.fullmatch(path):  # most paths need no closer look
        return path
    reason = _reason(path)
    if reason:
        raise UnsafePath(path, reason)
    return path


def path_key(path: str) -> str:
    """The key under which two paths are one file on some file system: NFC, then casefold."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _reason(path: str) -> str | None:
    try:
        data = path.encode("utf-8")
    except UnicodeEncodeError:
        return "it holds a lone surrogate"
    if not path:
        return "it is empty"
    if len(data) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    return _reason_of_text(path) or _reason_of_parts(path.split("/"))


def _reason_of_text(path: str) -> str | None:
    if "\\" in path:
        return "it holds a backslash"
    if _FORBIDDEN.search(path):
        return "it holds a control character"
    if path.startswith("/"):
        return "it is absolute"
    if _DRIVE_OR_SCHEME.match(path):
        return "it starts with a drive or a scheme"
    if path.endswith("/"):
        return "it ends with a slash"
    return None


def _reason_of_parts(parts: list[str]) -> str | None:
    if "" in parts:
        return "it has an empty part"
    if "." in parts or ".." in parts:
        return "it has a part that is . or .."
    if any(len(part.encode("utf-8")) > _MAX_PART_BYTES for part in parts):
        return f"it has a part longer than {_MAX_PART_BYTES} bytes"
    return None
