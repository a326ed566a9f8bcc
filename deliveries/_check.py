"""Checking: one look, one judgement, one verification, one answer. Nothing is raised for what is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airflow_landmark.markers import (
    Expectation,
    Interval,
    Marker,
    Problem,
    UnreadableMarker,
    VerdictKind,
    judge,
)
from airflow_landmark.stores import (
    Access,
    Changed,
    Refused,
    Store,
    StoreError,
    open_store,
)

from ._access import Way, reached
from ._assess import Level
from ._checked import Check
from ._look import look_at, still_there
from ._report import Progress, Report
from ._target import Form, Reading, State, Target
from ._verify import OnUnexpected, verify

__all__ = ["check"]

_FIELDS = {
    VerdictKind.OTHER_DATASET: "dataset",
    VerdictKind.OTHER_INTERVAL: "interval",
    VerdictKind.OLDER_VERSION: "version",
    VerdictKind.WITHDRAWN: "status",
}


async def check(
    uri: str,
    *,
    dataset: str | None = None,
    interval: Interval | None = None,
    min_version: int = 1,
    level: Level = "digests",
    on_unexpected: OnUnexpected = "ignore",
    progress: Callable[[Progress], None] | None = None,
    way: Way | None = None,
    access: Access | None = None,
    form: Form | None = None,
) -> Check:
    """Whether the delivery that lies there now holds what its marker promises, and is the expected one.

    :param uri: the marker; a trailing slash stands for the default name in that folder.
    :param dataset: the expected one; ``None`` takes the marker's own.
    :param interval: the expected one; ``None`` takes the marker's own.
    :param min_version: the least acceptable version.
    :param level: how much is proven: ``"marker"``, ``"files"``, ``"digests"``, ``"rows"``.
    :param on_unexpected: what files that the manifest does not list are.
    :param progress: is called as files are verified.
    :param way: how the store is reached, by name; ``None`` for the environment's settings.
    :param access: how it is reached, in place of ``way``.
    :param form: in which format the marker is written; ``None`` for the project's own.
    :raises InvalidAddress: when the URI names no place.
    :raises InvalidExpectation: when no marker could meet the expectation.
    """
    target = Target.of(uri, access=access, form=form)
    here = Check(target.address.uri, level, "unknown", "trouble", "")
    try:
        target = await reached(target, way or Way())
        async with open_store(target.address) as store:
            found, reading = await _look(here, store, target)
            if reading is None:
                return found
            found = _judge(found, dataset=dataset, interval=interval, min_version=min_version)
            if found.answer == "no":
                return found
            return await _verify(
                found, store, reading, form=target.form, on_unexpected=on_unexpected, progress=progress
            )
    except StoreError as error:
        return _troubled(here, error)


async def _look(here: Check, store: Store, target: Target) -> tuple[Check, Reading | None]:
    """The check with its marker, and the reading when that is a valid one."""
    state = (await look_at(store, {target: State()}))[target]
    if state.trouble is not None:
        return _troubled(here, state.trouble), None
    if not state.readings:
        return replace(here, answer="no", verdict="absent", text=state.reason), None
    reading = state.readings[0]
    seen = replace(here, sighting=reading.sighting)
    if isinstance(reading.found, Marker):
        return replace(seen, marker=reading.found), reading
    return _unreadable(seen, reading.found), None


def _unreadable(seen: Check, report: UnreadableMarker) -> Check:
    text = f"not a valid marker: {report.total} problems" if report.total > 1 else "not a valid marker"
    return replace(
        seen,
        answer="no",
        verdict="unreadable",
        text=text,
        problems=report.problems,
        problems_total=report.total,
    )


def _judge(seen: Check, *, dataset: str | None, interval: Interval | None, min_version: int) -> Check:
    """Without an expectation the marker's own values are expected."""
    marker = seen.marker
    if marker is None:
        return seen
    wanted = Expectation(dataset or marker.dataset, interval or marker.interval, min_version)
    verdict = judge(marker, wanted)
    if verdict.arrived:
        return seen
    problem = Problem(str(verdict.kind), _FIELDS[verdict.kind], verdict.expected, verdict.found)
    return replace(
        seen,
        answer="no",
        verdict=problem.kind,
        text=verdict.text,
        problems=(problem,),
        problems_total=1,
    )


async def _verify(
    seen: Check,
    store: Store,
    reading: Reading,
    *,
    form: Form,
    on_unexpected: OnUnexpected,
    progress: Callable[[Progress], None] | None,
) -> Check:
    marker = seen.marker
    if marker is None:
        return seen
    try:
        report = await verify(
            store,
            reading.sighting.address,
            marker,
            level=seen.level,
            on_unexpected=on_unexpected,
            documents=reading.documents,
            progress=progress,
            recheck_seconds=(),
        )
        if not await still_there(store, reading, form):
            raise Changed(seen.uri, "the marker was replaced or removed while the files were verified")
    except StoreError as error:
        return _troubled(seen, error)
    return _reported(seen, marker, report)


def _reported(seen: Check, marker: Marker, report: Report) -> Check:
    found = replace(seen, problems=tuple(report.problems), problems_total=report.total, report=report)
    files = f"{report.files} files" if report.files != 1 else "1 file"
    text = f"version {marker.version}: {report.text} among {files}"
    if report.ok:
        if seen.level == "marker":
            text = f"version {marker.version}: the marker is valid; {files} not looked at"
        return replace(found, answer="yes", verdict="holds", text=text)
    if report.undecided:
        return replace(found, answer="unknown", verdict="undecided", text=text)
    return replace(found, answer="no", verdict="does not hold", text=text)


def _troubled(seen: Check, error: StoreError) -> Check:
    text = error.reason if error.place == seen.uri else str(error)
    if isinstance(error, Refused):
        return replace(seen, answer="no", verdict="refused", text=text)
    verdict = "changed" if isinstance(error, Changed) else "trouble"
    return replace(seen, answer="unknown", verdict=verdict, text=text)
