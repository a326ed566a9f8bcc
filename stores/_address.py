"""Addresses: where a marker or a file lies, and how people write that."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote_to_bytes

from airflow_landmark.markers import DEFAULT_NAME, UnsafePath, check_path, show

from ._access import Access
from ._address_remote import BadUri, split_http, split_s3
from ._errors import InvalidAddress

__all__ = ["Address", "parse_uri", "schemes"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Address:
    """One name in one folder of one store.

    :param scheme: which kind of store, such as ``"file"``.
    :param authority: which one of that kind: a bucket, an origin; empty for local files.
    :param folder: the delivery's folder, as the Dag's author named it: trusted. In a bucket it is the
        verbatim start of the keys and on an HTTP origin the path as it is sent, each with its last slash.
    :param name: relative to the folder, ``/`` between parts, from a manifest or a pattern: not trusted.
        Empty for the folder itself.
    :param access: how the store is reached; ``None`` for the environment's settings. Two addresses are
        equal when they name the same place.
    """

    scheme: str
    authority: str
    folder: str
    name: str
    access: Access | None = field(default=None, compare=False, repr=False)

    @property
    def uri(self) -> str:
        """The address as people write it: a plain path for local files."""
        if self.scheme == "file":
            return self.path
        if self.scheme == "s3":
            return f"s3://{self.authority}/{self.path}"
        return f"{self.scheme}://{self.authority}{self.folder}{quote(self.name, safe='/')}"

    @property
    def path(self) -> str:
        """Folder and name: a local path, or the key in a bucket."""
        return posixpath.join(self.folder, self.name)

    def at(self, name: str) -> Address:
        """Another name in the same folder.

        :raises UnsafePath: when the name could leave the folder.
        """
        return replace(self, name=check_path(name))

    def __str__(self) -> str:
        return self.uri


def parse_uri(uri: str, *, folder: bool = False, access: Access | None = None) -> Address:
    """The address that a URI or an absolute path names.

    A trailing slash names a folder: its marker is then the one with the default name.

    :param folder: the URI names a folder, with or without a trailing slash; the name stays empty.
    :param access: how the store is reached.
    :raises InvalidAddress: when it names no place that this release can reach.
    """
    if not isinstance(uri, str) or not uri:
        raise InvalidAddress(show(uri), "a URI must be text: an absolute path, s3://... or https://...")
    _check_characters(uri, uri)
    scheme = _SCHEME.match(uri)
    if scheme is None:
        return _local(uri, uri, folder=folder)
    parser = _PARSERS.get(scheme[1].lower())
    if parser is None:
        known = ", ".join(schemes())
        text = f"no store for {scheme[1][:20]}: (known: absolute paths, {known})"
        raise InvalidAddress(_without_secrets(uri), text)
    address = parser(uri, folder)
    return address if access is None else replace(address, access=access)


def schemes() -> list[str]:
    """The URI schemes of the stores of this release."""
    return sorted(_PARSERS)


def _check_characters(text: str, shown: str) -> None:
    if _CONTROL.search(text):
        raise InvalidAddress(_without_secrets(shown), "a place must not hold control characters")
    if _SURROGATE.search(text):
        raise InvalidAddress(_without_secrets(shown), "a place must not hold lone surrogates")


def _file_uri(uri: str, folder: bool) -> Address:
    after = uri.partition(":")[2]
    host, path = re.fullmatch(r"(?://([^/?#]*))?(.*)", after).groups()  # type: ignore[union-attr]
    if host not in (None, "", "localhost"):
        raise InvalidAddress(_without_secrets(uri), "a file URI has no host: write file:///path")
    if "?" in path or "#" in path:
        text = "a file URI has no query or fragment: write ? as %3F and # as %23"
        raise InvalidAddress(_without_secrets(uri), text)
    try:
        path = unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidAddress(_without_secrets(uri), "the percent-encoded path is not UTF-8") from None
    _check_characters(path, uri)
    return _local(path, uri, folder=folder)


def _local(path: str, shown: str, *, folder: bool) -> Address:
    if not path.startswith("/"):
        text = "a local path must be absolute: workers have no common folder"
        raise InvalidAddress(_without_secrets(shown), text)
    if ".." in path.split("/") or "." in path.split("/"):
        text = "a local path must not hold . or .. as a part: write where it leads"
        raise InvalidAddress(_without_secrets(shown), text)
    if folder:
        return Address("file", "", posixpath.normpath("/" + path.lstrip("/")), "")
    if path.endswith("/"):
        path += DEFAULT_NAME
    directory, name = posixpath.split(posixpath.normpath("/" + path.lstrip("/")))
    try:
        return Address("file", "", directory, check_path(name))
    except UnsafePath as error:
        raise InvalidAddress(_without_secrets(shown), error.reason) from None


def _s3(uri: str, folder: bool) -> Address:
    try:
        bucket, key = split_s3(uri)
    except BadUri as error:
        raise InvalidAddress(_without_secrets(uri), str(error)) from None
    if folder:
        return Address("s3", bucket, f"{key}/" if key and not key.endswith("/") else key, "")
    before, slash, name = key.rpartition("/")
    return _named(Address("s3", bucket, before + slash, ""), name, uri)


def _http(uri: str, folder: bool) -> Address:
    try:
        scheme, authority, path, name = split_http(uri)
    except BadUri as error:
        raise InvalidAddress(_without_secrets(uri), str(error)) from None
    if folder:
        return Address(scheme, authority, f"{path}{quote(name, safe='')}/" if name else path, "")
    return _named(Address(scheme, authority, path, ""), name, uri)


def _named(folder: Address, name: str, uri: str) -> Address:
    try:
        return folder.at(name or DEFAULT_NAME)
    except UnsafePath as error:
        raise InvalidAddress(_without_secrets(uri), error.reason) from None


def _without_secrets(uri: str) -> str:
    """A URI for a message: without user, password, query."""
    scheme = _SCHEME.match(uri)
    if scheme is None:
        return show(uri)
    place, *query = re.split(r"[?#]", uri, maxsplit=1)
    if "@" in "".join(query):  # then the mark may belong to a password
        return show(f"{scheme[0]}//***")
    return show(re.sub(r"//.*@", "//***@", place, flags=re.DOTALL))


_PARSERS: dict[str, Callable[[str, bool], Address]] = {
    "file": _file_uri,
    "http": _http,
    "https": _http,
    "s3": _s3,
}
