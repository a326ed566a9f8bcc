"""The trigger: one wait in the triggerer, thin over the watch."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from anyio import to_thread

from airflow_landmark.deliveries import (
    UNREADABLE_LOOKS,
    Clock,
    Form,
    Looks,
    Outcome,
    Target,
    Terms,
    Way,
    wait,
)
from airflow_landmark.markers import (
    Expectation,
    Interval,
    MarkerError,
    Taken,
    parse_instant,
)
from airflow_landmark.stores import InvalidAccess, InvalidAddress, LastingTrouble, StoreError

from ._event import build_event
from ._plain import plain, plain_options, plain_uri

__all__ = ["MarkerTrigger"]


_CLOCK = Clock()
_NO_WAY = Way()


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
    :param conn_id: the Airflow connection that holds credentials and settings of the store; ``None`` takes
        the triggerer's environment. It is looked up once for all waits that name it.
    :param options: settings of the store, by name; never secrets.
    :param format: name of the format that the marker is written in; ``None`` for the project's own.
    :param declare: what the Dag declares of a foreign format, key to text.
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
        conn_id: str | None = None,
        options: Mapping[str, Any] | None = None,
        format: str | None = None,  # noqa: A002 - as the sensor calls it
        declare: Mapping[str, str] | None = None,
        **newer: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        arguments = {
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
        kept = {"uri": plain_uri(uri)} | {name: plain(value) for name, value in arguments.items()}
        # Left out when not given: a triggerer of an older release does not know them.
        if conn_id is not None:
            kept["conn_id"] = plain(conn_id)
        if options is not None:
            kept["options"] = plain_options(kept["uri"], options)
        if format is not None:
            kept |= {"format": plain(format), "declare": plain(declare or {})}
        # A dictionary for each of thousands of waits would be three times as large.
        self._names, self._values = _same(tuple(kept)), tuple(kept.values())
        self._newer = tuple(sorted(str(name) for name in newer))

    @property
    def _arguments(self) -> dict[str, Any]:
        return dict(zip(self._names, self._values, strict=True))

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The public class path and plain JSON arguments. Airflow stores them readably: no secrets."""
        return "airflow_landmark.triggers.MarkerTrigger", self._arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, fire one event, end. Cancellation is passed on and leaves nothing behind."""
        if self._newer:
            self.log.warning("Arguments of a newer release are passed over: %s", ", ".join(self._newer))
        clock = _CLOCK
        terms = await self._checked()
        try:
            outcome = terms if isinstance(terms, Outcome) else await wait(terms, clock=clock, tell=self._tell)
        except StoreError as error:
            outcome = Outcome("failed", Looks(), word=_word_of(error), text=str(error))
        await self._hold_back(clock)
        yield TriggerEvent(build_event(outcome))

    async def _checked(self) -> Terms | Outcome:
        """The terms of the wait, or its end when the arguments mean none."""
        try:
            if "format" in self._arguments:
                await to_thread.run_sync(self._terms)  # its reader is imported, and time zones are read
            return self._terms()
        except (MarkerError, InvalidAddress, TypeError, ValueError, KeyError) as error:
            return Outcome("failed", Looks(), word="configuration", text=f"the wait's arguments: {error}")

    def _tell(self, text: str) -> None:
        # Each line wakes a database cycle of the triggerer: only changes are told.
        # The class has one logger: bound anew for each wait it would take a kilobyte.
        self.logger().info("%s", text)

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
            target=Target.of(
                given["uri"], given["pattern"], form=Form.of(given.get("format"), given.get("declare"))
            ),
            expectation=Expectation(given["dataset"], _interval(given["interval"]), given["min_version"]),
            verify=given["verify"],
            poll_interval=float(given["poll_interval"]),
            deadline=None if given["deadline"] is None else parse_instant(given["deadline"]),
            on_mismatch=given["on_mismatch"],
            on_incomplete=given["on_incomplete"],
            on_taken=given["on_taken"],
            taken=None if taken is None else Taken(int(taken["version"]), str(taken["identity"])),
            unreadable_looks=int(given["unreadable_looks"]),
            way=_way(given.get("conn_id"), given.get("options")),
        )
        terms.check()
        return terms


@functools.lru_cache(maxsize=64)
def _same(names: tuple[str, ...]) -> tuple[str, ...]:
    """One tuple for all waits whose arguments have these names."""
    return names


@functools.lru_cache(maxsize=1024)
def _interval(text: str) -> Interval:
    """One interval for all waits of the same day: they are many at midnight."""
    return Interval.parse(text)


def _way(conn_id: str | None, options: Mapping[str, Any] | None) -> Way:
    if conn_id is None and options is None:
        return _NO_WAY
    return Way(conn_id, {} if options is None else options)


def _word_of(error: StoreError) -> str:
    if isinstance(error, InvalidAccess):
        return "configuration"
    return "access" if isinstance(error, LastingTrouble) else "trouble"
