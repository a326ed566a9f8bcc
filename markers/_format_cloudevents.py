"""The format ``cloudevents``: a ``landmark/1`` marker as the data of a CloudEvents 1.0 event.

One event in structured mode (JSON): ``specversion`` is ``1.0``, ``id``, ``source`` and ``type`` are there,
``data`` is the marker, or ``data_base64`` its bytes. The marker tells everything, so that nothing is
declared, and it is read as strictly as one that stands alone. Further attributes of the event have names of
lower-case letters and digits, and simple values. Its ``id``, ``time`` and ``source`` decide nothing, but
the identity of what was seen is that of the whole event: the same marker in another event is another one.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ._documents import check_documents, identity_of, name_of, unreadable
from ._fields import Fields
from ._formats import Format, Listed
from ._json import load_json
from ._marker import Marker
from ._problems import show
from ._reader import read_document
from ._report import Report

__all__ = ["CLOUDEVENTS"]

_REQUIRED = ("specversion", "id", "source", "type")
_TEXTS = (*_REQUIRED[1:], "subject", "dataschema")
_DATA = ("data", "data_base64")
_NAME = re.compile(r"[a-z0-9]{1,100}", re.ASCII)
_SPEC = re.compile(r"1\.0")
_JSON = re.compile(
    r"(?:application/json|[a-z0-9.+-]+/[a-z0-9.-]+\+json)\s*(?:;.*)?", re.ASCII | re.IGNORECASE
)


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return (name_of(uri),)


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    name = name_of(declared["uri"])
    marker = None
    if check_documents(documents, needed=(name,), report=report):
        event = Fields.load(documents[name], report=report)
        if event is not None:
            marker = _read_event(event, name=name, identity=identity_of(documents))
    if marker is None or report.total:
        raise unreadable(documents, report=report)
    return marker


def _read_event(top: Fields, *, name: str, identity: str) -> Marker | None:
    _check_attributes(top)
    given = [key for key in _DATA if top.raw.get(key) is not None]
    if len(given) != 1:
        found = "both" if given else "neither"
        top.refuse("data", kind="missing key", expected="a marker in either data or data_base64", found=found)
        return None
    inner = Report()
    document = top.raw["data"] if given == ["data"] else _decoded(top, inner)
    marker = None
    if document is not None:
        marker = read_document(document, identity=identity, name=name, report=inner)
    _take_over(inner, given[0], top.report)
    return marker


def _check_attributes(top: Fields) -> None:
    for key in _REQUIRED:
        if top.raw.get(key) is None:
            top.refuse(key, kind="missing key", expected="this attribute", found="none")
    for key in top.raw:
        if key not in _DATA:
            _check_attribute(top, key)


def _check_attribute(top: Fields, key: str) -> None:
    value = top.raw[key]
    if not _NAME.fullmatch(key):
        expected = "a name of lower-case letters and digits"
        top.refuse(key, kind="unknown key", expected=expected, found="another name")
    elif value is None:
        return  # an attribute that is null is one that is absent
    elif key == "specversion":
        top.matching(key, pattern=_SPEC, expected="exactly 1.0")
    elif key in _TEXTS:
        if top.text(key) == "":
            top.refuse(key, kind="invalid text", expected="text that is not empty", found="none")
    elif key == "time":
        top.instant(key)
    elif key == "datacontenttype":
        top.matching(key, pattern=_JSON, expected="application/json")
    elif isinstance(value, (dict, list, float)):
        expected = "text, a whole number, true or false"
        top.refuse(key, kind="wrong type", expected=expected, found=show(value))


def _decoded(top: Fields, report: Report) -> Any:
    """The document under ``data_base64``; ``None`` when it is refused."""
    text = top.text("data_base64")
    if text is None:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        report.add("syntax", place="document", expected="base64", found="something else")
        return None
    return load_json(data, report=report)


def _take_over(inner: Report, key: str, report: Report) -> None:
    """Place the problems of the marker where it stands in the event."""
    for problem in inner.problems:
        place = key if problem.place == "document" else f"{key}.{problem.place}"
        report.add(problem.kind, place=place, expected=problem.expected, found=problem.found)
    report.total += inner.total - len(inner.problems)


CLOUDEVENTS = Format(name="cloudevents", documents=_documents, read=_read)
"""Markers in CloudEvents."""
