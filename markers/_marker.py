"""The marker: the document, written last, that announces a delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._interval import Interval
from ._manifest import Manifest

__all__ = [
    "DEFAULT_NAME",
    "MAX_DOCUMENT_BYTES",
    "MAX_FILES",
    "MAX_VERSION",
    "SPEC",
    "STATUSES",
    "Marker",
]

SPEC = "landmark/1"
"""The document's ``spec`` field: exactly this."""

DEFAULT_NAME = "_delivery.json"
"""The marker's file name unless another is agreed."""

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
MAX_FILES = 100_000
MAX_VERSION = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly (RFC 8259, section 6)."""

STATUSES = ("complete", "withdrawn")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a partner announces.

    :param dataset: 1 to 200 of ``A-Za-z0-9._/-``.
    :param interval: what the data is about.
    :param version: 1 to 2**53-1; only grows within (dataset, interval).
    :param manifest: the files.
    :param identity: sha256 in hex of what was read; for formats of several documents see
        ``identity_of_documents`` and ``identity_of_listing``.
    :param status: ``"complete"`` or ``"withdrawn"``.
    :param created_at: informative, as written; never used to order.
    :param producer: informative, as written.
    :param timezone: informative IANA name of the interval.
    :param label: informative name of the interval.
    :param extensions: the partner's own fields, as parsed.
    """

    dataset: str
    interval: Interval
    version: int
    manifest: Manifest
    identity: str = ""
    status: str = "complete"
    created_at: str | None = None
    producer: str | None = None
    timezone: str | None = None
    label: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)
