"""``landmark verify``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from ._exits import Exit
from ._format_options import form_of, format_options
from ._options import (
    dataset_option,
    interval_of,
    json_option,
    level_option,
    min_version_option,
    zone_option,
)
from ._print import banner, counted, facts, out, out_json, problem_lines, safe
from ._progress import showing
from ._reach import reach_options, reach_to
from ._types import Place

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Check, Level, Report
    from airflow_landmark.markers import Marker

__all__ = ["verify"]

_STATUS = {"yes": Exit.YES, "no": Exit.NO, "unknown": Exit.UNKNOWN}
_WORDS = {Exit.YES: "HOLDS", Exit.NO: "DOES NOT HOLD", Exit.UNKNOWN: "COULD NOT TELL"}


@click.command()
@click.argument("uri", type=Place())
@dataset_option(required=False)
@click.option("--interval", metavar="A/B", help="The expected interval; else the marker's own.")
@zone_option
@min_version_option
@level_option
@click.option(
    "--unexpected",
    type=click.Choice(["ignore", "warn", "fail"]),
    default="ignore",
    show_default=True,
    help="What to do about files in the folder that the marker does not list.",
)
@format_options
@reach_options
@json_option
def verify(
    *,
    uri: str,
    dataset: str | None,
    interval: str | None,
    zone: str | None,
    min_version: int,
    level: Level,
    unexpected: Literal["ignore", "warn", "fail"],
    format_name: str | None,
    declared: tuple[str, ...],
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Look once whether a delivery holds what its marker promises.

    URI names the marker or, with a slash at its end, its folder: a local path, s3://bucket/key or
    https://host/path.
    """
    from airflow_landmark.deliveries import check, run  # noqa: PLC0415

    if zone and not interval:
        raise click.UsageError("--timezone says what day --interval means: give --interval too")
    expected = interval_of(interval, zone) if interval else None
    form = form_of(format_name, declared, uri=uri)
    reach = reach_to(uri, conn_id=conn_id, options=options)
    with showing("Verifying") as progress:
        found = run(
            lambda: check(
                uri,
                dataset=dataset,
                interval=expected,
                min_version=min_version,
                level=level,
                on_unexpected=unexpected,
                progress=progress,
                way=reach.way,
                access=reach.access,
                form=form,
            )
        )
    if as_json:
        out_json(_document(found))
    else:
        out(*_lines(found))
    return _STATUS[found.answer]


def _document(found: Check) -> dict[str, Any]:
    error = {} if found.ok else {"error": {"kind": found.verdict, "text": found.text}}
    return {"ok": found.ok, **error, **found.to_json()}


def _lines(found: Check) -> Iterator[str]:
    status = _STATUS[found.answer]
    judged = found.answer == "no" and found.marker is not None and found.report is None
    word = "NOT THERE" if found.verdict == "absent" else _WORDS[status]
    yield banner(status, word, found.verdict if judged else found.text)
    yield from problem_lines(found.problems, total=found.problems_total)
    yield from [""] if found.problems else []
    yield from facts(
        ("marker", found.uri),
        ("sha256", found.sighting.sha256 if found.sighting else None),
        *(_marker_facts(found.marker) if found.marker else ()),
        ("proven", _proven(found)),
    )
    if found.report:
        yield from (f"  note: {safe(note)}" for note in found.report.notes)
        yield from _warnings(found.report)


def _warnings(report: Report) -> Iterator[str]:
    yield from (f"  unexpected file: {safe(problem.place)}" for problem in report.warnings)
    if report.warnings_total > len(report.warnings):
        yield f"  and {report.warnings_total - len(report.warnings):,} more"


def _marker_facts(marker: Marker) -> Iterator[tuple[str, str | None]]:
    sums = marker.manifest
    counts = [counted(len(sums.files), "file")]
    counts += [counted(sums.size_bytes, "byte")] if sums.size_bytes is not None else []
    counts += [counted(sums.rows, "row")] if sums.rows is not None and sums.files else []
    yield "dataset", marker.dataset
    yield "interval", f"{marker.interval}" + (f" ({marker.timezone})" if marker.timezone else "")
    yield "version", f"{marker.version}" + (" (withdrawn)" if marker.status == "withdrawn" else "")
    yield "promised", ", ".join(counts) if marker.status == "complete" else None


def _proven(found: Check) -> str | None:
    """What was found right, file by file."""
    report = found.report
    if report is None or found.level == "marker":
        return None
    proven = [f"presence and size of {counted(len(report.facts), 'file')}"]
    proven += [f"{name} of {counted(count, 'file')}" for name, count in sorted(report.digests.items())]
    proven += [f"{counted(report.held, 'file')} by the store's own digest"] if report.held else []
    proven += [f"rows of {counted(report.rows_counted, 'file')}"] if report.rows_counted else []
    return ", ".join(proven)
