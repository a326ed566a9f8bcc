"""Collects the files that a list names, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ._errors import UnsafePath
from ._manifest import FileEntry
from ._marker import MAX_FILES
from ._paths import check_path, path_key
from ._problems import show
from ._report import Report

__all__ = ["ListedFile", "ListedFiles"]


@dataclass(slots=True)
class ListedFile:
    """What has been told of one file so far.

    :ivar path: relative to the delivery's folder, checked.
    :ivar place: where it was named first.
    :ivar digests: algorithm to lower-case hex.
    :ivar size: bytes; ``None`` while not told.
    """

    path: str
    place: str
    digests: dict[str, str] = field(default_factory=dict)
    size: int | None = None
    media_type: str | None = None

    def to_entry(self) -> FileEntry:
        """The entry of the manifest."""
        return FileEntry(self.path, size=self.size, digests=self.digests, media_type=self.media_type)


class ListedFiles:
    """Files by path: each its own file, none another's folder, none a document of the marker.

    A path may be named again, as a list of two algorithms does; what is then told of it must agree.

    :param documents: names that no file may have.
    """

    def __init__(self, *, documents: Iterable[str], report: Report) -> None:
        self._report = report
        self._documents = {_key(name) for name in documents}
        self._files: dict[str, ListedFile] = {}
        self._full = False

    def take(self, path: str, *, place: str) -> ListedFile | None:
        """The file of this path; ``None`` when the path is refused, or there are too many."""
        try:
            check_path(path)
        except UnsafePath as error:
            self._refuse("invalid path", place, "a path inside the delivery's folder", path, error.reason)
            return None
        key = _key(path)
        if key in self._documents:
            self._refuse(
                "invalid path", place, "a file of the delivery", path, "a document of the marker itself"
            )
            return None
        if key not in self._files and not self._has_room(place):
            return None
        known = self._files.setdefault(key, ListedFile(path, place))
        if known.path != path:
            why = f"on some file systems the same file as {known.place}"
            self._refuse("repeated path", place, "a file of its own", path, why)
            return None
        return known

    def tell_digest(self, file: ListedFile, algorithm: str, value: str, *, place: str) -> None:
        """Add a digest; another one of the same algorithm is a contradiction."""
        before = file.digests.setdefault(algorithm, value)
        if before != value:
            expected = f"the {algorithm} of {file.place}, {before}"
            self._report.add("contradiction", place=place, expected=expected, found=value)

    def tell_size(self, file: ListedFile, size: int, *, place: str) -> None:
        """Add the size in bytes; another one is a contradiction."""
        if file.size is None:
            file.size = size
        elif file.size != size:
            expected = f"{file.size} bytes, as told before"
            self._report.add("contradiction", place=place, expected=expected, found=f"{size} bytes")

    def all(self) -> list[ListedFile]:
        """All files, in the order of their first naming."""
        return list(self._files.values())

    def check_folders(self) -> None:
        """Report each file whose path is the folder of another."""
        above, owner = "", None
        for key in sorted(self._files):
            file = self._files[key]
            if owner is not None and key.startswith(above):
                found = f"{show(file.path)} below {show(owner.path)}"
                expected = "no file that is another file's folder"
                self._report.add("repeated path", place=file.place, expected=expected, found=found)
            else:
                above, owner = f"{key}\0", file

    def _has_room(self, place: str) -> bool:
        if len(self._files) < MAX_FILES:
            return True
        if not self._full:
            self._full = True
            self._report.add(
                "too large", place=place, expected=f"at most {MAX_FILES} files", found="one more"
            )
        return False

    def _refuse(self, kind: str, place: str, expected: str, path: str, reason: str) -> None:
        self._report.add(kind, place=place, expected=expected, found=f"{show(path)}: {reason}")


def _key(path: str) -> str:
    # NUL for the slash: no path holds it, and in order a folder's files follow at once on its name.
    return path_key(path).replace("/", "\0")
