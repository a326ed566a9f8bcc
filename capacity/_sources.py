"""What a task waits for, read from its arguments: tasks that wait for one thing are late together. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

__all__ = ["source_of"]

_LONGEST = 120
_DEFAULTS = frozenset({"aws_default", "http_default", "fs_default", "google_cloud_default", "sftp_default"})
_PATH_FIELDS = ("filepath", "path", "file_path", "remote_path")
_BUCKETS = {"bucket_name": "s3", "bucket": "gs"}


def source_of(arguments: Mapping[str, Any]) -> str | None:
    """A name for what is waited for, coarse on purpose: a Dag, a bucket, a host, a root folder, a connection.

    :param arguments: the operator's arguments as a serialized Dag has them, templates unrendered.
    :return: None when nothing tells.
    """
    upstream = _text(arguments.get("external_dag_id") or arguments.get("trigger_dag_id"))
    if upstream:
        return f"dag:{upstream}"[:_LONGEST]
    found = _from_uri(arguments) or _from_bucket(arguments) or _from_connection(arguments)
    found = found or _from_path(arguments)
    return found[:_LONGEST] if found else None


def _from_uri(arguments: Mapping[str, Any]) -> str | None:
    for name in ("uri", "bucket_key", "url", "endpoint"):
        text = _text(arguments.get(name))
        if text and "://" in text:
            return _place(text)
    return None


def _place(uri: str) -> str | None:
    """Scheme and host of a URI, and of a bucket its first folder too."""
    try:
        parts = urlsplit(uri)
        host = parts.hostname  # neither user nor password
    except ValueError:
        return None
    if parts.scheme == "file":
        return _root(parts.path)
    first = next((one for one in parts.path.split("/")[:-1] if one), "")
    folder = f"/{first}" if first and "{" not in first and not parts.scheme.startswith("http") else ""
    return f"{parts.scheme}://{host or ''}{folder}"


def _from_bucket(arguments: Mapping[str, Any]) -> str | None:
    found = next(((name, text) for name in _BUCKETS if (text := _text(arguments.get(name)))), None)
    if found is None:
        return None
    scheme, bucket = _BUCKETS[found[0]], found[1]
    key = _text(arguments.get("bucket_key") or arguments.get("object") or arguments.get("prefix")) or ""
    first, slash, _ = key.partition("/")
    return f"{scheme}://{bucket}/{first}" if slash and "{" not in first else f"{scheme}://{bucket}"


def _from_connection(arguments: Mapping[str, Any]) -> str | None:
    for name, value in sorted(arguments.items()):
        text = _text(value)
        if name.endswith("conn_id") and text and (text not in _DEFAULTS or name == "http_conn_id"):
            return f"conn:{text}"
    return None


def _from_path(arguments: Mapping[str, Any]) -> str | None:
    for name in _PATH_FIELDS:
        text = _text(arguments.get(name))
        if text and text.startswith("/"):
            return _root(text)
    return None


def _root(path: str) -> str:
    """The first two folders of a path, as far as they are no templates."""
    parts = [part for part in path.split("/")[:-1] if part][:2]
    kept = parts[: next((index for index, part in enumerate(parts) if "{" in part), len(parts))]
    return f"file:/{'/'.join(kept)}"


def _text(value: Any) -> str | None:
    """A plain text, or the first one of a list."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value if isinstance(value, str) and value else None
