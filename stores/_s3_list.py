"""Listings of a delivery's folder in a bucket."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from ._address import Address
from ._errors import LastingTrouble
from ._s3_client import S3Connection
from ._s3_page import list_page
from ._values import Facts

__all__ = ["list_folder"]

_MAX_PAGES = 100
"""So many pages, of 1,000 keys as a rule, may be read beside those that the limit allows."""
_PAGE_KEYS = 1_000


async def list_folder(
    connection: S3Connection, folder: Address, *, pattern: str | None, limit: int
) -> dict[str, Facts]:
    """Names relative to the folder and their facts: in it by pattern, or in the whole tree below.

    A folder that does not exist is an empty one: buckets have no folders. The placeholders that consoles
    make for folders keep their last slash in a tree, and match no pattern.

    :raises StoreError: sorted; :class:`LastingTrouble` for more than ``limit`` names.
    """
    start = folder.folder
    parameters = {"Prefix": start}
    if pattern is not None:
        parameters = {"Prefix": start + _literal(pattern), "Delimiter": "/"}
    fits = _filter(pattern)
    found: dict[str, Facts] = {}
    for _ in range(_MAX_PAGES + limit // _PAGE_KEYS):
        page = await list_page(connection, folder, parameters)
        for key, listed in page.keys.items():
            name = key.removeprefix(start)
            if key.startswith(start) and fits(name):
                found[name] = listed.facts
        if len(found) > limit:
            raise LastingTrouble(folder.uri, f"more than {limit} names: give a narrower folder or pattern")
        if page.token is None:
            return found
        parameters["ContinuationToken"] = page.token
    text = "too many keys to go through: give a narrower folder, or a pattern with a longer start"
    raise LastingTrouble(folder.uri, text)


def _filter(pattern: str | None) -> Callable[[str], bool]:
    """Which names are wanted; the folder's own placeholder has none."""
    if pattern is None:
        return bool
    matches = re.compile(fnmatch.translate(pattern)).match
    return lambda name: bool(name) and "/" not in name and matches(name) is not None


def _literal(pattern: str) -> str:
    """What every name that matches the pattern starts with."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]
