"""How the command line reaches a store: options, a connection of Airflow, or the environment."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Way
    from airflow_landmark.stores import Access

__all__ = ["Reach", "reach_options", "reach_to"]

CommandT = TypeVar("CommandT", bound=Callable[..., object])

_USER, _PASSWORD, _TOKEN = (f"LANDMARK_HTTP_{name}" for name in ("USER", "PASSWORD", "TOKEN"))


@dataclass(frozen=True, slots=True)
class Reach:
    """How a store is reached.

    :param way: connection and options.
    :param access: what the environment says in place of a connection; ``None`` leaves it to the way.
    """

    way: Way
    access: Access | None


def reach_options(command: CommandT) -> CommandT:
    """``--conn-id`` and ``--option``."""
    text = "Airflow connection with the credentials for s3:// or https://; needs Airflow. Else those of the "
    text += "environment are taken."
    command = click.option("--conn-id", metavar="NAME", help=text)(command)
    text = "A setting of the store, such as region=eu-west-3 or verify=/etc/ca.pem; repeatable."
    return click.option("--option", "options", metavar="KEY=VALUE", multiple=True, help=text)(command)


def reach_to(uri: str, *, conn_id: str | None, options: tuple[str, ...]) -> Reach:
    """The way to a place that was checked.

    :raises click.BadParameter: when connection and options do not fit to the place.
    """
    from airflow_landmark.deliveries import Way  # noqa: PLC0415
    from airflow_landmark.stores import InvalidAccess, parse_uri  # noqa: PLC0415

    place = parse_uri(uri, folder=True)
    chosen = _parsed(place.scheme, options)
    way = Way(conn_id, chosen)
    try:
        way.check(place.scheme)
    except InvalidAccess as error:
        raise click.BadParameter(str(error), param_hint="'--conn-id'") from None
    if conn_id is not None:
        _quieten_airflow()
        return Reach(way, None)
    origin = f"{place.scheme}://{place.authority}"
    return Reach(way, _http_of_environment(origin, chosen) if place.scheme in ("http", "https") else None)


def _parsed(scheme: str, options: tuple[str, ...]) -> dict[str, Any]:
    """The options by name. A value is a flag or a number where the option takes one, and else text."""
    from airflow_landmark.stores import InvalidAccess, options_of  # noqa: PLC0415

    chosen: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or name in chosen:
            reason = "is given twice" if equals else "is not of the form KEY=VALUE"
            raise click.BadParameter(f"{name!r} {reason}", param_hint="'--option'")
        try:
            chosen |= options_of(scheme, {name: _value(text)})
        except InvalidAccess as error:
            chosen |= _as_text(scheme, name, text, error)
    return chosen


def _as_text(scheme: str, name: str, text: str, reason: Exception) -> Mapping[str, Any]:
    """The option with its text as it is: a region or a profile may look like a number."""
    from airflow_landmark.stores import InvalidAccess, options_of  # noqa: PLC0415

    try:
        return options_of(scheme, {name: text})
    except InvalidAccess:
        raise click.BadParameter(str(reason), param_hint="'--option'") from None


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else text


def _http_of_environment(origin: str, options: Mapping[str, Any]) -> Access | None:
    """Credentials from the environment: they are for the origin of the given URI, and for no other."""
    from airflow_landmark.stores import HttpAccess  # noqa: PLC0415

    user, password, token = (os.environ.get(name) or None for name in (_USER, _PASSWORD, _TOKEN))
    if user is None and token is None:
        return None
    if user is not None and token is not None:
        raise click.UsageError(f"{_USER} and {_TOKEN} exclude each other: unset one of them")
    if any(value is not None and not value.isprintable() for value in (user, password, token)):
        raise click.UsageError(f"{_USER}, {_PASSWORD} and {_TOKEN} must be printable text")
    headers = () if token is None else (("Authorization", f"Bearer {token}"),)
    return HttpAccess(**options, origin=origin, username=user, password=password, headers=headers)


def _quieten_airflow() -> None:
    """Keep Airflow's log out of the answer: without this it goes to stdout."""
    try:
        from airflow.sdk.log import configure_logging  # noqa: PLC0415
    except ImportError:
        return  # which is told when the connection is looked up
    configure_logging(log_level="ERROR", output=sys.stderr)
