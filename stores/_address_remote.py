"""How addresses in S3 buckets and on HTTP origins are written."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

__all__ = ["BadUri", "split_http", "split_s3"]

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]", re.ASCII)
_HOST = re.compile(r"([a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_-]{1,63})*\.?|\[[0-9a-f:.]{2,45}\])", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_KEY_BYTES = 1024
_MAX_URL_CHARS = 4096


class BadUri(ValueError):
    """Raised when a URI names no place; the text says why, without the URI."""


def split_s3(uri: str) -> tuple[str, str]:
    """Bucket and key, the key verbatim: nothing in it is decoded, repaired or left out.

    :raises BadUri: when it names none.
    """
    bucket, slash, key = uri.partition(":")[2].removeprefix("//").partition("/")
    if "//" not in uri[: len("s3://")] or not _BUCKET.fullmatch(bucket):
        raise BadUri("write s3://bucket/key, with the bucket's name")
    if len(key.encode()) > _MAX_KEY_BYTES:
        raise BadUri(f"a key has at most {_MAX_KEY_BYTES} bytes")
    if not {".", ".."}.isdisjoint(key.split("/")):
        raise BadUri("a key must not hold . or .. as a part: some servers resolve them")
    return bucket, key if slash else ""


def split_http(uri: str) -> tuple[str, str, str, str]:
    """Scheme, authority, the folder's path as it is sent (``/`` at both ends), and the decoded name.

    :raises BadUri: when it names none, or holds what must not be written readably.
    """
    scheme, _, rest = uri.partition(":")
    scheme = scheme.lower()
    if len(uri) > _MAX_URL_CHARS:
        raise BadUri(f"a URL has at most {_MAX_URL_CHARS} characters")
    if not rest.startswith("//"):
        raise BadUri(f"write {scheme}://host/path")
    if "?" in rest or "#" in rest:
        raise BadUri("a query would be stored readably: put it into the connection's extras, as query")
    authority, _, path = rest[2:].partition("/")
    return scheme, _authority(scheme, authority), *_path(path)


def _authority(scheme: str, authority: str) -> str:
    if "@" in authority:
        raise BadUri("user and password would be stored readably: put them into a connection")
    host, port = re.fullmatch(r"(\[[^]]*\]|[^:]*)(?::([0-9]{0,5}))?|.*", authority).groups()  # type: ignore[union-attr]
    try:
        host = (host or "").encode("ascii" if (host or "").isascii() else "idna").decode().lower()
    except UnicodeError:
        host = ""
    if not _HOST.fullmatch(host):
        raise BadUri("the host's name is none")
    if not port or int(port) == _DEFAULT_PORTS[scheme]:
        return host
    if not 1 <= int(port) <= 65_535:
        raise BadUri("the port is none")
    return f"{host}:{int(port)}"


def _path(path: str) -> tuple[str, str]:
    if _BAD_ESCAPE.search(path):
        raise BadUri("a percent sign is written %25")
    sent = quote(path, safe="/%~!$&'()*+,;=:@")
    folder, _, last = sent.rpartition("/")
    try:
        parts = [unquote_to_bytes(part).decode() for part in [*folder.split("/"), last]]
    except UnicodeDecodeError:
        raise BadUri("the percent-encoded path is not UTF-8") from None
    if not {".", ".."}.isdisjoint(parts):
        raise BadUri("a path must not hold . or .. as a part: write where it leads")
    return f"/{folder}/" if folder else "/", parts[-1]
