"""Blocking listings of local folders."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Generator
from contextlib import closing, suppress

from airflow_landmark.markers import path_key

from ._address import Address
from ._errors import LastingTrouble
from ._local_files import open_folder, pin_of, sorted_error
from ._values import Facts

__all__ = ["list_folder", "names_in"]


def names_in(folder: Address, *, at_most: int) -> frozenset[str] | None:
    """The keys of the names directly in a folder; ``None`` when there are more than ``at_most``.

    Keys, since a file system may take two spellings for one name. Opening a folder makes NFS ask the
    server again, as opening a file does.

    :raises StoreError: sorted.
    """
    descriptor = open_folder(folder)
    try:
        names = set()
        with os.scandir(descriptor) as entries:
            for entry in entries:
                names.add(path_key(entry.name))
                if len(names) > at_most:
                    return None
        return frozenset(names)
    except OSError as error:
        raise sorted_error(folder, error) from None
    finally:
        os.close(descriptor)


def list_folder(folder: Address, pattern: str | None, limit: int) -> dict[str, Facts]:
    """Names and facts of what is not a folder: directly in it by pattern, or in the whole tree below.

    Links are listed as themselves and never followed. What goes while it is listed is left out.

    :raises StoreError: sorted; :class:`LastingTrouble` above ``limit`` names.
    """
    found: dict[str, Facts] = {}
    descriptor = open_folder(folder)
    try:
        with closing(_deep(descriptor) if pattern is None else _flat(descriptor, pattern)) as entries:
            for name, status in entries:
                found[name] = Facts(status.st_size, pin_of(status))
                if len(found) > limit:
                    text = f"more than {limit} names: give a narrower folder or pattern"
                    raise LastingTrouble(folder.uri, text)
    except RecursionError:
        raise LastingTrouble(folder.uri, "folders are nested too deep") from None
    except OSError as error:
        raise sorted_error(folder, error) from None
    finally:
        os.close(descriptor)
    return found


def _flat(descriptor: int, pattern: str) -> Generator[tuple[str, os.stat_result], None, None]:
    wanted = re.compile(fnmatch.translate(pattern))
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if wanted.match(entry.name) and not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)


def _deep(descriptor: int) -> Generator[tuple[str, os.stat_result], None, None]:
    for path, folders, files, here in os.fwalk(".", dir_fd=descriptor, onerror=_raise_unless_gone):
        prefix = path[2:] + "/" if path != "." else ""
        links = [name for name in folders if _is_link(name, here)]
        for name in [*files, *links]:
            with suppress(FileNotFoundError):
                yield prefix + name, os.stat(name, dir_fd=here, follow_symlinks=False)


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
