"""Accepting: read again, judge again, verify, read once more. Nothing that was handed over is trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import anyio

from airflow_landmark.markers import Marker, UnreadableMarker, Verdict, VerdictKind
from airflow_landmark.stores import Address, InvalidAccess, LastingTrouble, Store, StoreError, open_store

from ._access import reached
from ._assess import Terms, best_reading
from ._delivery import Delivery
from ._errors import AccessTrouble, BadDelivery, DeliveryError, Unavailable
from ._look import look_at, still_there
from ._report import Progress, Report
from ._stamp import Stamp
from ._target import Reading, State
from ._verify import OnUnexpected, verify

__all__ = ["Acceptance", "Accepted", "OnReplaced", "accept"]

OnReplaced = Literal["newest", "fail"]

_AGAIN_SECONDS = (1.0, 2.0, 4.0)
"""A marker that is gone, half written or out of reach is looked at again after so long."""
_MAX_REPLACED = 3
"""How often a marker may be replaced by a newer one while it is verified."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How a delivery is accepted.

    :param on_replaced: ``"newest"`` takes a higher version in place of the stamped one, ``"fail"`` does not.
    :param on_unexpected: what files that the manifest does not list are.
    :param seconds: at most so long for all of it; ``None`` for no limit.
    :param again_seconds: pauses before looking again at what is gone or out of reach.
    """

    on_replaced: OnReplaced = "newest"
    on_unexpected: OnUnexpected = "ignore"
    seconds: float | None = None
    again_seconds: tuple[float, ...] = _AGAIN_SECONDS


@dataclass(frozen=True, slots=True)
class Accepted:
    """A delivery that may be worked on.

    :param delivery: what to hand on.
    :param report: what was verified.
    :param taken_before: whether the ledger says that this very delivery was taken before.
    """

    delivery: Delivery
    report: Report
    taken_before: bool


async def accept(
    terms: Terms,
    acceptance: Acceptance | None = None,
    *,
    stamp: Stamp | None = None,
    tell: Callable[[str], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Accepted:
    """Judge and verify what lies there now.

    :param stamp: what a wait saw; ``None`` takes what lies there.
    :param tell: is given a sentence when something is worth knowing.
    :param progress: is called as files are verified.
    :raises BadDelivery: when it is not the delivery that was promised.
    :raises AccessTrouble: when the store refuses.
    :raises Unavailable: when the store fails, or time runs out.
    """
    acceptance = acceptance or Acceptance()
    run = _Run(terms, acceptance, stamp, tell, progress)
    try:
        with anyio.fail_after(acceptance.seconds):
            async with open_store(await run.reach()) as store:
                return await run.accepted(store)
    except TimeoutError:
        raise Unavailable(terms.target.text, "no time left", run.where_time_went()) from None
    except StoreError as error:
        raise _sorted(terms, error) from None


class _Run:
    """One acceptance."""

    def __init__(
        self,
        terms: Terms,
        acceptance: Acceptance,
        stamp: Stamp | None,
        tell: Callable[[str], None] | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._terms = terms
        self._acceptance = acceptance
        self._stamp = stamp
        self._tell = tell or (lambda _text: None)
        self._progress = progress
        self._busy = "reading the marker"
        self._in_progress: list[str] = []

    def where_time_went(self) -> str:
        """For people: what was being done when time ran out."""
        files = ", ".join(self._in_progress[:3])
        at = f", at {files}" if files else ""
        return f"time ran out after {self._acceptance.seconds:g} s while {self._busy}{at}"

    async def reach(self) -> Address:
        """Where the marker lies, with the access to it."""
        terms = self._terms
        self._terms = replace(terms, target=await reached(terms.target, terms.way))
        return self._terms.target.address

    async def accepted(self, store: Store) -> Accepted:
        """The delivery; a newer one that comes meanwhile is taken instead where that is allowed."""
        for _ in range(_MAX_REPLACED):
            reading, marker, verdict = await self._read(store)
            report = await self._verified(store, reading, marker)
            if await still_there(store, reading, self._terms.target.form):
                stamp = Stamp.of(reading.sighting, marker)
                delivery = Delivery.of(
                    stamp,
                    marker,
                    report.facts,
                    level=self._terms.verify,
                    way=self._terms.way,
                    form=self._terms.target.form,
                )
                return Accepted(delivery, report, verdict.kind is VerdictKind.ALREADY_TAKEN)
            self._stamp = Stamp.of(reading.sighting, marker)
        raise Unavailable(self._terms.target.text, "replaced", "the marker is replaced again and again")

    async def _read(self, store: Store) -> tuple[Reading, Marker, Verdict]:
        """The marker that is to be taken; a passing state is looked at again."""
        pauses = iter(self._acceptance.again_seconds)
        while True:
            state = (await look_at(store, {self._terms.target: State()}))[self._terms.target]
            trouble = self._trouble(state)
            if trouble is None:
                reading, verdict = best_reading(state, self._terms)
                return self._judged(reading, verdict)
            # Without a stamp nobody has seen a marker yet, and only a failing store is worth a pause.
            worth = isinstance(trouble, Unavailable) or (self._stamp and isinstance(trouble, BadDelivery))
            pause = next(pauses, None) if worth else None
            if pause is None:
                raise trouble
            await anyio.sleep(pause)

    def _trouble(self, state: State) -> DeliveryError | None:
        if state.trouble is not None:
            return _sorted(self._terms, state.trouble)
        if not state.readings:
            return BadDelivery(self._terms.target.text, "gone", f"the marker is gone: {state.reason}")
        reading, verdict = best_reading(state, self._terms)
        if verdict.kind is VerdictKind.UNREADABLE and isinstance(reading.found, UnreadableMarker):
            kind = "incomplete" if reading.found.incomplete else "unreadable"
            text = f"{kind}: {reading.found}"
            return BadDelivery(reading.sighting.address.uri, kind, text, problems=reading.found.problems)
        return None

    def _judged(self, reading: Reading, verdict: Verdict) -> tuple[Reading, Marker, Verdict]:
        uri, marker, stamp = reading.sighting.address.uri, reading.found, self._stamp
        taken_again = verdict.kind is VerdictKind.ALREADY_TAKEN and self._terms.on_taken != "fail"
        if not isinstance(marker, Marker) or not (verdict.arrived or taken_again):
            raise BadDelivery(uri, str(verdict.kind), verdict.text)
        if stamp is None or marker.identity == stamp.sha256:
            return reading, marker, verdict
        seen = f"version {stamp.version} (sha256 {stamp.sha256[:12]}) was seen"
        if marker.version == stamp.version:
            text = f"{seen}, now other bytes lie there under that version (sha256 {marker.identity[:12]})"
            raise BadDelivery(uri, str(VerdictKind.REUSED_VERSION), text)
        if marker.version < stamp.version:
            raise BadDelivery(
                uri, str(VerdictKind.OLDER_VERSION), f"{seen}, now version {marker.version} lies there"
            )
        if self._acceptance.on_replaced == "fail":
            raise BadDelivery(
                uri, "replaced", f"{seen}, now version {marker.version} lies there (on_replaced='fail')"
            )
        self._tell(f"{uri}: {seen}; version {marker.version} has replaced it and is taken instead")
        return reading, marker, verdict

    async def _verified(self, store: Store, reading: Reading, marker: Marker) -> Report:
        self._busy = f"verifying 0 of {len(marker.manifest.files)} files"
        report = await verify(
            store,
            reading.sighting.address,
            marker,
            level=self._terms.verify,
            on_unexpected=self._acceptance.on_unexpected,
            documents=reading.documents,
            progress=self._note_progress,
            in_progress=self._in_progress,
        )
        for note in report.notes:
            self._tell(note)
        if report.warnings:
            names = ", ".join(problem.place for problem in report.warnings[:3])
            self._tell(f"{report.warnings_total} files that the manifest does not list, such as {names}")
        if not report.ok:
            text = f"version {marker.version}: {report.text} among {report.files} files"
            kind = report.problems[0].kind
            if report.undecided:  # which the partner cannot mend
                raise AccessTrouble(reading.sighting.address.uri, "access", text, problems=report.problems)
            raise BadDelivery(reading.sighting.address.uri, kind, text, problems=report.problems)
        self._busy = "reading the marker once more"
        return report

    def _note_progress(self, progress: Progress) -> None:
        self._busy = f"verifying {progress.files_done} of {progress.files} files"
        if self._progress is not None:
            self._progress(progress)


def _sorted(terms: Terms, error: StoreError) -> AccessTrouble | Unavailable:
    if isinstance(error, InvalidAccess):
        return AccessTrouble(terms.target.text, "configuration", str(error))
    if isinstance(error, LastingTrouble):
        return AccessTrouble(terms.target.text, "access", error.reason)
    return Unavailable(terms.target.text, "trouble", error.reason)
