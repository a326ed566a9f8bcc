"""One page of a listing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._address import Address
from ._errors import LastingTrouble
from ._s3_answer import Answer
from ._s3_client import S3Connection
from ._values import Facts, Pin

__all__ = ["Listed", "Page", "list_page", "page_of"]


@dataclass(frozen=True, slots=True)
class Listed:
    """What a listing tells of an object.

    :param archived: it may lie in an archive; only a request of its own tells whether it was restored.
    """

    facts: Facts
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page, in the server's order.

    :param keys: key to what is told of it.
    :param token: where the next page starts; ``None`` after the last.
    """

    keys: Mapping[str, Listed]
    token: str | None


async def list_page(connection: S3Connection, place: Address, parameters: Mapping[str, Any]) -> Page:
    """Ask for a page.

    :param parameters: of ListObjectsV2; the bucket is added.
    :raises StoreError: sorted.
    """
    return page_of(place, await connection.call("list_objects_v2", place, parameters))


def page_of(place: Address, answer: Answer) -> Page:
    """The page that an answer holds.

    :raises LastingTrouble: when it holds none.
    """
    try:
        keys = {str(entry["Key"]): _listed(entry) for entry in answer.get("Contents", ())}
        token = str(answer["NextContinuationToken"]) if answer.get("IsTruncated") else None
    except (KeyError, TypeError, ValueError):
        text = "the listing lacks keys, sizes or the next page's start: check the endpoint's URL"
        raise LastingTrouble(place.uri, text) from None
    return Page(keys, token)


def _listed(entry: Mapping[str, Any]) -> Listed:
    archived = entry.get("StorageClass") in ("GLACIER", "DEEP_ARCHIVE")
    return Listed(Facts(int(entry["Size"]), Pin(etag=entry.get("ETag") or None)), archived)
