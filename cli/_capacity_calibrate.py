"""``landmark capacity calibrate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._exits import Exit
from ._options import json_option
from ._print import banner, err, facts, out, out_json
from ._types import Seconds, Whole

if TYPE_CHECKING:
    from airflow_landmark.capacity import Kind

__all__ = ["calibrate"]

_LONGEST_KWARGS = 65_536


def _kwargs(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """A JSON object."""
    if value is None:
        return None
    try:
        found = json.loads(value) if len(value) <= _LONGEST_KWARGS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise click.BadParameter("expected a JSON object of arguments", ctx=context, param=parameter)
    return found


@click.command()
@click.argument("trigger", metavar="TRIGGER")
@click.option(
    "--kwargs",
    metavar="JSON",
    callback=_kwargs,
    help="Its constructor's arguments; {n} is the copy's number, {folder} an empty folder, {stub} a web "
    'server that has nothing, {"instant": "{far}"} a moment in ten years. Not needed for common triggers.',
)
@click.option(
    "--count",
    type=Whole(least=1, most=100_000),
    default=100,
    show_default=True,
    metavar="N",
    help="How many copies wait together.",
)
@click.option(
    "--seconds",
    "window",
    type=Seconds(least=1.0, most=3_600.0),
    default=20.0,
    show_default=True,
    metavar="S",
    help="How long to measure; at least four of its poll intervals.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Where to write what --calibration of the other commands reads.",
)
@json_option
def calibrate(
    *,
    trigger: str,
    kwargs: dict[str, Any] | None,
    count: int,
    window: float,
    output: Path | None,
    as_json: bool,
) -> Exit:
    """Measure what one trigger of a class costs: memory, CPU, descriptors, log lines, requests.

    TRIGGER is a class path, or the class name of a common trigger. Copies of it wait in one event loop, in
    a process of its own, for something that never comes. Nothing outside this machine is asked.
    """
    from airflow_landmark.capacity import calibrate as measured  # noqa: PLC0415
    from airflow_landmark.capacity import calibration_text  # noqa: PLC0415

    if not as_json:
        err(f"measuring {count:,} copies of {trigger}; this takes about {window + 20:.0f} s")
    kind = measured(trigger, kwargs=kwargs, count=count, window=window)
    if output is not None:
        _write(output, calibration_text([kind]))
    if as_json:
        out_json({"landmark_calibration": 1, "kind": kind.to_json()})
    else:
        _show(kind, output)
    return Exit.YES


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error}"
        raise click.BadParameter(reason, param_hint="'--output'") from None


def _show(kind: Kind, output: Path | None) -> None:
    out(
        banner(Exit.YES, "measured", kind.path),
        *facts(
            ("memory", f"{kind.memory_bytes / 1024:,.1f} KiB a wait"),
            ("check", f"{kind.check_cpu * 1e3:.3g} ms of CPU"),
            ("start", f"{kind.start_cpu * 1e3:.3g} ms of CPU until the first check"),
            (
                "files",
                f"{kind.descriptors:.2g} open files and sockets a wait, one log in the supervisor apart",
            ),
            ("log lines", f"{kind.lines:.2g} a check"),
            ("requests", f"{kind.requests:.2g} to Airflow a check"),
            ("poll", f"{kind.poll_interval:g} s"),
            ("version", kind.version),
            ("machine", kind.machine),
            ("written", None if output is None else str(output)),
        ),
    )
