"""``landmark deliver``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ._exits import Exit
from ._options import VERSION, dataset_option, interval_of, json_option, zone_option
from ._print import banner, counted, facts, hanging, out, out_json, safe
from ._progress import showing
from ._types import Place, Whole

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Announced, Announcement

__all__ = ["deliver"]

_MAX_HEADER_ROWS = 1_000_000
_MAX_NAMED = 20


def _marker_name(context: click.Context, parameter: click.Parameter, name: str) -> str:
    from airflow_landmark.markers import UnsafePath, check_path  # noqa: PLC0415

    try:
        if "/" not in check_path(name):
            return name
        text = "the marker lies directly in the folder: give a plain file name"
    except UnsafePath as error:
        text = str(error)
    raise click.BadParameter(text, ctx=context, param=parameter)


@click.command(short_help="Hash the files of a folder, then write the marker.")
@click.argument("folder", type=Place(folder=True))
@dataset_option(required=True)
@click.option(
    "--interval", metavar="A/B", required=True, help="Two RFC 3339 instants: what time the data is about."
)
@zone_option
@click.option("--version", type=VERSION, metavar="N", required=True, help="1, and more at each correction.")
@click.option(
    "--rows",
    type=click.Choice(["auto", "none"]),
    default="none",
    show_default=True,
    help="Count data records where the kind of file allows it: CSV, TSV, JSON lines, Parquet; also gzip.",
)
@click.option(
    "--header-rows",
    type=Whole(least=0, most=_MAX_HEADER_ROWS),
    default=0,
    metavar="N",
    help="Records before the data in each CSV or TSV file.",
)
@click.option(
    "--name",
    default="_delivery.json",
    show_default=True,
    metavar="NAME",
    callback=_marker_name,
    help="The marker's file name.",
)
@click.option("--withdraw", is_flag=True, help="Recall what was delivered; no files are announced.")
@click.option("--allow-empty", is_flag=True, help="A folder without files is meant to be empty.")
@click.option("--producer", metavar="TEXT", help="Who delivers; informative.")
@json_option
def deliver(
    *,
    folder: str,
    dataset: str,
    interval: str,
    zone: str | None,
    version: int,
    rows: str,
    header_rows: int,
    name: str,
    withdraw: bool,
    allow_empty: bool,
    producer: str | None,
    as_json: bool,
) -> Exit:
    """Announce the files of FOLDER: hash them all, then write the marker.

    Every file below FOLDER is announced. Nothing is written when a file changes meanwhile, when a name
    or a link is one that readers refuse, or when this version or a higher one lies there.
    """
    from airflow_landmark.deliveries import Announcement, announce, run  # noqa: PLC0415
    from airflow_landmark.markers import Expectation  # noqa: PLC0415

    _refuse_idle(withdraw=withdraw, rows=rows, header_rows=header_rows, allow_empty=allow_empty)
    announcement = Announcement(
        Expectation(dataset, interval_of(interval, zone), version),
        name=name,
        count_rows=rows == "auto",
        header_rows=header_rows,
        withdraw=withdraw,
        allow_empty=allow_empty,
        producer=producer,
        timezone=zone,
    )
    with showing("Hashing") as progress:
        announced = run(lambda: announce(folder, announcement, progress=progress))
    if as_json:
        out_json(_document(announced))
    else:
        out(*_lines(announced, announcement))
    return Exit.YES


def _refuse_idle(*, withdraw: bool, rows: str, header_rows: int, allow_empty: bool) -> None:
    """Options that would do nothing are a misunderstanding."""
    if withdraw and (rows == "auto" or allow_empty):
        raise click.UsageError("--withdraw announces no files: leave out --rows and --allow-empty")
    if header_rows and rows != "auto":
        raise click.UsageError("--header-rows counts only together with --rows auto")


def _document(announced: Announced) -> dict[str, Any]:
    stamp, marker = announced.stamp, announced.marker
    return {
        "ok": True,
        "dataset": stamp.dataset,
        "interval": stamp.interval.to_json(),
        "version": stamp.version,
        "status": marker.status,
        "marker": {
            "uri": stamp.uri,
            "sha256": stamp.sha256,
            "size": stamp.size,
            "pin": stamp.pin.to_json(),
        },
        "manifest": marker.manifest.counts(),
        "not_counted": dict(announced.not_counted),
    }


def _lines(announced: Announced, asked: Announcement) -> Iterator[str]:
    stamp, missed = announced.stamp, announced.not_counted
    word = "WITHDRAWN" if asked.withdraw else "ANNOUNCED"
    yield banner(Exit.YES, word, f"version {stamp.version} of {stamp.dataset}")
    files = f"{counted(stamp.files, 'file')}, {counted(stamp.size_bytes or 0, 'byte')}"
    yield from facts(
        ("marker", stamp.uri),
        ("sha256", stamp.sha256),
        ("interval", f"{stamp.interval}" + (f" ({asked.timezone})" if asked.timezone else "")),
        ("files", None if asked.withdraw else files),
        ("rows", _rows(announced) if asked.count_rows else None),
    )
    for path, reason in list(missed.items())[:_MAX_NAMED]:
        yield f"  not counted: {safe(path)}"
        yield from hanging(safe(reason), indent=4)
    if len(missed) > _MAX_NAMED:
        yield f"  and {counted(len(missed) - _MAX_NAMED, 'file')} more not counted"


def _rows(announced: Announced) -> str:
    known = [entry.rows for entry in announced.marker.manifest.files if entry.rows is not None]
    text = f"{sum(known):,}"
    return f"{text} in {counted(len(known), 'file')}" if announced.not_counted else text
