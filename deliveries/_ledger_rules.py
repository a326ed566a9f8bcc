"""The ledger's rules: pure functions from what is held to what is held then, the same for every backend.

::

    claim     nothing higher is taken or claimed; of the same version, the same bytes and owner
    commit    the owner's own claim, still the highest
    release   the owner's own claim

Each returns the entry that it was given, the same object, when there is nothing to change.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import datetime

from airflow_landmark.markers import format_instant

from ._errors import BadDelivery
from ._ledger import Entry, Held
from ._ledger_keys import check_dataset
from ._stamp import Stamp

__all__ = ["after_claim", "after_commit", "after_release", "held_by"]

_MAX_URI = 2048


def held_by(stamp: Stamp, owner: str, *, at: datetime) -> Held:
    """What a ledger holds of a delivery; a long address is cut, and what is not printable in it escaped.

    :raises ValueError: when the dataset is no dataset's name, or the owner no text of 1 to 1,024 characters
        without control characters.
    """
    check_dataset(stamp.dataset)
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in stamp.uri[:_MAX_URI])
    return Held(stamp.version, stamp.sha256, owner, at, shown[:_MAX_URI])


def after_claim(entry: Entry, wanted: Held) -> Entry:
    """The entry once the version is claimed.

    :raises BadDelivery: kind ``older version``, ``reused version`` or ``already taken``.
    """
    _check_order(entry, wanted)
    claim = entry.claim
    if claim is None or claim.version < wanted.version:
        return replace(entry, claim=wanted)
    if claim.owner == wanted.owner:
        return entry
    text = f"was claimed by {_by(claim)}, so {wanted.owner} cannot claim it: {_release(entry, claim)}"
    raise _refused(entry, wanted, "already taken", text)


def after_commit(entry: Entry, wanted: Held) -> Entry:
    """The entry once the claimed version is taken.

    :raises BadDelivery: kind ``older version``, ``reused version`` or ``not claimed``.
    """
    claim = entry.claim
    own = claim is not None and claim.same_as(wanted) and claim.owner == wanted.owner
    if not own and wanted.same_as(entry.taken):
        return entry
    _check_order(entry, wanted)
    if own:
        return replace(entry, taken=wanted, claim=None)
    holder = f"version {claim.version} is, by {_by(claim)}" if claim else "nothing is"
    text = f"is not claimed by {wanted.owner}, {holder}: the claim was released, or never made; "
    raise _refused(entry, wanted, "not claimed", f"{text}run the wait again: it claims before the load")


def after_release(entry: Entry, wanted: Held) -> Entry:
    """The entry without the owner's claim on this version; without such a claim, as it was."""
    claim = entry.claim
    if claim is None or not claim.same_as(wanted) or claim.owner != wanted.owner:
        return entry
    return replace(entry, claim=None)


def _check_order(entry: Entry, wanted: Held) -> None:
    """Refuse what is older than what is held, or has other bytes under the same version."""
    all_held = [(held, word) for held, word in ((entry.taken, "taken"), (entry.claim, "claimed")) if held]
    for held, word in all_held:
        if held.version > wanted.version:
            cure = _release(entry, held) if word == "claimed" else "only a version above that can follow"
            text = f"is older than version {held.version}, {word} by {_by(held)}: {cure}"
            raise _refused(entry, wanted, "older version", text)
    for held, word in all_held:
        if held.version == wanted.version and held.identity != wanted.identity:
            text = f"was {word} by {_by(held)} with other bytes (sha256 {held.identity[:12]}, now "
            text += f"{wanted.identity[:12]}): the partner has to deliver these under a version above that"
            raise _refused(entry, wanted, "reused version", text)


def _by(held: Held) -> str:
    return f"{held.owner} at {format_instant(held.at)}"


def _release(entry: Entry, claim: Held) -> str:
    named = f"--dataset {entry.dataset} --interval {entry.interval} --owner {shlex.quote(claim.owner)}"
    return f"if that one will never commit, run: landmark ledger release --ledger URL {named}"


def _refused(entry: Entry, wanted: Held, kind: str, text: str) -> BadDelivery:
    what = f"version {wanted.version} of {entry.dataset} for {entry.interval}"
    return BadDelivery(wanted.uri, kind, f"{what} {text}")
