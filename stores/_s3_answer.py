"""What answers of S3 say of an object: its identity, and whether it can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_landmark.markers import UnsafePath, check_path

from ._address import Address
from ._errors import Archived, Changed, Refused
from ._values import Facts, Pin

__all__ = ["Answer", "check_readable", "check_same", "condition", "facts_of", "key_of", "pin_of", "same_etag"]

Answer = Mapping[str, Any]
"""What botocore makes of an answer."""

_COLD = frozenset({"GLACIER", "DEEP_ARCHIVE"})
_NO_VERSION = "null"
"""The version of what was written while the bucket kept no versions: another write replaces it."""


def key_of(address: Address) -> str:
    """The object's key.

    :raises Refused: when the name could lead out of the delivery's folder.
    """
    try:
        check_path(address.name)
    except UnsafePath as error:
        raise Refused(address.uri, error.reason) from None
    return address.path


def pin_of(answer: Answer) -> Pin:
    """The identity of the state that was answered."""
    version, modified = answer.get("VersionId"), answer.get("LastModified")
    return Pin(
        etag=answer.get("ETag") or None,
        version_id=None if version == _NO_VERSION else version,
        modified=None if modified is None else str(modified),
    )


def facts_of(answer: Answer) -> Facts:
    """Size and identity, from the answer to a HEAD or to a GET of the whole object."""
    return Facts(int(answer.get("ContentLength", 0)), pin_of(answer))


def condition(pin: Pin | None) -> dict[str, str]:
    """Parameters that let S3 answer for the pinned state only: by its version, or else by its ETag."""
    if pin is None:
        return {}
    if pin.version_id is not None:
        return {"VersionId": pin.version_id}
    return {} if pin.etag is None else {"IfMatch": pin.etag}


def check_same(address: Address, pin: Pin | None, answer: Answer) -> None:
    """Trust no server to have heeded the condition.

    :raises Changed: when the answer is of another state.
    """
    found = pin_of(answer)
    if pin is None:
        return
    same = pin.version_id is None or pin.version_id == found.version_id
    if not same or (pin.etag is not None and not same_etag(pin, found)):
        raise Changed(address.uri, "it was replaced since it was seen")


def same_etag(one: Pin, other: Pin) -> bool:
    """Whether both have the same ETag. Some servers leave its quotes out in listings."""
    return bool(one.etag and other.etag) and str(one.etag).strip('"') == str(other.etag).strip('"')


def check_readable(address: Address, answer: Answer) -> None:
    """Refuse what has to be restored first.

    :raises Archived: when it lies in an archive and no copy has been restored.
    """
    place = answer.get("ArchiveStatus") or answer.get("StorageClass")
    if not (answer.get("ArchiveStatus") or place in _COLD):
        return
    restored = str(answer.get("Restore", ""))
    if 'ongoing-request="false"' in restored:
        return
    state = "being restored: wait for it" if restored else "restore it first (aws s3api restore-object)"
    raise Archived(address.uri, f"it lies in the archive {place} and cannot be read; {state}")
