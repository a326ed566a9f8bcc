"""``landmark deliver``."""

from __future__ import annotations

import click

from ._announced import announced_document, announced_lines
from ._exits import Exit
from ._options import VERSION, dataset_option, interval_of, json_option, marker_name_option, zone_option
from ._print import out, out_json
from ._progress import showing
from ._reach import reach_options, reach_to
from ._types import Place, Whole

__all__ = ["deliver"]

_MAX_HEADER_ROWS = 1_000_000


@click.command(short_help="Hash the files of a folder, then write the marker.")
@click.argument("folder", type=Place(folder=True))
@click.argument("destination", type=Place(folder=True), required=False)
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
@marker_name_option
@click.option("--withdraw", is_flag=True, help="Recall what was delivered; no files are announced.")
@click.option("--allow-empty", is_flag=True, help="A folder without files is meant to be empty.")
@click.option("--producer", metavar="TEXT", help="Who delivers; informative.")
@click.option(
    "--also",
    type=click.Choice(["sums"]),
    multiple=True,
    help="Write a list of checksums, SHA256SUMS, before the marker.",
)
@reach_options
@json_option
def deliver(
    *,
    folder: str,
    destination: str | None,
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
    also: tuple[str, ...],
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Announce the files of FOLDER: hash them all, then write the marker.

    With DESTINATION the files of the local FOLDER are carried there first, and the marker is written there.
    Either place may be a local path or, to be announced in, s3://bucket/prefix; nothing is written to
    https://host/path.

    Every file below FOLDER is announced. Nothing is written when a file changes meanwhile, when a name
    or a link is one that readers refuse, or when this version or a higher one lies there.
    """
    from airflow_landmark.deliveries import Announcement, announce, run  # noqa: PLC0415
    from airflow_landmark.markers import Expectation  # noqa: PLC0415

    _refuse_idle(withdraw=withdraw, rows=rows, header_rows=header_rows, allow_empty=allow_empty)
    if withdraw and (also or destination):
        raise click.UsageError("--withdraw carries no files: give the delivery's folder alone")
    announcement = Announcement(
        Expectation(dataset, interval_of(interval, zone), version),
        name=name,
        count_rows=rows == "auto",
        header_rows=header_rows,
        withdraw=withdraw,
        allow_empty=allow_empty,
        producer=producer,
        timezone=zone,
        also=also,
    )
    place, source = (folder, None) if destination is None else (destination, folder)
    reach = reach_to(place, conn_id=conn_id, options=options)
    with showing("Hashing" if source is None else "Delivering") as progress:
        announced = run(
            lambda: announce(
                place,
                announcement,
                source=source,
                progress=progress,
                way=reach.way,
                access=reach.access,
            )
        )
    if as_json:
        out_json(announced_document(announced))
    else:
        out(*announced_lines(announced, word="WITHDRAWN" if withdraw else "ANNOUNCED", rows=rows == "auto"))
    return Exit.YES


def _refuse_idle(*, withdraw: bool, rows: str, header_rows: int, allow_empty: bool) -> None:
    """Options that would do nothing are a misunderstanding."""
    if withdraw and (rows == "auto" or allow_empty):
        raise click.UsageError("--withdraw announces no files: leave out --rows and --allow-empty")
    if header_rows and rows != "auto":
        raise click.UsageError("--header-rows counts only together with --rows auto")
