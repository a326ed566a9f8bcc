"""Blocking calls on local files: opened without following links, identified by the open handle."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_landmark.markers import MAX_DOCUMENT_BYTES, UnsafePath, check_path

from ._address import Address
from ._errors import Absent, Changed, LastingTrouble, PassingTrouble, Refused, StoreError
from ._values import Facts, Look, Pin, Sighting

__all__ = ["facts_of", "look_at", "open_file", "open_folder", "pin_of", "sorted_error"]

_SETTLE_NS = 3_000_000_000  # FAT keeps times to 2 s, the coarsest of the file systems in use
_READ_ATTEMPTS = 3
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_PASSING = {
    errno.ESTALE: "the file handle is stale (the server replaced the file)",
    errno.EIO: "input/output error",
    errno.EINTR: "interrupted",
    errno.EAGAIN: "temporarily not available",
    errno.ETIMEDOUT: "timed out",
    errno.EBUSY: "busy",
    errno.ENOMEM: "no memory",
    errno.EMFILE: "this process has too many open files",
    errno.ENFILE: "this machine has too many open files",
    errno.ENETDOWN: "the network is down",
    errno.ENETUNREACH: "the network is unreachable",
    errno.EHOSTDOWN: "the host is down",
    errno.EHOSTUNREACH: "the host is unreachable",
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.ENOTCONN: "the mount is not connected",
    errno.ENOSPC: "no space left",
    errno.EDQUOT: "the quota is used up",
    getattr(errno, "EREMOTEIO", -1): "remote input/output error",  # Linux only
}


def sorted_error(address: Address, error: OSError) -> StoreError:
    """The same trouble as one of this room's errors."""
    place, number = address.uri, error.errno
    if number == errno.ENOENT:
        return Absent(place, "no such file")
    if number in _PASSING:
        return PassingTrouble(place, _PASSING[number])
    if number in (errno.EACCES, errno.EPERM):
        return LastingTrouble(
            place, "permission denied: give this user the right to read the file and its folders"
        )
    if number == errno.ELOOP:
        return Refused(place, "a symbolic link is never followed: put the file itself there")
    if number == errno.ENOTDIR:
        return LastingTrouble(place, "a part of the path is a file or a link, not a folder")
    if number == errno.EISDIR:
        return Refused(place, "a folder lies where a file should be")
    return LastingTrouble(place, os.strerror(number) if number else "the operating system refused")


def pin_of(status: os.stat_result) -> Pin:
    """The identity of an open file."""
    return Pin(
        inode=f"{status.st_dev}:{status.st_ino}",
        modified=str(status.st_mtime_ns),
        changed=str(status.st_ctime_ns),
    )


def open_folder(address: Address) -> int:
    """A descriptor of the delivery's folder; links on the way are the author's own and are followed.

    :raises StoreError: sorted; :class:`Absent` when the folder is missing.
    """
    try:
        return os.open(address.folder, _FOLDER)
    except FileNotFoundError:
        raise Absent(address.uri, "the folder does not exist") from None
    except UnicodeEncodeError:
        raise _no_such_name(address) from None
    except OSError as error:
        raise sorted_error(address, error) from None


def _no_such_name(address: Address) -> LastingTrouble:
    return LastingTrouble(
        address.uri, "the name does not fit this process's file system encoding: run it in a UTF-8 locale"
    )


@contextmanager
def open_file(address: Address) -> Iterator[tuple[int, os.stat_result]]:
    """An open descriptor of a regular file and its status; below the folder no link is followed.

    :raises StoreError: sorted; :class:`Refused` for links, pipes, devices, folders, unsafe names.
    """
    try:
        descriptor = _open_below(address)
    except FileNotFoundError:
        raise Absent(address.uri, _what_is_missing(address)) from None
    except UnicodeEncodeError:
        raise _no_such_name(address) from None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a pipe opened for writing
            raise Refused(address.uri, "not a regular file") from None
        raise sorted_error(address, error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(address.uri, "not a regular file")
        yield descriptor, status
    except OSError as error:
        raise sorted_error(address, error) from None
    finally:
        os.close(descriptor)


def _open_below(address: Address) -> int:
    try:
        *folders, last = check_path(address.name).split("/")
    except UnsafePath as error:
        raise Refused(address.uri, error.reason) from None
    if not folders:  # one call for the most frequent case: a marker in its folder
        return os.open(f"{address.folder}/{last}", _FILE)
    here = open_folder(address)
    try:
        for part in folders:
            try:
                below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            except NotADirectoryError:  # what Linux says of links, too
                raise Refused(address.uri, "a part of the path is a link or a file, not a folder") from None
            os.close(here)
            here = below
        return os.open(last, _FILE, dir_fd=here)
    finally:
        os.close(here)


def _what_is_missing(address: Address) -> str:
    try:
        os.lstat(f"{address.folder}/.")
    except OSError:
        return "the folder does not exist"
    return "no such file"


def facts_of(address: Address) -> Facts:
    """Size and pin of a file, seen by opening it: NFS may answer ``stat`` from its cache.

    :raises StoreError: sorted.
    """
    with open_file(address) as (_, status):
        return Facts(status.st_size, pin_of(status))


def look_at(address: Address, since: Sighting | None) -> Look:
    """Open the marker and read it unless it is the one that was seen.

    :raises StoreError: sorted; an absent file is a look without sighting.
    """
    try:
        for _ in range(_READ_ATTEMPTS):
            with open_file(address) as (descriptor, before):
                pin = pin_of(before)
                if since is not None and since.settled and since.pin == pin and since.size == before.st_size:
                    return Look(since)
                data = _read(descriptor)
                if pin_of(os.fstat(descriptor)) == pin:
                    return _seen(address, since, before, data)
    except Absent as absent:
        return Look(None, reason=absent.reason)
    raise Changed(address.uri, "it changes while it is read")


def _seen(address: Address, since: Sighting | None, status: os.stat_result, data: bytes) -> Look:
    age_ns = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    sighting = Sighting(
        address, status.st_size, hashlib.sha256(data).hexdigest(), pin_of(status), settled=age_ns > _SETTLE_NS
    )
    unchanged = since is not None and since.sha256 == sighting.sha256 and since.size == sighting.size
    return Look(sighting, None if unchanged else data)


def _read(descriptor: int) -> bytes:
    chunks, left = [], MAX_DOCUMENT_BYTES + 1
    while left and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)
