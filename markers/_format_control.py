r"""Control files beside the data (``control``), and trailer rows at its end (``trailer``).

``control``: a file such as ``orders.ctl`` names data files with their counts, sizes, sums or digests, in a
grammar that is declared (``_control_grammar``), in values whose meaning is declared (``_control_values``)::

    {"grammar": "key=value", "file": "{stem}.csv", "path": r"/(?P<stem>[^/]+)\.ctl$",
     "field.records": "RECCOUNT", "field.date": "BUSINESS_DATE", "date_format": "%Y%m%d",
     "dataset": "orders", "interval": "{/date}", "timezone": "UTC", "version": "{/SEQ}"}

``trailer``: the marker is the data file itself, which is complete once its last line is the trailer.
``trailer`` is a regular expression that has to be found in the last ``trailer_rows`` lines (default 1,
with a line feed between) that are not blank; only the end of the file is read for it. A trailer that may
be cut anywhere and still match is no proof: end the expression with what ends the trailer.

``file`` holds the data file's path where no value does, with placeholders. Values fill placeholders by their
names: ``{/SEQ}``. In a control file of several records such a value has to be the same in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ._control_grammar import GRAMMAR_OPTIONS, Record, check_grammar, names_of, read_records
from ._control_values import VALUE_OPTIONS, Meaning, check_values
from ._data_shape import DataShape
from ._declared import SUBJECT, check_declared, subject_of
from ._documents import as_text, check_documents, make_marker, name_of, unreadable
from ._errors import InvalidDeclaration
from ._formats import Format, Listed
from ._listed_files import ListedFiles
from ._manifest import FileEntry
from ._marker import Marker
from ._placeholders import fill_text, groups_of, is_open, values_of
from ._problems import show
from ._report import Report
from ._trailer import TAIL_BYTES, last_lines

__all__ = ["CONTROL", "TRAILER"]

_CONTROL_EXAMPLE = (
    '{"grammar": "key=value", "field.file": "FILE", "field.records": "COUNT", "dataset": "orders", '
    '"interval": "{/DATE}", "timezone": "UTC", "version": "{/SEQ}"}'
)
_TRAILER_EXAMPLE = (
    '{"trailer": "^TRL;(?P<DATE>[0-9-]{10});(?P<COUNT>[0-9]+)$", "field.records": "COUNT", '
    '"dataset": "orders", "interval": "{/DATE}", "timezone": "UTC", "version": "1"}'
)
_NAMED = re.compile(r"\{/([^{}]*)\}")
_FILLED = (*SUBJECT, "file")


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return (name_of(uri),)


def _check_control(declared: Mapping[str, str]) -> None:
    check_declared(
        declared,
        example=_CONTROL_EXAMPLE,
        required=(*SUBJECT, "grammar"),
        options=(*GRAMMAR_OPTIONS, *VALUE_OPTIONS, "file"),
        templates=("file",),
    )
    check_grammar(declared)
    names = names_of(declared)
    check_values(declared, names=names)
    _check_names(declared, names)
    if ("file" in declared) == ("field.file" in declared):
        raise InvalidDeclaration("declare the data file's path: either file, or field.file for a value")


def _check_names(declared: Mapping[str, str], names: Collection[str] | None) -> None:
    if names is None:
        return
    known = {*names, *(name for name in ("date", "sequence") if f"field.{name}" in declared)}
    for key in _FILLED:
        text = declared.get(key, "")
        for name in () if is_open(text) else _NAMED.findall(text):
            if name not in known:
                raise InvalidDeclaration(f"{key}: no value is named {show(name)}")


def _read_control(
    documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]
) -> Marker:
    report = Report()
    own = name_of(declared["uri"])
    readable = check_documents(documents, needed=[own], report=report)
    text = as_text(documents[own], place="", report=report) if readable else None
    records = [] if text is None else read_records(text, declared, report=report)
    if not records:
        raise unreadable(documents, report=report)
    meaning, first = Meaning(declared, report), records[0]
    fields = {**first.values, **meaning.derived(first)}
    _check_agreement(records, declared, report)
    subject = subject_of(declared, report=report, fields=fields, text=text)
    files = _files(records, meaning, own=own, text=text)
    return make_marker(documents, subject=subject, files=files, report=report)


def _check_agreement(records: Sequence[Record], declared: Mapping[str, str], report: Report) -> None:
    """Report where records differ in what the delivery is about."""
    used = {name for key in SUBJECT for name in _NAMED.findall(declared[key])}
    used = {declared.get(f"field.{name}", name) if name in ("date", "sequence") else name for name in used}
    first = records[0]
    for record in records[1:]:
        for name in used:
            value, expected = record.values.get(name, ""), first.values.get(name, "")
            if value != expected:
                told = f"{show(expected)}, as on line {first.line}"
                report.add("contradiction", place=record.place(name), expected=told, found=show(value))


def _files(records: Sequence[Record], meaning: Meaning, *, own: str, text: str | None) -> list[FileEntry]:
    declared, report = meaning.declared, meaning.report
    values = values_of(declared, report=Report(), text=text)  # reported with the subject
    shape = DataShape.of(declared)
    listed = ListedFiles(documents=[own], report=report)
    entries = []
    for record in records:
        if "file" in declared:
            path: str | None = fill_text("file", declared["file"], values, record.values, report)
        else:
            path = meaning.text(record, "file")
        place = record.place(declared.get("field.file", "file"))
        file = listed.take(path, place=place) if path is not None else None
        if file is not None and file.place != place:
            expected, found = "a file of its own", f"the file of {file.place}: {show(path)}"
            report.add("repeated path", place=place, expected=expected, found=found)
        entries.append(meaning.entry(record, path or "", shape))
    return entries


def _check_trailer(declared: Mapping[str, str]) -> None:
    check_declared(
        declared,
        example=_TRAILER_EXAMPLE,
        required=(*SUBJECT, "trailer"),
        options=(*(option for option in VALUE_OPTIONS if option != "field.file"), "trailer"),
    )
    names = frozenset(groups_of("trailer", declared["trailer"]))
    check_values(declared, names=names)
    _check_names(declared, names)
    if declared.get("trailer_rows") == "0":
        raise InvalidDeclaration("trailer_rows must be at least 1: the trailer is one of them")


def _read_trailer(
    documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]
) -> Marker:
    report = Report()
    own = name_of(declared["uri"])
    declared = {"trailer_rows": "1", **declared}
    rows = int(declared["trailer_rows"])
    readable = check_documents(documents, needed=[own], report=report)
    text = last_lines(documents[own], rows, report=report) if readable else None
    match = None if text is None else re.search(declared["trailer"], text)
    if match is None:
        if text is not None:
            expected = f"a trailer that matches {show(declared['trailer'])}"
            # What stands there instead may be data, which belongs in no log.
            report.add(
                "incomplete",
                place="last line",
                expected=expected,
                found=f"{len(text)} characters that do not",
            )
        raise unreadable(documents, report=report)
    record = Record({name: value for name, value in match.groupdict().items() if value is not None}, 0)
    meaning = Meaning(declared, report)
    fields = {**record.values, **meaning.derived(record)}
    subject = subject_of(declared, report=report, fields=fields, text=text)
    entry = meaning.entry(record, own, DataShape.of(declared))
    return make_marker(documents, subject=subject, files=[entry], report=report)


CONTROL = Format("control", documents=_documents, read=_read_control, check=_check_control, default_name="")
"""A control file beside the data files that it describes."""

TRAILER = Format(
    "trailer",
    documents=_documents,
    read=_read_trailer,
    check=_check_trailer,
    default_name="",
    tail_bytes=TAIL_BYTES,
)
"""A data file whose last rows describe it."""
