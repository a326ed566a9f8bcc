"""The ledger in the state store of an asset, read from outside through Airflow's public REST API."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_landmark.deliveries import (
    AccessTrouble,
    Entry,
    Held,
    LedgerEvent,
    LedgerWord,
    Unavailable,
    key_of_held,
    read_key,
)
from airflow_landmark.markers import Interval, Taken, show

if TYPE_CHECKING:
    from airflow_landmark.capacity import RestApi
    from airflow_landmark.deliveries import HeldWord, Stamp

__all__ = ["AirflowLedger", "names_airflow"]

TOKEN = "LANDMARK_API_TOKEN"  # noqa: S105 - a variable's name
_SCHEMES = ("airflow+http", "airflow+https")
_FORM = "airflow+https://HOST/?asset=NAME"
_MOST_KEYS = 200_000
_READ_ONLY = "a ledger in Airflow is only read from outside; its tasks claim and commit"


def names_airflow(text: str) -> bool:
    """Whether a text names a ledger in Airflow."""
    return text.partition(":")[0].lower() in _SCHEMES


class AirflowLedger:
    """What an ``AssetLedger`` has written, for people to look at.

    :param text: ``airflow+https://HOST/?asset=NAME``; the API's token comes from the environment,
        ``LANDMARK_API_TOKEN``.
    :raises AccessTrouble: kind ``"configuration"`` when it is none.
    """

    def __init__(self, text: str) -> None:
        address, self._asset = _parts(text)
        self._api = _api(address)
        self._place = f"airflow+{self._api.place}?{urllib.parse.urlencode({'asset': self._asset})}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place!r})"

    def __str__(self) -> str:
        return self._place

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """What was taken last; ``None`` when nothing was."""
        entry = self.entry(dataset, interval)
        return Taken(entry.taken.version, entry.taken.identity) if entry and entry.taken else None

    def claim(self, stamp: Stamp, owner: str) -> None:  # noqa: ARG002 - the protocol's
        """Refused.

        :raises AccessTrouble: always.
        """
        raise AccessTrouble(self._place, "configuration", _READ_ONLY)

    def commit(self, stamp: Stamp, owner: str) -> None:  # noqa: ARG002 - the protocol's
        """Refused.

        :raises AccessTrouble: always.
        """
        raise AccessTrouble(self._place, "configuration", _READ_ONLY)

    def release(self, stamp: Stamp, owner: str) -> None:  # noqa: ARG002 - the protocol's
        """Refused: says which request gives the claim back.

        :raises AccessTrouble: always.
        """
        key = urllib.parse.quote(key_of_held("claim", stamp.dataset, stamp.interval), safe="")
        path = f"/api/v2/assets/{self._asset_id()}/state-store/{key}"
        text = f"{_READ_ONLY}. To give the claim back, delete its key: DELETE {path}"
        raise AccessTrouble(self._place, "access", text)

    def entry(self, dataset: str, interval: Interval) -> Entry | None:
        """What is held of one dataset and interval; ``None`` when it was never claimed."""
        return next((entry for entry in self._all(dataset) if entry.interval == interval), None)

    def entries(self, dataset: str | None = None, *, limit: int = 1000) -> Sequence[Entry]:
        """What is held, the newest interval first; ``None`` for all datasets."""
        found = sorted(self._all(dataset), key=lambda entry: (entry.interval, entry.dataset), reverse=True)
        return found[:limit]

    def history(self, dataset: str, interval: Interval, *, limit: int = 1000) -> Sequence[LedgerEvent]:
        """What is held now, as events: the state store keeps nothing of what was before."""
        entry = self.entry(dataset, interval)
        if entry is None:
            return []
        held: list[tuple[LedgerWord, Held | None]] = [("taken", entry.taken), ("claimed", entry.claim)]
        events = [LedgerEvent(dataset, interval, word, one) for word, one in held if one is not None]
        return sorted(events, key=lambda event: event.held.at)[-limit:]

    def _all(self, dataset: str | None) -> list[Entry]:
        entries: dict[tuple[str, Interval], dict[HeldWord, Held]] = {}
        for key, value in self._values():
            named = read_key(key)
            if named is not None and dataset in (None, named[1]):
                word, *_ = named
                entries.setdefault(named[1:], {})[word] = self._held(key, value)
        return [Entry(*subject, held.get("taken"), held.get("claim")) for subject, held in entries.items()]

    def _values(self) -> Iterator[tuple[str, Any]]:
        """All keys of the asset with their values: what else is kept there, too."""
        with _sorted(self._place):
            pages = self._api.pages(f"assets/{self._asset_id()}/state-store", "asset_state_store")
            for number, one in enumerate(pages):
                if number == _MOST_KEYS:
                    raise AccessTrouble(self._place, "access", f"it keeps more than {_MOST_KEYS:,} keys")
                yield str(_field(one, "key")), _field(one, "value")

    def _asset_id(self) -> int:
        with _sorted(self._place):
            for one in self._api.pages("assets", "assets", name_pattern=self._asset, only_active="false"):
                number = _field(one, "id")
                if _field(one, "name") == self._asset and type(number) is int:
                    return number
        raise AccessTrouble(
            self._place, "access", "this Airflow has no such asset, or the token may not see it"
        )

    def _held(self, key: str, value: Any) -> Held:
        try:
            return Held.from_json(value)
        except ValueError as error:
            text = f"the key {show(key)} holds what no ledger wrote: {show(str(error), limit=200)}"
            raise AccessTrouble(self._place, "unreadable", text) from None


def _field(answer: Any, name: str) -> Any:
    """A field of what the server sent, whatever that is."""
    return answer.get(name) if isinstance(answer, dict) else None


def _parts(text: str) -> tuple[str, str]:
    """The server's address and the asset's name."""
    try:
        parts = urllib.parse.urlsplit(text)
        query = urllib.parse.parse_qs(parts.query, strict_parsing=True, max_num_fields=2)
    except ValueError:
        _misfit()
    names = query.get("asset", [])
    if not names_airflow(text) or parts.fragment or set(query) != {"asset"} or len(names) != 1:
        _misfit()
    address = parts._replace(scheme=parts.scheme.removeprefix("airflow+"), query="")
    return address.geturl(), names[0]


def _misfit() -> NoReturn:
    # The text itself is not shown: it may hold a password.
    raise AccessTrouble("the ledger's URL", "configuration", f"a ledger in Airflow is named by {_FORM}")


def _api(address: str) -> RestApi:
    from airflow_landmark.capacity import RestApi, Unreachable  # noqa: PLC0415 - only where it is used

    try:
        return RestApi(url=address, token=os.environ.get(TOKEN) or None)
    except Unreachable as error:
        raise AccessTrouble("the ledger's URL", "configuration", error.text) from None


@contextmanager
def _sorted(place: str) -> Iterator[None]:
    """What the API's reader could not tell, as an error of a ledger."""
    from airflow_landmark.capacity import CannotTell, Unreachable  # noqa: PLC0415 - as above

    try:
        yield
    except Unreachable as error:
        raise Unavailable(place, "trouble", error.text) from None
    except CannotTell as error:
        raise AccessTrouble(place, "access", error.text) from None
