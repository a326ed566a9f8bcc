"""A bag while it is read: its documents held against each other. ``_format_bagit`` lists the rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ._bag_lines import BagKind, Labels, read_bag_fetch, read_bag_info, read_bag_kind, read_bag_manifest
from ._documents import as_text
from ._formats import Listed
from ._hex import HASHES, algorithm_of, digest_of
from ._listed_files import ListedFiles
from ._paths import path_key
from ._problems import show
from ._report import Report

__all__ = ["MANIFEST_NAME", "Bag"]

MANIFEST_NAME = re.compile(r"(tag)?manifest-([A-Za-z0-9_-]{1,40})\.txt", re.ASCII)
"""Names of manifests, and of tag manifests."""

_OXUM = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})", re.ASCII)
_PAYLOAD = "data/"


class Bag:
    """A bag while it is read.

    :ivar labels: of the bag; empty until they are read.
    :ivar info: the text that holds them; ``None`` when there is none.
    :ivar payload: the files under ``data/``.
    :ivar tags: tag files that are no documents of the format.
    """

    def __init__(self, documents: Mapping[str, bytes], listing: Sequence[Listed], report: Report) -> None:
        self.labels = Labels()
        self.info: str | None = None
        self.payload = ListedFiles(documents=(), report=report)
        self.tags = ListedFiles(documents=(), report=report)
        self._documents = documents
        self._report = report
        self._there = {
            name: size for name, size, _ in listing if name.startswith(_PAYLOAD) and not name.endswith("/")
        }

    def read(self) -> bool:
        """Read all documents and hold them against each other; whether ``bagit.txt`` says how."""
        kind = read_bag_kind(self._documents["bagit.txt"], report=self._report)
        if kind is None:
            return False
        self.info = self._text(kind.info_name, kind)
        if self.info is not None:
            self.labels = read_bag_info(self.info, name=kind.info_name, report=self._report)
        manifests = self._read_manifests(kind)
        self._check_agreement(manifests, kind)
        self._check_fetch(manifests, kind)
        self._read_tag_manifests(kind)
        self._check_listing()
        self._check_oxum()
        return True

    def _text(self, name: str, kind: BagKind) -> str | None:
        data = self._documents.get(name)
        return (
            None if data is None else as_text(data, place=name, report=self._report, encoding=kind.encoding)
        )

    def _lines(
        self, kind: BagKind, *, tag: bool
    ) -> Iterator[tuple[str, str, Iterator[tuple[str, str, str]]]]:
        """Name, algorithm and lines of each manifest, or of each tag manifest."""
        for name in sorted(self._documents):
            match = MANIFEST_NAME.fullmatch(name)
            if match is None or bool(match[1]) != tag:
                continue
            algorithm = algorithm_of(match[2])
            if algorithm not in HASHES:
                expected = f"an algorithm that can be verified, one of {', '.join(HASHES)}"
                self._report.add("invalid digest", place=name, expected=expected, found=match[2])
                continue
            text = self._text(name, kind)
            if text is not None:
                yield (
                    name,
                    algorithm,
                    read_bag_manifest(text, name=name, algorithm=algorithm, kind=kind, report=self._report),
                )

    def _read_manifests(self, kind: BagKind) -> dict[str, set[str]]:
        """The paths that each manifest lists."""
        manifests: dict[str, set[str]] = {}
        for name, algorithm, lines in self._lines(kind, tag=False):
            listed = manifests.setdefault(name, set())
            for place, path, digest in lines:
                file = self.payload.take(path, place=place)
                if file is None:
                    continue
                if not path.startswith(_PAYLOAD):
                    self._refuse_path(place, path, "a path under data/")
                if path in listed and kind.strict:
                    self._report.add(
                        "repeated path", place=place, expected="each file once", found=show(path)
                    )
                listed.add(path)
                self.payload.tell_digest(file, algorithm, digest, place=place)
        self.payload.check_folders()
        if not manifests and not any(_is_manifest(name) for name in self._documents):
            expected = "at least one payload manifest"
            self._report.add("missing", place="manifest-sha512.txt", expected=expected, found="none")
        return manifests

    def _check_agreement(self, manifests: Mapping[str, set[str]], kind: BagKind) -> None:
        """In 1.0 every manifest lists every file; before, one of them is enough."""
        for name, listed in manifests.items():
            for file in self.payload.all():
                if kind.strict and file.path not in listed:
                    expected = f"a line for {show(file.path)}, as in {file.place}"
                    self._report.add("missing", place=name, expected=expected, found="none")

    def _check_fetch(self, manifests: Mapping[str, set[str]], kind: BagKind) -> None:
        listed: set[str] = set().union(*manifests.values())
        text = self._text("fetch.txt", kind)
        for place, path in () if text is None else read_bag_fetch(text, kind=kind, report=self._report):
            if path not in listed:
                self._refuse_path(place, path, "a path that a manifest lists")

    def _read_tag_manifests(self, kind: BagKind) -> None:
        for _, algorithm, lines in self._lines(kind, tag=True):
            for place, path, digest in lines:
                data = self._documents.get(path)
                if path.startswith((_PAYLOAD, "tagmanifest-")):
                    self._refuse_path(place, path, "a tag file, and no tag manifest")
                elif data is not None:
                    self._check_tag(path, data, algorithm, digest)
                elif (file := self.tags.take(path, place=place)) is not None:
                    self.tags.tell_digest(file, algorithm, digest, place=place)
        self.tags.check_folders()

    def _check_tag(self, path: str, data: bytes, algorithm: str, digest: str) -> None:
        actual = digest_of(data, algorithm)
        if actual != digest:
            found = f"{algorithm} {actual}"
            self._report.add("corrupt", place=path, expected=f"{algorithm} {digest}", found=found)

    def _check_listing(self) -> None:
        missing = {path_key(path) for path in self._missing()}
        listed = {file.path for file in self.payload.all()}
        for path in sorted(self._there.keys() - listed):
            if path_key(path) not in missing:  # else a file system that spells a listed name in its own way
                expected = "only files that a manifest lists"
                self._report.add("unexpected", place=show(path)[1:-1], expected=expected, found="a file")

    def _missing(self) -> list[str]:
        return [file.path for file in self.payload.all() if file.path not in self._there]

    def _check_oxum(self) -> None:
        told = self.labels.get("Payload-Oxum")
        match = _OXUM.fullmatch(told) if isinstance(told, str) else None
        count, there = len(self.payload.all()), sum(self._there.values())
        if told is not None and match is None:
            self._refuse_oxum("OCTETS.FILES, once", show(told))
        elif match is not None and int(match[2]) != count:
            self._refuse_oxum(f"{count} files, as the manifests list", f"{int(match[2])} files")
        elif match is not None and int(match[1]) != there and not self._missing():
            self._refuse_oxum(f"{there} bytes, as lie under data/", f"{int(match[1])} bytes")
        elif match is None and not count and not self._report.total:
            self._refuse_oxum("0.0, where an empty bag is meant", "none")

    def _refuse_oxum(self, expected: str, found: str) -> None:
        self._report.add("wrong totals", place="Payload-Oxum", expected=expected, found=found)

    def _refuse_path(self, place: str, path: str, expected: str) -> None:
        self._report.add("invalid path", place=place, expected=expected, found=show(path))


def _is_manifest(name: str) -> bool:
    match = MANIFEST_NAME.fullmatch(name)
    return match is not None and not match[1]
