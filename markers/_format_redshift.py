"""Redshift's manifests: those that COPY takes and those that UNLOAD writes, with or without VERBOSE.

``entries`` name files by full S3 URLs. These are taken verbatim, and only below the places that ``allow``
names. Every entry is promised, whatever its ``mandatory`` says: COPY passes over a file that is missing and
not mandatory without a word, which is how half a delivery gets loaded. Sizes and counts of records are held
against the files, and against the document's own totals when it has them. Further keys, such as ``schema``,
are passed over; all fields fill placeholders: ``{/author/name}``.

==================  ===============================================================================
``allow``           required: places with spaces between, such as ``s3://bucket/out/``
``header_rows``     ``1`` after UNLOAD with HEADER; its count of records leaves the header out
``data_delimiter``  ``|`` is UNLOAD's own; needed to count rows of text files
``media_type``      for files whose name does not tell, such as ``application/x-ndjson``
``allow_empty``     ``true``: a manifest without entries is a delivery too
==================  ===============================================================================

The forms: "Using a manifest to specify data files" and "UNLOAD" in the Amazon Redshift developer guide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._data_shape import DataShape
from ._declared import SUBJECT, check_declared, subject_of
from ._documents import check_documents, make_marker, name_of, unreadable
from ._errors import InvalidDeclaration
from ._fields import Fields
from ._formats import Format, Listed
from ._manifest import FileEntry, Manifest
from ._marker import MAX_FILES, Marker
from ._options import check_choice, wants
from ._placeholders import is_open
from ._problems import show
from ._report import Report
from ._s3_urls import AllowedUrls

__all__ = ["REDSHIFT"]

_EXAMPLE = (
    '{"allow": "s3://bucket/out/", "path": r"/out/(?P<day>[0-9-]+)/manifest$", "dataset": "orders", '
    '"interval": "{day}", "timezone": "UTC", "version": "1"}'
)
_OPTIONS = ("allow", "allow_empty", "data_delimiter", "header_rows", "media_type")


def _check(declared: Mapping[str, str]) -> None:
    required = (*SUBJECT, "allow")
    check_declared(declared, example=_EXAMPLE, required=required, options=_OPTIONS, has_lines=False)
    check_choice(declared, "allow_empty")
    DataShape.of(declared)
    if not is_open(declared["allow"]):
        AllowedUrls(declared["allow"].split(), report=Report())


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return (name_of(uri),)


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    own = name_of(declared["uri"])
    readable = check_documents(documents, needed=[own], report=report)
    top = Fields.load(documents[own], report=report) if readable else None
    if top is None:
        raise unreadable(documents, report=report)
    files = _files(top, declared, report)
    subject = subject_of(declared, report=report, fields=top.raw)
    return make_marker(documents, subject=subject, files=files, report=report)


def _files(top: Fields, declared: Mapping[str, str], report: Report) -> list[FileEntry]:
    top.check_keys(required={"entries"}, known=top.raw.keys())
    entries = top.items("entries") or []
    if not entries and "entries" in top.raw and not wants(declared, "allow_empty"):
        expected = 'at least one entry; or declare "allow_empty": "true"'
        report.add("empty", place="entries", expected=expected, found="none")
    if len(entries) > MAX_FILES:
        found = f"{len(entries)} entries"
        report.add("too large", place="entries", expected=f"at most {MAX_FILES} entries", found=found)
        return []
    try:
        allowed = AllowedUrls(declared["allow"].split(), report=report)
    except InvalidDeclaration as error:  # a template that was rendered to it
        report.add("undeclared", place="allow", expected="places", found=show(str(error), limit=150))
        return []
    shape = DataShape.of(declared)
    read = [
        _entry(raw, place=f"entries[{index}]", allowed=allowed, shape=shape, report=report)
        for index, raw in enumerate(entries)
    ]
    files = [file for file in read if file is not None]
    _check_totals(top, Manifest.of(tuple(files)), report)
    return files


def _entry(
    raw: Any, *, place: str, allowed: AllowedUrls, shape: DataShape, report: Report
) -> FileEntry | None:
    """One entry; without its path when that is refused and reported."""
    fields = Fields.of(raw, place=place, report=report)
    if fields is None:
        return None
    fields.check_keys(required={"url"}, known=fields.raw.keys())
    url, meta = fields.text("url"), fields.inner("meta")
    mandatory = fields.raw.get("mandatory", False)
    if not isinstance(mandatory, bool):
        fields.refuse("mandatory", kind="wrong type", expected="true or false", found=show(mandatory))
    path = None if url is None else allowed.take(url, place=f"{place}.url")
    return FileEntry(
        path or "",
        size=None if meta is None else meta.whole("content_length"),
        rows=None if meta is None else meta.whole("record_count"),
        header_rows=shape.header_rows,
        media_type=shape.media_type,
        delimiter=shape.delimiter,
        url=url,
    )


def _check_totals(top: Fields, manifest: Manifest, report: Report) -> None:
    """Hold the document's totals against its entries, once these are right."""
    meta = top.inner("meta")
    if meta is None:
        return
    for key, total in (("content_length", manifest.size_bytes), ("record_count", manifest.rows)):
        told = meta.whole(key)
        if told is not None and total is not None and told != total and not report.total:
            meta.refuse(key, kind="wrong totals", expected=f"the entries' sum, {total}", found=str(told))


REDSHIFT = Format("redshift", documents=_documents, read=_read, check=_check, default_name="manifest")
"""The manifests of Amazon Redshift's COPY and UNLOAD."""
