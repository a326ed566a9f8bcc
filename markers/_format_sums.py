r"""The format ``sums``: what ``sha256sum``, ``md5``, ``openssl dgst`` and the BSD ports write.

Forms of a line, in any mixture::

    HEX  name          HEX *name          HEX name                GNU coreutils, md5 -r
    \HEX  escaped name                                            GNU: \\, \n and \r in the name
    SHA256 (name) = HEX                   SHA256 (name) = BASE64  BSD tags, distinfo
    SHA256(name)= HEX                     SHA2-256(name)= HEX     OpenSSL 1 and 3
    SIZE (name) = 123                     TIMESTAMP = 123         distinfo
    name HEX                                                      where the name is not hex itself

Lines that start with ``#`` and lines of blanks are left out. Hex is folded to lower case, base64 is not.
Names are relative to the list's folder, with or without ``./`` before them. A file may be listed again,
with another algorithm or with the very same digest; another digest is a contradiction.

=====================  ===========================================================================
``algorithm``          of the lines that do not name theirs: it is never guessed from a length;
                       every file needs a digest of it, whatever else is told
``complete``           what tells that the list is whole: ``rename`` (it arrives by rename, or as one
                       object) or ``sidecar`` (a document written after it holds its digest)
``sidecar``            that document's name, such as ``{name}.sha256``: bare hex, or one line as above
``sidecar_algorithm``  of bare hex there; without it ``algorithm``
``allow_empty``        ``true``: a list of no files is a delivery too
``itself``             ``ignore``: a line on the list itself, which no list can get right, is left out
=====================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ._declared import SUBJECT, check_declared, subject_of
from ._documents import as_text, check_documents, make_marker, name_of, numbered_lines, unreadable
from ._errors import InvalidDeclaration, UnsafePath
from ._formats import Format, Listed
from ._hex import HASHES, LENGTHS, digest_of, read_hex
from ._listed_files import ListedFiles
from ._marker import Marker
from ._options import check_choice, wants
from ._paths import check_path
from ._placeholders import is_open
from ._problems import show
from ._report import Report
from ._sum_lines import SumLine, read_sum_line

__all__ = ["SUMS"]

_EXAMPLE = (
    '{"algorithm": "sha256", "complete": "rename", "path": r"/(?P<day>[0-9-]{10})/SHA256SUMS$", '
    '"dataset": "orders", "interval": "{day}", "timezone": "UTC", "version": "1"}'
)
_OPTIONS = ("algorithm", "allow_empty", "complete", "itself", "sidecar", "sidecar_algorithm")


def _check(declared: Mapping[str, str]) -> None:
    needed = (*SUBJECT, "complete")
    check_declared(declared, example=_EXAMPLE, required=needed, options=_OPTIONS, has_fields=False)
    check_choice(declared, "algorithm", LENGTHS)
    check_choice(declared, "sidecar_algorithm", HASHES)
    check_choice(declared, "complete", ("rename", "sidecar"))
    check_choice(declared, "allow_empty", ("true", "false"))
    check_choice(declared, "itself", ("refuse", "ignore"))
    beside = declared.get("sidecar")
    if (declared["complete"] == "sidecar") != (beside is not None):
        raise InvalidDeclaration(
            'complete "sidecar" and the name of the sidecar go together, such as "sidecar": "{name}.sha256"'
        )
    if beside is not None and not is_open(beside):
        _check_sidecar(beside)


def _check_sidecar(text: str) -> None:
    name = _sidecar_name(text, "x")
    try:
        check_path(name)
    except UnsafePath as error:
        raise InvalidDeclaration(f"sidecar {show(text)}: {error.reason}") from None
    if name == "x" or "{" in name or "}" in name:
        raise InvalidDeclaration(
            f"sidecar must be another file than the list, such as {{name}}.sha256, not {show(text)}"
        )


def _sidecar_name(text: str, name: str) -> str:
    return text.replace("{name}", name)


def _documents(uri: str, _listing: Sequence[str], declared: Mapping[str, str]) -> Sequence[str]:
    name = name_of(uri)
    return (name, _sidecar_name(declared["sidecar"], name)) if "sidecar" in declared else (name,)


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    name, *beside = _documents(declared["uri"], (), declared)
    if not check_documents(documents, needed=(name,), report=report):
        raise unreadable(documents, report=report)
    text = as_text(documents[name], place="", report=report)
    files = ListedFiles(documents=(name, *beside), report=report)
    if text is not None:
        _read_lines(text, files, name=name, declared=declared, report=report)
    for sidecar in beside:
        _check_against(documents.get(sidecar), documents[name], (sidecar, name), declared, report)
    subject = None if text is None else subject_of(declared, report=report, text=text)
    entries = (file.to_entry() for file in files.all())
    return make_marker(documents, subject=subject, files=entries, report=report)


def _read_lines(
    text: str, files: ListedFiles, *, name: str, declared: Mapping[str, str], report: Report
) -> None:
    default = declared.get("algorithm")
    own = name if declared.get("itself") == "ignore" else None
    for place, line in _sum_lines(text, default, report=report):
        file = None if line.path == own else files.take(line.path, place=place)
        if file is not None and line.size is not None:
            files.tell_size(file, line.size, place=place)
        elif file is not None:
            files.tell_digest(file, line.algorithm, line.digest, place=place)
    files.check_folders()
    for file in files.all():
        if not file.digests or (default is not None and default not in file.digests):
            expected = f"a digest{f' of {default}' if default else ''} for {show(file.path)}"
            report.add("missing digest", place=file.place, expected=expected, found="none")
    if not files.all() and not report.total and not wants(declared, "allow_empty"):
        expected = 'files, or "allow_empty": "true" where an empty list is meant'
        report.add("empty", place="document", expected=expected, found="a list of no files")


def _sum_lines(text: str, default: str | None, *, report: Report) -> Iterator[tuple[str, SumLine]]:
    """The lines that tell of a file, with their places."""
    for number, raw in numbered_lines(text):
        place = f"line {number}"
        line = read_sum_line(raw, default, place=place, report=report)
        if line is not None:
            yield place, line


def _check_against(
    data: bytes | None, covered: bytes, names: tuple[str, str], declared: Mapping[str, str], report: Report
) -> None:
    """Report what keeps the sidecar from covering the list: it is not there yet, or tells of other bytes."""
    sidecar, name = names
    place = show(sidecar)[1:-1]
    if data is None:
        expected = "the digest of the list, written after it"
        report.add("incomplete", place=place, expected=expected, found="nothing")
        return
    algorithm = declared.get("sidecar_algorithm", declared.get("algorithm"))
    told = _told_of(data, name, algorithm, place=place, report=report)
    if told is None:
        return
    algorithm, digest = told
    if algorithm not in HASHES:
        found = f"one of {algorithm}"
        report.add("invalid digest", place=place, expected=f"one of {', '.join(HASHES)}", found=found)
        return
    actual = digest_of(covered, algorithm)
    if actual != digest:
        found = f"{algorithm} {digest} of another list, or of one that is still being written"
        report.add("incomplete", place=place, expected=f"{algorithm} {actual}, the list's", found=found)


def _told_of(
    data: bytes, name: str, algorithm: str | None, *, place: str, report: Report
) -> tuple[str, str] | None:
    """Algorithm and digest that a sidecar tells of the list; ``None`` when it is refused."""
    text = as_text(data, place=place, report=report)
    if text is None:
        return None
    lines = [line.strip() for _, line in numbered_lines(text) if not line.startswith("#")]
    if len(lines) != 1:
        report.add("syntax", place=place, expected="one line, the list's digest", found=f"{len(lines)} lines")
        return None
    if algorithm is not None and lines[0].isalnum():
        digest = read_hex(lines[0], algorithm, place=place, report=report)
        return None if digest is None else (algorithm, digest)
    line = read_sum_line(lines[0], algorithm, place=place, report=report)
    if line is None or line.size is not None or line.path.rpartition("/")[2] != name:
        expected = f"a digest of {show(name)}"
        report.add("syntax", place=place, expected=expected, found=show(lines[0]))
        return None
    return line.algorithm, line.digest


SUMS = Format(name="sums", documents=_documents, read=_read, check=_check, default_name="SHA256SUMS")
"""Lists of sums in the forms that the common tools write."""
