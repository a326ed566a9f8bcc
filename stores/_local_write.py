"""Blocking writes of local files: a temporary name in the same folder, fsync, rename, fsync of the folder."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO

from airflow_landmark.markers import UnsafePath, check_path

from ._address import Address
from ._errors import Changed, PassingTrouble, Refused, StoreError
from ._hashes import computable, new_hash
from ._local_files import look_at, open_folder, pin_of, sorted_error
from ._values import Facts, Sighting, Sink

__all__ = ["FileCopy", "put", "put_if_absent", "put_if_unchanged"]

_CHUNK_BYTES = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links answer, such as FAT and some network mounts."""
_NO_FOLDER_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.EOPNOTSUPP)
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def put(address: Address, data: bytes) -> Facts:
    """Write atomically, whatever lies there.

    :raises StoreError: sorted; nothing is left behind.
    """
    with _Temporary(address, [data]) as new:
        return new.rename()


def put_if_absent(address: Address, data: bytes) -> Facts:
    """Write atomically unless something lies there: ``link`` fails when the name exists.

    :raises Changed: when something lies there.
    """
    with _Temporary(address, [data]) as new:
        try:
            return new.link()
        except FileExistsError:
            raise Changed(address.uri, "something was written there meanwhile") from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        with _locked(address, new.folder):
            if new.taken():
                raise Changed(address.uri, "something was written there meanwhile")
            return new.rename()


def put_if_unchanged(address: Address, data: bytes, since: Sighting) -> Facts:
    """Replace what was seen. Writers of this package exclude each other by a lock on the folder.

    A disk knows no compare-and-rename: a foreign writer that replaces the file in the instant between
    comparison and rename is not seen.

    :raises Changed: when something else lies there, or nothing.
    """
    with _Temporary(address, [data]) as new, _locked(address, new.folder):
        there = look_at(address, None).sighting
        if there is None or there.sha256 != since.sha256:
            raise Changed(address.uri, "it was replaced or removed meanwhile")
        return new.rename()


class FileCopy:
    """One copy of an open file into a folder, in a worker thread; folders on the way are made.

    :ivar bytes_done: how far it is; another thread may read it to see whether the copy moves on.
    :ivar stopped: set it to end the copy at the next chunk.
    """

    def __init__(
        self,
        address: Address,
        source: BinaryIO,
        *,
        size: int,
        digests: Mapping[str, str],
        sinks: Sequence[Sink],
    ) -> None:
        self._address = address
        self._source = source
        self._size = size
        self._digests = digests
        self._hashes = {name: new_hash(name) for name in digests if computable(name)}
        self._sinks = sinks
        self.bytes_done = 0
        self.stopped = False
        self._outcome: Facts | BaseException | None = None

    def __call__(self) -> None:
        """Copy to the end, or until that fails; nothing is left behind then."""
        try:
            with _Temporary(self._address, self._chunks(), deep=True) as new:
                self._outcome = new.rename()
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self._outcome = error

    def result(self) -> Facts:
        """Size and pin of the copy.

        :raises StoreError: sorted; :class:`Changed` when the source gave other bytes than were promised.
        """
        if not isinstance(self._outcome, Facts):
            raise self._outcome or Changed(self._address.uri, "copying has not ended")
        return self._outcome

    def _chunks(self) -> Iterator[bytes]:
        while not self.stopped and (chunk := self._source.read(_CHUNK_BYTES)):
            for sink in (*self._hashes.values(), *self._sinks):
                sink.update(chunk)
            self.bytes_done += len(chunk)
            yield chunk
        if self.stopped:
            raise Changed(self._address.uri, "copying was stopped")
        found = {name: run.hexdigest() for name, run in self._hashes.items()}
        if self.bytes_done != self._size or any(found[name] != self._digests[name] for name in found):
            raise Changed(self._address.uri, "the source changed while it was copied")


class _Temporary:
    """A synced file under a temporary name in the address's folder; removed unless it got its name.

    :param chunks: what it holds.
    :param deep: the name may have folders, which are made.
    :ivar folder: descriptor of the folder.
    """

    def __init__(self, address: Address, chunks: Iterable[bytes], *, deep: bool = False) -> None:
        self._address = address
        self._chunks = chunks
        self._deep = deep
        self._last = address.name.rpartition("/")[2]
        self._name = f".{self._last[:100]}.{secrets.token_hex(8)}.tmp"
        self._file = -1
        self.folder = -1

    def __enter__(self) -> _Temporary:
        try:
            if "/" in check_path(self._address.name) and not self._deep:
                raise Refused(self._address.uri, "a marker lies directly in the delivery's folder")
        except UnsafePath as error:
            raise Refused(self._address.uri, error.reason) from None
        self.folder = _made_folder(self._address) if self._deep else open_folder(self._address)
        try:
            self._file = os.open(self._name, _NEW, 0o666, dir_fd=self.folder)
            for chunk in self._chunks:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except StoreError:
            self._close()
            raise
        except OSError as error:
            self._close()
            raise sorted_error(self._address, error) from None
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._close()
        if isinstance(error, OSError):
            raise sorted_error(self._address, error) from None

    def rename(self) -> Facts:
        """Give the file its name, whatever had it."""
        os.rename(self._name, self._last, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        return self._facts()

    def link(self) -> Facts:
        """Give the file its name, unless something has it."""
        place = {"src_dir_fd": self.folder, "dst_dir_fd": self.folder}
        os.link(self._name, self._last, follow_symlinks=False, **place)
        os.unlink(self._name, dir_fd=self.folder)
        return self._facts()

    def taken(self) -> bool:
        """Whether something has the name."""
        try:
            os.stat(self._last, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _facts(self) -> Facts:
        """Size and pin now that the name is given: giving it has changed the file's times."""
        try:
            os.fsync(self.folder)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise
        status = os.fstat(self._file)
        return Facts(status.st_size, pin_of(status))

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self.folder)
        os.close(self.folder)


def _made_folder(address: Address) -> int:
    """A descriptor of the folder that the name lies in, made where it is missing; no link is followed."""
    try:
        os.makedirs(address.folder, exist_ok=True)  # noqa: PTH103 - a text with any bytes
        here = open_folder(address)
    except OSError as error:
        raise sorted_error(address, error) from None
    for part in address.name.split("/")[:-1]:
        try:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=here)
            below = os.open(part, _FOLDER, dir_fd=here)
        except NotADirectoryError:
            raise Refused(address.uri, "a part of the path is a link or a file, not a folder") from None
        except OSError as error:
            raise sorted_error(address, error) from None
        finally:
            os.close(here)
        here = below
    return here


@contextmanager
def _locked(address: Address, folder: int) -> Iterator[None]:
    """Hold the folder's advisory lock, where its file system has locks."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PassingTrouble(address.uri, "another writer is at work in this folder: try again") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    yield
