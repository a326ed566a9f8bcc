"""``landmark wait``."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Literal

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
from ._print import err, out_json
from ._progress import showing
from ._reach import reach_options, reach_to
from ._types import Place, Seconds

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Accepted, DeliveryError, Form, Level, Outcome, Target, Terms
    from airflow_landmark.stores import Access

__all__ = ["wait"]


@click.command()
@click.argument("uri", type=Place())
@dataset_option(required=True)
@click.option("--interval", metavar="A/B", required=True, help="The expected interval.")
@zone_option
@min_version_option
@click.option(
    "--pattern",
    metavar="P",
    help="URI is a folder; the marker's name matches this shell pattern. The highest version wins.",
)
@click.option("--timeout", type=Seconds(), metavar="S", help="At most so many seconds; else for ever.")
@click.option(
    "--poll",
    type=Seconds(least=0.1, most=86_400.0),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds between looks.",
)
@level_option
@click.option(
    "--on-mismatch",
    type=click.Choice(["wait", "fail"]),
    default="wait",
    show_default=True,
    help="What to do while another dataset or interval lies there.",
)
@format_options
@reach_options
@json_option
def wait(
    *,
    uri: str,
    dataset: str,
    interval: str,
    zone: str | None,
    min_version: int,
    pattern: str | None,
    timeout: float | None,
    poll: float,
    level: Level,
    on_mismatch: Literal["wait", "fail"],
    format_name: str | None,
    declared: tuple[str, ...],
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,  # noqa: ARG001 - the answer is JSON in any case; errors are told where they end
) -> Exit:
    """Wait for a delivery, verify it, and print its document.

    URI names the marker or, with a slash at its end, its folder: a local path, s3://bucket/key or
    https://host/path.

    The JSON document on stdout is the one that a sensor returns; what is seen meanwhile goes to stderr.
    With --json a failure is a JSON document on stdout too.
    """
    from airflow_landmark.deliveries import Terms, run  # noqa: PLC0415
    from airflow_landmark.markers import Expectation  # noqa: PLC0415

    deadline = None if timeout is None else datetime.now(tz=timezone.utc) + timedelta(seconds=timeout)
    form = form_of(format_name, declared, uri=uri, pattern=pattern)
    reach = reach_to(uri, conn_id=conn_id, options=options)
    terms = Terms(
        target=_target_of(uri, pattern, reach.access, form),
        expectation=Expectation(dataset, interval_of(interval, zone), min_version),
        verify=level,
        poll_interval=poll,
        deadline=deadline,
        on_mismatch=on_mismatch,
        way=reach.way,
    )
    _tell(f"waiting at {terms.target.text} for {dataset}, {terms.expectation.interval}")
    accepted = run(lambda: _receive(terms))
    delivery = accepted.delivery
    _tell(f"accepted version {delivery.version}, verified: {delivery.level}")
    out_json(delivery.to_xcom())
    return Exit.YES


def _tell(text: str) -> None:
    now = datetime.now(tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    err(f"{now} {text}")


def _target_of(uri: str, pattern: str | None, access: Access | None, form: Form | None) -> Target:
    from airflow_landmark.deliveries import Target  # noqa: PLC0415
    from airflow_landmark.stores import InvalidAddress  # noqa: PLC0415

    try:
        target = Target.of(uri, pattern, access=access, form=form)
    except InvalidAddress as error:
        raise click.BadParameter(f"{error.place}: {error.reason}", param_hint="'--pattern'") from None
    _refuse_unclear(target)
    return target


def _refuse_unclear(target: Target) -> None:
    """A name that looks like a folder's, where nothing lies yet: it would be waited for as a file."""
    address = target.address
    if target.pattern or target.form.foreign or "." in address.name:
        return
    if address.scheme != "file":  # whether something lies there is not known before the first look
        _tell(f"{address.uri} is taken for the marker: a slash at the end makes it the marker's folder")
        return
    if os.path.exists(address.uri):  # noqa: PTH110
        return
    text = f"nothing lies at {address.uri} yet: end it with a slash if it will be a folder, and else give "
    text += "the folder, with the marker's name as --pattern"
    raise click.BadParameter(text, param_hint="'URI'")


async def _receive(terms: Terms) -> Accepted:
    """Wait, then accept what came."""
    from airflow_landmark.deliveries import AccessTrouble, Unavailable, accept, wait  # noqa: PLC0415
    from airflow_landmark.stores import LastingTrouble, StoreError  # noqa: PLC0415

    try:
        outcome = await wait(terms, tell=_tell)
    except LastingTrouble as error:
        raise AccessTrouble(terms.target.text, "access", str(error)) from None
    except StoreError as error:
        raise Unavailable(terms.target.text, "trouble", str(error)) from None
    if outcome.stamp is None:
        raise _ending(terms, outcome)
    with showing("Verifying") as progress:
        return await accept(terms, stamp=outcome.stamp, tell=_tell, progress=progress)


def _ending(terms: Terms, outcome: Outcome) -> DeliveryError:
    """The error that a wait without a delivery ends as."""
    from airflow_landmark.deliveries import AccessTrouble, BadDelivery, NotInTime, Unavailable  # noqa: PLC0415

    uri, late = terms.target.text, outcome.kind == "deadline"
    text = f"not in time; last seen: {outcome.text}" if late else outcome.text
    if outcome.word == "access":
        return AccessTrouble(uri, "access", text)
    if outcome.word == "trouble":
        return Unavailable(uri, "trouble", text)
    return NotInTime(uri, "not in time", text) if late else BadDelivery(uri, outcome.word, text)
