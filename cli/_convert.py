"""``landmark convert``."""

from __future__ import annotations

import click

from ._announced import announced_document, announced_lines
from ._exits import Exit
from ._format_options import declare_option, form_of
from ._options import json_option, marker_name_option
from ._print import out, out_json
from ._progress import showing
from ._reach import reach_options, reach_to
from ._types import Place

__all__ = ["convert"]


@click.command(short_help="Write a marker beside one of a foreign format.")
@click.argument("uri", type=Place())
@click.option("--format", "format_name", metavar="NAME", required=True, help="The format of what lies there.")
@declare_option
@click.option(
    "--to",
    "target_format",
    type=click.Choice(["landmark"]),
    default="landmark",
    show_default=True,
    help="The format of the new marker.",
)
@marker_name_option
@click.option("--producer", metavar="TEXT", help="Who delivers; informative.")
@reach_options
@json_option
def convert(
    *,
    uri: str,
    format_name: str,
    declared: tuple[str, ...],
    target_format: str,  # noqa: ARG001 - there is one
    name: str,
    producer: str | None,
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Hold a delivery of a foreign format against what it promises, and write landmark's marker beside it.

    URI names the list, manifest, sentinel or control file or, with a slash at its end, its folder. Every
    file is hashed; nothing is written unless all of them are what was promised.
    """
    from airflow_landmark.deliveries import Form, run  # noqa: PLC0415
    from airflow_landmark.deliveries import convert as converted  # noqa: PLC0415

    form = form_of(format_name, declared, uri=uri) or Form()
    reach = reach_to(uri, conn_id=conn_id, options=options)
    with showing("Hashing") as progress:
        announced = run(
            lambda: converted(
                uri,
                form=form,
                name=name,
                producer=producer,
                progress=progress,
                way=reach.way,
                access=reach.access,
            )
        )
    if as_json:
        out_json(announced_document(announced))
    else:
        out(*announced_lines(announced, word="CONVERTED", rows=True))
    return Exit.YES
