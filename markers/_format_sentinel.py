"""A sentinel: a file such as ``_SUCCESS``, ``.done``, ``.ok`` or ``.trg`` that says: all is there.

It lists nothing, so the delivery is what lies beside it and below at the moment it is seen: every file but
the sentinel itself and hidden names (see ``is_hidden``), or, with ``files``, those that a pattern matches.
Each has the path and size of the listing and no digest. A folder that is written to after its sentinel is
therefore another delivery: the identity covers the listing, and the sentinel's own state.

The body may be empty or any text, which ``line`` can search. One that begins with ``{`` must be strict JSON
with ``success`` absent or ``true``; its fields fill placeholders such as ``{/run/id}``.

===============  ==================================================================================
``files``        shell patterns with spaces between: ``*.csv``, ``part-?.parquet``, ``dt=*/**``;
                 each must match a file. ``?`` also matches a space.
``success``      a field of the body and the text that stands for success: ``/status=ok``
``allow_empty``  ``true``: a sentinel without any file is a delivery too
===============  ==================================================================================
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any

from ._declared import check_declared, subject_of
from ._documents import as_text, check_documents, make_marker, name_of
from ._errors import InvalidDeclaration
from ._formats import Format, Listed
from ._glob import Glob, is_hidden
from ._identity import identity_of_document, identity_of_listing
from ._json import load_json
from ._listed_files import ListedFiles
from ._manifest import FileEntry
from ._marker import Marker
from ._options import check_choice, wants
from ._placeholders import field_of, is_open
from ._problems import show
from ._report import Report

__all__ = ["SENTINEL"]

_EXAMPLE = (
    '{"path": r"/dt=(?P<day>[0-9-]+)/_SUCCESS$", "dataset": "orders", "interval": "{day}", '
    '"timezone": "UTC", "version": "1"}'
)
_BLANKS = b" \t\r\n"


def _check(declared: Mapping[str, str]) -> None:
    check_declared(declared, example=_EXAMPLE, options=("allow_empty", "files", "success"))
    check_choice(declared, "allow_empty")
    if not is_open(declared.get("files", "")):
        _globs(declared)
    success = declared.get("success")
    if success is not None and not (success.startswith("/") and "=" in success):
        raise InvalidDeclaration(f"success must be a field and its text: /status=ok, not {show(success)}")


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return (name_of(uri),)


def _read(documents: Mapping[str, bytes], listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    own = name_of(declared["uri"])
    data = documents.get(own, b"")
    fields = text = subject = None
    if check_documents(documents, needed=[own], report=report):
        fields = _fields(data, declared, report)
        text = as_text(data, place="", report=report) if "line" in declared else None
    if not report.total:
        subject = subject_of(declared, report=report, fields=fields, text=text)
    counted = _counted(listing, own, declared, report)
    # The sentinel's own state belongs to what was seen: one that is written again announces again.
    sentinel = next((found for found in listing if found[0] == own), None)
    sentinel = sentinel or (own, len(data), identity_of_document(data))
    return make_marker(
        documents,
        subject=subject,
        files=[FileEntry(name, size) for name, size, _ in counted],
        report=report,
        identity=identity_of_listing([*counted, sentinel]),
    )


def _fields(data: bytes, declared: Mapping[str, str], report: Report) -> Any:
    """The body as JSON; ``None`` when it is other text. One that tells of failure is reported."""
    before = report.total
    body = data.removeprefix(codecs.BOM_UTF8).lstrip(_BLANKS)
    fields = load_json(data, report=report) if body.startswith(b"{") else None
    if report.total > before:
        return None
    pointer, _, wanted = declared.get("success", "").partition("=")
    found = field_of(fields, pointer) if pointer else wanted
    if found != wanted:
        told = "no such field" if found is None else show(found)
        report.add("no success", place=show(pointer)[1:-1], expected=show(wanted), found=told)
    if fields is not None and fields.get("success", True) is not True:
        report.add("no success", place="success", expected="true", found=show(fields["success"]))
    return fields


def _counted(
    listing: Sequence[Listed], own: str, declared: Mapping[str, str], report: Report
) -> list[Listed]:
    """What the sentinel stands for, by name."""
    try:
        globs = _globs(declared)
    except InvalidDeclaration as error:  # a template that was rendered to it
        report.add("undeclared", place="files", expected="shell patterns", found=show(str(error), limit=150))
        return []
    there = [found for found in sorted(listing) if found[0] != own and not found[0].endswith("/")]
    if globs:
        counted = [found for found in there if any(glob.matches(found[0]) for glob in globs)]
    else:
        counted = [found for found in there if not any(map(is_hidden, found[0].split("/")))]
    if not wants(declared, "allow_empty"):
        _check_some(counted, globs, report)
    files = ListedFiles(documents=[own], report=report)
    return [found for found in counted if files.take(found[0], place=show(found[0])[1:-1])]


def _check_some(counted: Sequence[Listed], globs: Sequence[Glob], report: Report) -> None:
    if not counted:
        expected = 'at least one file beside the sentinel; or declare "allow_empty": "true"'
        report.add("empty", place="files", expected=expected, found="none")
        return
    for glob in globs:
        if not any(glob.matches(name) for name, _, _ in counted):
            report.add("empty", place="files", expected=f"a file for {show(glob.pattern)}", found="none")


def _globs(declared: Mapping[str, str]) -> list[Glob]:
    """The patterns; none when they are not declared.

    :raises InvalidDeclaration: when one could match nothing.
    """
    files = declared.get("files")
    if files is None:
        return []
    try:
        globs = [Glob(pattern) for pattern in files.split()]
    except ValueError as error:
        raise InvalidDeclaration(f"files: {error}; found {show(files)}") from None
    if not globs:
        raise InvalidDeclaration("files must name at least one pattern, such as *.csv")
    return globs


SENTINEL = Format(
    "sentinel", documents=_documents, read=_read, check=_check, default_name="_SUCCESS", listing="tree"
)
"""A file whose existence says that all the others are there."""
