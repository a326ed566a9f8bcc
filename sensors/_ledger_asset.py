"""A ledger in Airflow itself: the state store of an asset. Best effort, since it cannot compare and set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.sdk import Asset, get_current_context
from airflow.sdk.definitions.asset import AssetNameRef
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType

from airflow_landmark.deliveries import (
    AccessTrouble,
    Entry,
    Held,
    HeldWord,
    Stamp,
    Unavailable,
    after_claim,
    after_commit,
    after_release,
    as_seconds,
    held_by,
    key_of_held,
)
from airflow_landmark.markers import Interval, Taken, show

__all__ = ["AssetLedger"]

_WORDS: tuple[HeldWord, ...] = ("taken", "claim")
_LONGEST_SETTLE_SECONDS = 60.0


class AssetLedger:
    """Remembers what was taken in the state store of an asset, which every Airflow 3.3 has.

    That store can only be read and overwritten, so two tasks that claim at the same moment could both be
    told that they hold the claim. A claim is therefore written, left alone for ``settle``, and read again:
    of two claimants one is refused, unless one took longer than ``settle`` from reading to writing. Where
    that must never be, use a SQL database or a bucket.

    It is reached from within a task that has the asset among its inlets or outlets.

    :param asset: whose state store is used.
    :param settle: how long a new claim is left alone before it is read again; seconds or ``timedelta``.
    :raises TypeError: when it is given something else than an asset.
    :raises ValueError: when ``settle`` is not 0 to 60 seconds.
    """

    def __init__(self, asset: Asset, *, settle: float | timedelta = 1.0) -> None:
        if not isinstance(asset, Asset):
            raise TypeError(f"asset must be an Asset, not {show(asset)}")
        self.asset = asset
        self.settle = as_seconds(settle)
        if not 0 <= self.settle <= _LONGEST_SETTLE_SECONDS:
            raise ValueError(f"settle must be 0 to 60 seconds, not {settle}")

    def __repr__(self) -> str:
        return f"AssetLedger({self.asset.name!r})"

    def check_task(self, task: Any) -> None:
        """Refuse a task that Airflow would not give the asset's state store.

        :raises ValueError: saying what to write.
        """
        reached = [*(task.inlets or ()), *(task.outlets or ())]
        if not any(isinstance(one, (Asset, AssetNameRef)) and one.name == self.asset.name for one in reached):
            raise ValueError(
                f"{self!r} needs its asset among the task's inlets or outlets: "
                f"add inlets=[Asset({self.asset.name!r})] to task {task.task_id}"
            )

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """What was taken last; ``None`` when nothing was."""
        held = self._shelf().entry(dataset, interval).taken
        return None if held is None else Taken(held.version, held.identity)

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Mark a version as being worked on; takes ``settle`` unless the owner holds it already."""
        shelf, wanted = self._shelf(), _wanted(stamp, owner)
        before = shelf.entry(stamp.dataset, stamp.interval)
        after = after_claim(before, wanted)
        if after is before:
            return
        shelf.put(before, after)
        # Fischer's mutual exclusion: whoever read before this write has written by then, or is too slow.
        time.sleep(self.settle)
        settled = shelf.entry(stamp.dataset, stamp.interval)
        if after_claim(settled, wanted) is not settled:
            raise Unavailable(
                shelf.place, "trouble", "the claim was overwritten at once; a retry claims anew"
            )

    def commit(self, stamp: Stamp, owner: str) -> None:
        """Mark a claimed version as taken. Repeating it changes nothing."""
        shelf = self._shelf()
        before = shelf.entry(stamp.dataset, stamp.interval)
        shelf.put(before, after_commit(before, _wanted(stamp, owner)))

    def release(self, stamp: Stamp, owner: str) -> None:
        """Give a claim back; without a claim, nothing happens."""
        shelf = self._shelf()
        before = shelf.entry(stamp.dataset, stamp.interval)
        shelf.put(before, after_release(before, _wanted(stamp, owner)))

    def _shelf(self) -> _Shelf:
        place = f"asset {show(self.asset.name)}"
        try:
            return _Shelf(place, get_current_context()["asset_state_store"][self.asset])
        except RuntimeError:
            text = "it is reached from within a task only; landmark ledger show reads it from outside"
            raise AccessTrouble(place, "configuration", text) from None
        except KeyError:
            text = "it is not among this task's inlets or outlets, so Airflow gives no access to its state"
            raise AccessTrouble(place, "configuration", text) from None


class _Shelf:
    """The two keys of an entry: a claim that is written late can so never overwrite what was taken."""

    def __init__(self, place: str, accessor: Any) -> None:
        self.place = place
        self._accessor = accessor

    def entry(self, dataset: str, interval: Interval) -> Entry:
        """What is held."""
        taken, claim = (self._held(key_of_held(word, dataset, interval)) for word in _WORDS)
        return Entry(dataset, interval, taken, claim)

    def put(self, before: Entry, after: Entry) -> None:
        """Write what has changed: first what was taken, so that a task that dies in between can repeat it."""
        for word in _WORDS:
            held: Held | None = getattr(after, word)
            if held == getattr(before, word):
                continue
            key = key_of_held(word, after.dataset, after.interval)
            with _sorted(self.place):
                if held is None:
                    self._accessor.delete(key)
                else:
                    self._accessor.set(key, held.to_json())

    def _held(self, key: str) -> Held | None:
        with _sorted(self.place):
            value = self._accessor.get(key)
        if value is None:
            return None
        try:
            return Held.from_json(value)
        except ValueError as error:
            text = f"its state holds under {show(key)} what no ledger wrote: {error}; delete that key"
            raise AccessTrouble(self.place, "unreadable", text) from None


def _wanted(stamp: Stamp, owner: str) -> Held:
    return held_by(stamp, owner, at=datetime.now(tz=timezone.utc))


@contextmanager
def _sorted(place: str) -> Iterator[None]:
    """Turn what goes wrong with Airflow's answer into an error of this project."""
    try:
        yield
    except AirflowRuntimeError as error:
        raise _trouble(place, error.error) from None
    except Exception as error:  # noqa: BLE001 - state backends are pluggable
        text = f"its state could not be reached ({type(error).__name__})"
        raise Unavailable(place, "trouble", text) from None


def _trouble(place: str, answer: Any) -> AccessTrouble | Unavailable:
    status = (answer.detail or {}).get("status_code")
    if status == 404:
        text = "Airflow knows no active asset of this name: no Dag that it has read holds it"
        return AccessTrouble(place, "configuration", text)
    if answer.error is ErrorType.PERMISSION_DENIED or status in (401, 403):
        return AccessTrouble(place, "access", "Airflow does not let this task at its state")
    return Unavailable(
        place, "trouble", f"Airflow could not reach its state ({answer.error.value}, {status})"
    )
