"""The trigger: one wait in the triggerer, thin over the watch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_landmark.deliveries import UNREADABLE_LOOKS, Clock, Looks, Outcome, Target, Terms, wait
from airflow_landmark.markers import (
    MAX_VERSION,
    Expectation,
    Interval,
    MarkerError,
    Taken,
    format_instant,
    parse_instant,
)
from airflow_landmark.stores import InvalidAddress, LastingTrouble, StoreError

from ._event import build_event

__all__ = ["MarkerTrigger"]


class MarkerTrigger(BaseTrigger):
    """Waits for a delivery's marker and fires one event.

    All waits of a triggerer on the same store share one poll loop. The constructor only stores: Airflow
    ends the whole triggerer when it raises. What is wrong with the arguments is told in a ``failed``
    event.

    :param uri: the marker, or with ``pattern`` its folder.
    :param dataset: the expected dataset.
    :param interval: the expected interval: two RFC 3339 instants with a slash.
    :param min_version: the least acceptable version.
    :param pattern: shell pattern for the marker's name; the highest acceptable version wins.
    :param verify: ``"marker"`` fires on the marker alone; ``"files"``, ``"digests"`` and ``"rows"`` wait
        until all files are there in full length. Contents are proven on the worker.
    :param poll_interval: seconds between looks.
    :param deadline: RFC 3339 instant at which a ``deadline`` event is fired; ``None`` waits for ever.
    :param not_before: RFC 3339 instant before which no event is fired.
    :param on_mismatch: ``"wait"`` or ``"fail"`` when another dataset or interval lies there.
    :param on_incomplete: ``"wait"``, or ``"fail"`` to leave incomplete files to the worker at once.
    :param on_taken: ``"accept"``, ``"skip"`` or ``"fail"`` when this delivery was taken before.
    :param taken: ``{"version", "identity"}`` as the ledger held them; ``None`` without a ledger.
    :param unreadable_looks: looks at the same unreadable bytes until a ``failed`` event.
    :param newer: arguments of a newer release, passed over with a warning.
    """

    def __init__(
        self,
        *,
        uri: str = "",
        dataset: str = "",
        interval: str = "",
        min_version: int = 1,
        pattern: str | None = None,
        verify: str = "digests",
        poll_interval: float = 30.0,
        deadline: str | None = None,
        not_before: str | None = None,
        on_mismatch: str = "wait",
        on_incomplete: str = "wait",
        on_taken: str = "accept",
        taken: Mapping[str, Any] | None = None,
        unreadable_looks: int = UNREADABLE_LOOKS,
        **newer: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        arguments = {
            "uri": uri,
            "dataset": dataset,
            "interval": interval,
            "min_version": min_version,
            "pattern": pattern,
            "verify": verify,
            "poll_interval": poll_interval,
            "deadline": deadline,
            "not_before": not_before,
            "on_mismatch": on_mismatch,
            "on_incomplete": on_incomplete,
            "on_taken": on_taken,
            "taken": taken,
            "unreadable_looks": unreadable_looks,
        }
        self._arguments = {name: _plain(value) for name, value in arguments.items()}
        self._newer = sorted(str(name) for name in newer)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The public class path and plain JSON arguments. Airflow stores them readably: no secrets."""
        return "airflow_landmark.triggers.MarkerTrigger", dict(self._arguments)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, fire one event, end. Cancellation is passed on and leaves nothing behind."""
        if self._newer:
            self.log.warning("Arguments of a newer release are passed over: %s", ", ".join(self._newer))
        clock = Clock()
        outcome = await self._outcome(clock)
        await self._hold_back(clock)
        yield TriggerEvent(build_event(outcome))

    async def _outcome(self, clock: Clock) -> Outcome:
        try:
            terms = self._terms()
        except (MarkerError, InvalidAddress, TypeError, ValueError, KeyError) as error:
            return Outcome("failed", Looks(), word="configuration", text=f"the wait's arguments: {error}")
        try:
            return await wait(terms, clock=clock, tell=self._tell)
        except StoreError as error:
            word = "access" if isinstance(error, LastingTrouble) else "trouble"
            return Outcome("failed", Looks(), word=word, text=str(error))

    def _tell(self, text: str) -> None:
        # Each line wakes a database cycle of the triggerer: only changes are told.
        self.log.info("%s", text)

    async def _hold_back(self, clock: Clock) -> None:
        """An event that comes before Airflow has noticed the deferral fails the task as killed."""
        not_before = self._arguments["not_before"]
        if isinstance(not_before, str):
            try:
                seconds = (parse_instant(not_before) - clock.now()).total_seconds()
            except MarkerError:
                return
            await clock.sleep(min(max(seconds, 0.0), 60.0))

    def _terms(self) -> Terms:
        given = self._arguments
        taken = given["taken"]
        terms = Terms(
            target=Target.of(given["uri"], given["pattern"]),
            expectation=Expectation(
                given["dataset"], Interval.parse(given["interval"]), given["min_version"]
            ),
            verify=given["verify"],
            poll_interval=float(given["poll_interval"]),
            deadline=None if given["deadline"] is None else parse_instant(given["deadline"]),
            on_mismatch=given["on_mismatch"],
            on_incomplete=given["on_incomplete"],
            on_taken=given["on_taken"],
            taken=None if taken is None else Taken(int(taken["version"]), str(taken["identity"])),
            unreadable_looks=int(given["unreadable_looks"]),
        )
        terms.check()
        return terms


def _plain(value: Any) -> Any:
    """The argument as plain JSON; never raises."""
    try:
        return _converted(value)
    except Exception:  # noqa: BLE001 - any exception of the constructor would end the triggerer
        return f"<{type(value).__name__}: cannot be read>"


def _converted(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    # Subclasses, such as members of enumerations, become what they are made of.
    if isinstance(value, int) and abs(int.__index__(value)) <= MAX_VERSION:
        return int.__index__(value)
    if isinstance(value, float) and abs(float.__float__(value)) <= MAX_VERSION:  # NaN compares as false
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return format_instant(value)
    if isinstance(value, Interval):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _converted(entry) for name, entry in value.items()}
    return f"<{type(value).__name__}: not a plain value>"
