"""The format ``datapackage``: a Data Package (Frictionless, versions 1 and 2) with its ``datapackage.json``.

The files are those of the resources. A resource's ``bytes`` is the size of its file, its ``hash`` is
``ALGORITHM:HEX``, or the hex of an MD5 alone. Two resources of the same file have to agree on both.

- A resource of several paths has one ``hash`` and one ``bytes`` at most, of all its files together: neither
  proves any one of them, so that only their presence is verified.
- A resource with inline ``data`` has no file. URLs are refused: what is elsewhere did not arrive here.
- ``bytes``, ``hash`` and ``count_of_rows`` of the package itself are informative. Tools write them once and
  leave them when a resource is added; the resources' own are held against the files.

Nothing in the package tells that all has arrived, so ``complete`` has to say it: ``rename`` (it arrives by
rename, or as one object, after its files) or ``digest`` (``datapackage-digest.json``, written after it as
in WACZ, names the package and its digest; a signature there is not checked).

Fields of the package fill placeholders, such as ``{/version}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ._declared import SUBJECT, check_declared, subject_of
from ._documents import check_documents, make_marker, name_of, unreadable
from ._fields import Fields
from ._formats import Format, Listed
from ._hex import HASHES, LENGTHS, algorithm_of, digest_of, read_hex
from ._listed_files import ListedFiles
from ._marker import Marker
from ._options import check_choice
from ._problems import show
from ._report import Report, below

__all__ = ["DATAPACKAGE"]

_EXAMPLE = (
    '{"complete": "rename", "dataset": "prices", "interval": "{day}", "timezone": "UTC", '
    '"path": r"/(?P<day>[0-9-]{10})/datapackage.json$", "version": "{/version}"}'
)
_DIGEST = "datapackage-digest.json"
_HASH = re.compile(r"(?:([^:]{1,20}):)?([^:]+)")
_MEDIA_TYPE = re.compile(r"[a-z0-9.+-]{1,80}/[a-z0-9.+-]{1,80}", re.ASCII | re.IGNORECASE)


def _check(declared: Mapping[str, str]) -> None:
    needed = (*SUBJECT, "complete")
    check_declared(declared, example=_EXAMPLE, required=needed, options=("complete",), has_lines=False)
    check_choice(declared, "complete", ("rename", "digest"))


def _documents(uri: str, _listing: Sequence[str], declared: Mapping[str, str]) -> Sequence[str]:
    name = name_of(uri)
    return (name, _DIGEST) if declared["complete"] == "digest" else (name,)


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    name, *beside = _documents(declared["uri"], (), declared)
    if not check_documents(documents, needed=(name,), report=report):
        raise unreadable(documents, report=report)
    package = Fields.load(documents[name], report=report)
    files = ListedFiles(documents=(name, *beside), report=report)
    if package is not None:
        _read_resources(package, files)
    if beside:
        _check_digest(documents.get(_DIGEST), documents[name], name=name, report=report)
    subject = subject_of(declared, report=report, fields=package.raw) if package else None
    entries = (file.to_entry() for file in files.all())
    return make_marker(documents, subject=subject, files=entries, report=report)


def _read_resources(package: Fields, files: ListedFiles) -> None:
    resources = package.items("resources")
    if resources == [] or "resources" not in package.raw:
        package.refuse("resources", kind="empty", expected="at least one resource", found="none")
    for index, raw in enumerate(resources or ()):
        resource = Fields.of(raw, place=f"resources[{index}]", report=package.report)
        if resource is not None:
            _read_resource(resource, files)
    files.check_folders()


def _read_resource(resource: Fields, files: ListedFiles) -> None:
    has_path, has_data = "path" in resource.raw, "data" in resource.raw
    if has_path == has_data:
        found = "both" if has_path else "neither"
        resource.refuse("path", kind="missing key", expected="either path or data", found=found)
    if not has_path:
        return
    size, digest, media_type = resource.whole("bytes"), _read_hash(resource), _media_type(resource)
    paths = _paths(resource)
    for place, path in paths:
        file = files.take(path, place=place)
        if file is None:
            continue
        file.media_type = file.media_type or media_type
        if len(paths) > 1:
            continue
        if size is not None:
            files.tell_size(file, size, place=place)
        if digest is not None:
            files.tell_digest(file, *digest, place=place)


def _paths(resource: Fields) -> list[tuple[str, str]]:
    """(place, path) of each file of the resource."""
    value, place = resource.raw["path"], below(resource.place, "path")
    if isinstance(value, str):
        return [(place, value)]
    texts = value if isinstance(value, list) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        resource.refuse("path", kind="wrong type", expected="text, or a list of texts", found=show(value))
        return []
    return [(below(place, index), text) for index, text in enumerate(texts)]


def _read_hash(resource: Fields) -> tuple[str, str] | None:
    """Algorithm and hex; ``None`` when there is none, or it is refused."""
    value = resource.text("hash")
    if not value:  # the schema of version 1 lets it be empty
        return None
    return _split_hash(value, place=below(resource.place, "hash"), report=resource.report)


def _split_hash(value: str, *, place: str, report: Report) -> tuple[str, str] | None:
    match = _HASH.fullmatch(value)
    algorithm = None if match is None else algorithm_of(match[1] or "md5")
    if match is None or algorithm is None:
        expected = f"ALGORITHM:HEX of one of {', '.join(LENGTHS)}, or the hex of an MD5"
        report.add("invalid digest", place=place, expected=expected, found=show(value))
        return None
    digest = read_hex(match[2], algorithm, place=place, report=report)
    return None if digest is None else (algorithm, digest)


def _media_type(resource: Fields) -> str | None:
    """Informative: anything unusual is left out."""
    value = resource.raw.get("mediatype")
    return value if isinstance(value, str) and _MEDIA_TYPE.fullmatch(value) else None


def _check_digest(data: bytes | None, covered: bytes, *, name: str, report: Report) -> None:
    """Report what keeps the digest document from covering the package."""
    if data is None:
        expected = "the package's digest, written after it"
        report.add("incomplete", place=_DIGEST, expected=expected, found="nothing")
        return
    inner = Report()
    told = Fields.load(data, report=inner)
    path = told.text("path") if told else None
    value = told.text("hash") if told else None
    digest = _split_hash(value, place="hash", report=inner) if value else None
    for problem in inner.problems:
        place = f"{_DIGEST} {problem.place}"
        report.add(problem.kind, place=place, expected=problem.expected, found=problem.found)
    if inner.total:
        return
    if path != name or digest is None or digest[0] not in HASHES:
        expected = f'{{"path": {show(name)}, "hash": "sha256:HEX"}}'
        report.add("missing key", place=_DIGEST, expected=expected, found="another object")
        return
    actual = digest_of(covered, digest[0])
    if actual != digest[1]:
        found = f"{digest[0]} {digest[1]} of another package, or of one that is still being written"
        expected = f"{digest[0]} {actual}, the package's"
        report.add("incomplete", place=_DIGEST, expected=expected, found=found)


DATAPACKAGE = Format(
    name="datapackage",
    documents=_documents,
    read=_read,
    check=_check,
    default_name="datapackage.json",
)
"""Data Packages."""
