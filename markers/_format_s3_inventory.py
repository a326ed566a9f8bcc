"""S3 Inventory: ``manifest.json`` with the list of files, and ``manifest.checksum``, which comes last.

The marker is ``manifest.checksum``: the MD5 of ``manifest.json`` in hex. Both are overwritten now and then,
and are therefore read as a pair, which has to fit. Data files lie in the destination bucket, under ``key``;
their ``MD5checksum`` shows damage only.

Data files are taken below the places that ``allow`` names. Without it: below the folder above the marker's
own, in the same bucket, which is ``destination-prefix/source-bucket/config-ID/`` where S3 writes.

Fields fill placeholders: ``{/creationTimestamp}`` (milliseconds since 1970) only grows, so that it can be
the version.

===============  ==================================================================================
``allow``        places with spaces between, such as ``s3://bucket/inventory/``
``keys``         ``encoded`` (default): keys are URL-encoded, as S3 writes keys in its lists, ``+`` for
                 a space; ``verbatim``: they are not. Both are the same for the names S3 itself makes
===============  ==================================================================================

The form: "Locating your inventory list" in the Amazon S3 user guide.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus

from ._declared import check_declared, subject_of
from ._documents import as_text, check_documents, make_marker, name_of, unreadable
from ._errors import InvalidDeclaration
from ._fields import Fields
from ._formats import Format, Listed
from ._hex import read_hex
from ._manifest import FileEntry
from ._marker import MAX_FILES, Marker
from ._options import check_choice
from ._placeholders import is_open
from ._problems import show
from ._report import Report
from ._s3_urls import AllowedUrls, split_url

__all__ = ["S3_INVENTORY"]

_MANIFEST = "manifest.json"
_EXAMPLE = (
    '{"path": r"/(?P<day>[0-9-]{10})T[0-9-]+Z/manifest.checksum$", "dataset": "inventory", '
    '"interval": "{day}", "timezone": "UTC", "version": "{/creationTimestamp}"}'
)
_ARN = re.compile(r"arn:aws[a-z-]{0,20}:s3:::([A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9])", re.ASCII)
_MEDIA_TYPES = {"CSV": "text/csv", "ORC": None, "Parquet": "application/vnd.apache.parquet"}
_FORMAT = re.compile("|".join(_MEDIA_TYPES))
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_REQUIRED = frozenset({"destinationBucket", "fileFormat", "files"})


def _check(declared: Mapping[str, str]) -> None:
    check_declared(declared, example=_EXAMPLE, options=("allow", "keys"), has_lines=False)
    check_choice(declared, "keys", ("encoded", "verbatim"))
    allow = declared.get("allow")
    if allow is not None and not is_open(allow):
        AllowedUrls(allow.split(), report=Report())


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return name_of(uri), _MANIFEST


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    own = name_of(declared["uri"])
    if not check_documents(documents, needed=[own, _MANIFEST], report=report):
        raise unreadable(documents, report=report)
    top = Fields.load(documents[_MANIFEST], report=report)
    _check_pair(documents[own], documents[_MANIFEST], place=show(own)[1:-1], report=report)
    if top is None:
        raise unreadable(documents, report=report)
    files = _files(top, declared, report)
    subject = subject_of(declared, report=report, fields=top.raw)
    return make_marker(documents, subject=subject, files=files, report=report)


def _check_pair(checksum: bytes, manifest: bytes, *, place: str, report: Report) -> None:
    text = as_text(checksum, place=place, report=report)
    expected = None if text is None else read_hex(text.strip(), "md5", place=place, report=report)
    found = hashlib.md5(manifest, usedforsecurity=False).hexdigest()
    if expected is not None and found != expected:
        report.add("corrupt", place=_MANIFEST, expected=f"md5 {expected}", found=f"md5 {found}")


def _files(top: Fields, declared: Mapping[str, str], report: Report) -> list[FileEntry]:
    top.check_keys(required=_REQUIRED, known=top.raw.keys())
    arn = top.matching("destinationBucket", pattern=_ARN, expected="arn:aws:s3:::bucket")
    written = top.matching("fileFormat", pattern=_FORMAT, expected=f"one of {', '.join(_MEDIA_TYPES)}")
    files = top.items("files") or []
    if not files and "files" in top.raw:
        report.add("empty", place="files", expected="at least one file", found="none")
    if len(files) > MAX_FILES:
        found = f"{len(files)} files"
        report.add("too large", place="files", expected=f"at most {MAX_FILES} files", found=found)
        return []
    allowed = _allowed(declared, report)
    bucket = None if arn is None else arn.rpartition(":")[2]
    if allowed is None or bucket is None or written is None:
        return []
    reader = _Entries(bucket, _MEDIA_TYPES[written], allowed, report, declared.get("keys") == "verbatim")
    return [entry for index, raw in enumerate(files) if (entry := reader.read(raw, f"files[{index}]"))]


def _allowed(declared: Mapping[str, str], report: Report) -> AllowedUrls | None:
    try:
        if "allow" in declared:
            return AllowedUrls(declared["allow"].split(), report=report)
        bucket, key = split_url(declared["uri"]) or ("", "")
        above = key.split("/")[:-2]
        if above:
            return AllowedUrls([f"s3://{bucket}/{'/'.join(above)}/"], report=report)
        expected = "the places of the data files: declare allow, such as s3://bucket/inventory/"
        report.add("undeclared", place="allow", expected=expected, found="no folder above the marker's")
    except InvalidDeclaration as error:
        report.add("undeclared", place="allow", expected="places", found=show(str(error), limit=150))
    return None


class _Entries:
    """Reads the objects under ``files``."""

    def __init__(
        self, bucket: str, media_type: str | None, allowed: AllowedUrls, report: Report, verbatim: bool
    ) -> None:
        self._bucket = bucket
        self._media_type = media_type
        self._allowed = allowed
        self._report = report
        self._verbatim = verbatim

    def read(self, raw: Any, place: str) -> FileEntry | None:
        """One entry; ``None`` when it is refused and reported."""
        fields = Fields.of(raw, place=place, report=self._report)
        if fields is None:
            return None
        fields.check_keys(required={"key", "size", "MD5checksum"}, known=fields.raw.keys())
        md5, key = fields.text("MD5checksum"), self._key(fields)
        digest = md5 and read_hex(md5, "md5", place=f"{place}.MD5checksum", report=self._report)
        url = f"s3://{self._bucket}/{key}"
        path = None if key is None else self._allowed.take(url, place=f"{place}.key")
        size = fields.whole("size")
        if path is None or not digest:
            return None
        return FileEntry(path, size=size, digests={"md5": digest}, media_type=self._media_type, url=url)

    def _key(self, fields: Fields) -> str | None:
        key = fields.text("key")
        if key is None or self._verbatim:
            return key
        try:
            if not _BAD_ESCAPE.search(key):
                return unquote_plus(key, errors="strict")
        except UnicodeDecodeError:
            pass
        expected = 'a URL-encoded key; or declare "keys": "verbatim"'
        fields.refuse("key", kind="invalid path", expected=expected, found=show(key))
        return None


S3_INVENTORY = Format(
    "s3-inventory", documents=_documents, read=_read, check=_check, default_name="manifest.checksum"
)
"""The list of an S3 Inventory, once its checksum is there."""
