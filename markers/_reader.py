"""Reads a marker document, version ``landmark/1``: strictly, and with all problems in one report.

The kinds of problems: ``empty``, ``encoding``, ``too large``, ``too deep``, ``syntax``, ``repeated key``,
``refused number``, ``wrong type``, ``missing key``, ``unknown key``, ``out of range``, ``invalid text``,
``invalid instant``, ``invalid interval``, ``invalid path``, ``repeated path``, ``invalid digest``,
``wrong totals``.
"""

from __future__ import annotations

import re
from typing import Any

from ._errors import InvalidInterval, UnreadableMarker
from ._fields import Fields, check_extensions
from ._files import read_manifest
from ._identity import identity_of_document
from ._interval import Interval
from ._json import load_json
from ._judge import DATASET_PATTERN
from ._manifest import Manifest
from ._marker import SPEC, STATUSES, Marker
from ._report import Report

__all__ = ["read_document", "read_marker"]

_REQUIRED = frozenset({"spec", "dataset", "interval", "version", "files"})
_KNOWN = _REQUIRED | {"status", "created_at", "producer", "totals", "extensions"}
_INTERVAL_REQUIRED = frozenset({"start", "end"})
_INTERVAL_KNOWN = _INTERVAL_REQUIRED | {"timezone", "label"}
_TOTALS = ("files", "bytes", "rows")

_SPEC = re.compile(re.escape(SPEC))
_DATASET = re.compile(DATASET_PATTERN)
_STATUS = re.compile("|".join(STATUSES))
_TIMEZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(?:/[A-Za-z0-9_+-]{1,31}){0,3}")


def read_marker(data: bytes, *, name: str | None = None) -> Marker:
    """The marker that these bytes are. Pure: whatever the bytes, a marker or one kind of error.

    :param data: the document: UTF-8 JSON, with or without a byte-order mark, any line ends.
    :param name: the marker's own file name, relative to the delivery's folder; a file of this name is
        refused. ``None`` leaves this check out.
    :raises UnreadableMarker: with all problems, capped.
    """
    report = Report()
    identity = identity_of_document(data)
    document = load_json(data, report=report)
    # A repeated key or a refused number leaves a document that can still be looked through.
    searchable = document is not None or not report.total
    marker = read_document(document, identity=identity, name=name, report=report) if searchable else None
    if marker is None or report.total:
        raise UnreadableMarker(report.problems, total=report.total, identity=identity, size=len(data))
    return marker


def read_document(document: Any, *, identity: str, name: str | None, report: Report) -> Marker | None:
    """The marker that a parsed document is; of no use when the report has grown."""
    top = Fields.of(document, place="", report=report)
    if top is None:
        return None
    top.check_keys(required=_REQUIRED, known=_KNOWN)
    top.matching("spec", pattern=_SPEC, expected=f"exactly {SPEC}")
    dataset = top.matching("dataset", pattern=_DATASET, expected="1 to 200 of A-Z a-z 0-9 . _ / -")
    version = top.whole("version", least=1)
    status = top.matching("status", pattern=_STATUS, expected=" or ".join(STATUSES))
    top.instant("created_at")
    producer = top.line("producer")
    interval, timezone, label = _read_interval(top)
    manifest = _read_files(top, name=name)
    extensions = top.inner("extensions")
    if extensions:
        check_extensions(extensions.raw, place="extensions", report=report)
    if dataset is None or version is None or interval is None:
        return None
    return Marker(
        dataset=dataset,
        interval=interval,
        version=version,
        manifest=manifest,
        identity=identity,
        status=status or STATUSES[0],
        created_at=top.raw.get("created_at"),
        producer=producer,
        timezone=timezone,
        label=label,
        extensions=extensions.raw if extensions else {},
    )


def _read_interval(top: Fields) -> tuple[Interval | None, str | None, str | None]:
    fields = top.inner("interval")
    if fields is None:
        return None, None, None
    fields.check_keys(required=_INTERVAL_REQUIRED, known=_INTERVAL_KNOWN)
    timezone = fields.matching("timezone", pattern=_TIMEZONE, expected="an IANA name such as Europe/Berlin")
    label = fields.line("label")
    start, end = fields.instant("start"), fields.instant("end")
    if start is None or end is None:
        return None, timezone, label
    try:
        return Interval(start, end), timezone, label
    except InvalidInterval as error:
        top.refuse("interval", kind="invalid interval", expected="an end after the start", found=str(error))
        return None, timezone, label


def _read_files(top: Fields, *, name: str | None) -> Manifest:
    before = top.report.total
    files = top.items("files")
    manifest = read_manifest(files or [], name=name, report=top.report)
    sound = files is not None and top.report.total == before
    totals = top.inner("totals")
    if totals is not None:
        _check_totals(totals, manifest if sound else None)
    if sound and not manifest.files and (totals is None or "files" not in totals.raw):
        expected = "totals.files, 0, since an empty list of files must be meant"
        top.refuse("totals", kind="missing key", expected=expected, found="none")
    return manifest


def _check_totals(totals: Fields, manifest: Manifest | None) -> None:
    """``None`` for the manifest when its sums cannot be relied on."""
    totals.check_keys(required=frozenset(), known=frozenset(_TOTALS))
    sums = manifest.counts() if manifest else {}
    for key in _TOTALS:
        given, actual = totals.whole(key), sums.get(key)
        if given is not None and actual is not None and given != actual:
            totals.refuse(
                key, kind="wrong totals", expected=f"{actual}, as the files add up", found=str(given)
            )
