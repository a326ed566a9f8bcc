"""Acme's waybills as markers: which lines there are, and what they promise.

::

    WAYBILL;shop/orders;2024-10-01;3
    FILE;orders.csv;27;d08c8e34...64 hex digits
    END;1

The first line names dataset, day and version, ``END`` counts the files: a waybill without it is still being
written. The day is one of the time zone that the Dag declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_landmark.markers import (
    Format,
    InvalidDeclaration,
    Listed,
    ListedFiles,
    Marker,
    Report,
    as_text,
    check_documents,
    make_marker,
    name_of,
    numbered_lines,
    read_hex,
    show,
    subject_of,
    unreadable,
)

__all__ = ["WAYBILL"]

_LINE = r"^WAYBILL;(?P<dataset>[^;]+);(?P<day>[0-9-]{10});(?P<version>[0-9]+)$"
_SUBJECT = {"line": _LINE, "dataset": "{dataset}", "interval": "{day}", "version": "{version}"}
_MAX_DIGITS = 15


def _check(declared: Mapping[str, str]) -> None:
    """Called when the Dag is parsed."""
    if set(declared) != {"timezone"}:
        raise InvalidDeclaration('declare timezone and nothing else; for example {"timezone": "UTC"}')


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return (name_of(uri),)


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    name, report = name_of(declared["uri"]), Report()
    if not check_documents(documents, needed=[name], report=report):
        raise unreadable(documents, report=report)
    text = as_text(documents[name], place="", report=report)
    if text is None:
        raise unreadable(documents, report=report)
    files = ListedFiles(documents=[name], report=report)
    _read_lines(text, files, report)
    subject = subject_of({**declared, **_SUBJECT}, report=report, text=text)
    entries = (file.to_entry() for file in files.all())
    return make_marker(documents, subject=subject, files=entries, report=report)


def _read_lines(text: str, files: ListedFiles, report: Report) -> None:
    end = None
    for number, line in numbered_lines(text):
        match line.split(";"):
            case ["WAYBILL", _, _, _] if number == 1:
                pass
            case ["FILE", path, size, sha256] if end is None:
                _read_file(path, size, sha256, files, place=f"line {number}", report=report)
            case ["END", count] if end is None:
                end = count
            case _:
                expected = "WAYBILL;dataset;day;version, FILE;path;bytes;sha256 or END;files"
                report.add("syntax", place=f"line {number}", expected=expected, found=show(line))
    if end != str(len(files.all())):
        expected = f"END;{len(files.all())} as the last line"
        report.add("incomplete", place="END", expected=expected, found="none" if end is None else show(end))


def _read_file(path: str, size: str, sha256: str, files: ListedFiles, *, place: str, report: Report) -> None:
    file = files.take(path, place=place)  # refuses paths that leave the folder, and reports them
    digest = read_hex(sha256, "sha256", place=place, report=report)
    if not (size.isascii() and size.isdigit() and len(size) <= _MAX_DIGITS):
        report.add("wrong type", place=place, expected="a whole number of bytes", found=show(size))
    elif file is not None and digest is not None:
        files.tell_size(file, int(size), place=place)
        files.tell_digest(file, "sha256", digest, place=place)


WAYBILL = Format(name="waybill", documents=_documents, read=_read, check=_check, default_name="waybill.txt")
"""What the entry point names."""
