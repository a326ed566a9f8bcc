"""The format ``bagit``: bags of the versions 0.93 to 0.97, and of 1.0 (RFC 8493).

The marker is ``bagit.txt``. With it are read the bag's labels (``bag-info.txt``, in bags up to 0.95
``package-info.txt``), all manifests and tag manifests, and ``fetch.txt``. Labels fill placeholders
(``{/External-Identifier}``, of a repeated label ``{/Contact-Name/0}``), their lines can be searched.

What has to hold, beside the rules for one file:

- ``Payload-Oxum`` counts the files of the manifests and, once they all lie there, the bytes under ``data/``;
- every file under ``data/`` is listed: in 1.0 in every manifest and once, before in any of them;
- each digest of a tag manifest is that of the document as read. Other tag files become files of the
  delivery, verified with the payload;
- what ``fetch.txt`` names is listed too. It is never fetched: while it is absent the bag is incomplete;
- a bag without payload says ``Payload-Oxum: 0.0``, so that emptiness is meant.

Digests are those that can be computed here; a manifest of another algorithm could not be verified, and the
bag is refused. A bag's marker is not its last file: let bags arrive by rename, or with a tag manifest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._bag import MANIFEST_NAME, Bag
from ._declared import check_declared, subject_of
from ._documents import check_documents, make_marker, name_of, unreadable
from ._formats import Format, Listed
from ._identity import identity_of_documents, identity_of_listing
from ._marker import Marker
from ._report import Report

__all__ = ["BAGIT"]

_EXAMPLE = (
    '{"dataset": "scans", "interval": "{/Bagging-Date}", "timezone": "UTC", '
    '"path": r"/v(?P<version>[0-9]+)/bagit.txt$", "version": "{version}"}'
)
_TAG_FILES = ("bagit.txt", "bag-info.txt", "package-info.txt", "fetch.txt")


def _check(declared: Mapping[str, str]) -> None:
    check_declared(declared, example=_EXAMPLE)


def _documents(uri: str, listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    beside = [name for name in listing if name in _TAG_FILES or MANIFEST_NAME.fullmatch(name)]
    return list(dict.fromkeys((name_of(uri), *beside)))


def _read(documents: Mapping[str, bytes], listing: Sequence[Listed], declared: Mapping[str, str]) -> Marker:
    report = Report()
    bag = Bag(documents, listing, report)
    readable = check_documents(documents, needed=("bagit.txt",), report=report) and bag.read()
    subject = subject_of(declared, report=report, fields=bag.labels, text=bag.info) if readable else None
    if report.total:
        # With the listing: while more of a bag arrives, this is not the same unreadable bag.
        seen = {**documents, "listing": identity_of_listing(listing).encode()}
        raise unreadable(documents, report=report, identity=identity_of_documents(seen))
    files = [file.to_entry() for files in (bag.payload, bag.tags) for file in files.all()]
    return make_marker(documents, subject=subject, files=files, report=report)


BAGIT = Format(
    name="bagit",
    documents=_documents,
    read=_read,
    check=_check,
    default_name="bagit.txt",
    listing="tree",
)
"""Bags."""
