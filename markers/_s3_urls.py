"""Files named by full S3 URLs: only below the places that the Dag allows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ._errors import InvalidDeclaration, UnsafePath
from ._paths import check_path
from ._problems import show
from ._report import Report

__all__ = ["AllowedUrls", "split_url"]

_URL = re.compile(r"s3://([A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9])/(.*)", re.ASCII | re.DOTALL)
_MAX_PLACES = 64


def split_url(url: str) -> tuple[str, str] | None:
    """Bucket and key of ``s3://bucket/key``, the key verbatim; ``None`` for any other text."""
    match = _URL.fullmatch(url)
    return None if match is None else (match[1], match[2])


class AllowedUrls:
    """Takes in the URLs of a document, one by one.

    :param places: ``s3://bucket/`` or ``s3://bucket/prefix/``, each allowing what lies below it:
        ``s3://b/in`` means the folder ``in/`` and allows no ``s3://b/input``.
    :param report: takes what is wrong.
    :raises InvalidDeclaration: when a place is none, or there is none.
    """

    def __init__(self, places: Iterable[str], *, report: Report) -> None:
        self._report = report
        self._places = tuple(_place(text) for text in places)
        self._urls: dict[str, str] = {}
        if not 1 <= len(self._places) <= _MAX_PLACES:
            raise InvalidDeclaration(
                f"allow must name 1 to {_MAX_PLACES} places, such as s3://bucket/prefix/"
            )

    def take(self, url: str, *, place: str) -> str | None:
        """The readable path ``bucket/key`` of one more URL; ``None`` when it is refused and reported.

        Percent and plus signs are part of the key: S3 URLs in manifests are not encoded.

        :param place: of the URL in the document.
        """
        path = self._path(url, place)
        if path is None:
            return None
        if not url.startswith(self._places):
            expected = f"a place below {show(', '.join(self._places), limit=120)}"
            self._report.add("not allowed", place=place, expected=expected, found=show(url))
            return None
        first = self._urls.setdefault(url, place)
        if first != place:
            found = f"the same as {first}: {show(url)}"
            self._report.add("repeated path", place=place, expected="a file of its own", found=found)
            return None
        return path

    def _path(self, url: str, place: str) -> str | None:
        parts = split_url(url)
        if parts is None:
            expected = "s3://bucket/key, in full"
            self._report.add("invalid path", place=place, expected=expected, found=show(url))
            return None
        try:
            check_path(parts[1])  # by itself first: the bucket must not lend an empty key its slash
            return check_path("/".join(parts))
        except UnsafePath as error:
            found = f"{show(url)}: {error.reason}"
            self._report.add("invalid path", place=place, expected="a plain key", found=found)
            return None


def _place(text: str) -> str:
    parts = split_url(text if text.endswith("/") else f"{text}/")
    try:
        if parts is not None and (not parts[1] or check_path(parts[1][:-1])):
            return f"s3://{parts[0]}/{parts[1]}"
    except UnsafePath as error:
        raise InvalidDeclaration(f"allow: {show(text)} is no place: {error.reason}") from None
    raise InvalidDeclaration(f"allow must name places such as s3://bucket/prefix/, not {show(text)}")
