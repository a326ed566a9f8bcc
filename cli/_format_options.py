"""``--format`` and ``--declare``: markers that partners write in their own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Form

__all__ = ["declare_option", "form_of", "format_options"]

CommandT = TypeVar("CommandT", bound=Callable[..., object])


def format_options(command: CommandT) -> CommandT:
    """``--format`` and ``--declare``."""
    text = "The format of the marker, such as sums, bagit or sentinel; else the project's own."
    return declare_option(click.option("--format", "format_name", metavar="NAME", help=text)(command))


def declare_option(command: CommandT) -> CommandT:
    """``--declare``."""
    text = "What a foreign format does not tell itself, such as version=1 or path=/(?P<day>[0-9-]+)/; "
    text += "repeatable."
    return click.option("--declare", "declared", metavar="KEY=TEXT", multiple=True, help=text)(command)


def form_of(
    format_name: str | None, declared: tuple[str, ...], *, uri: str, pattern: str | None = None
) -> Form | None:
    """The form that the options name; ``None`` for the project's own.

    :param uri: what is read so: a folder only where the format has a usual name, or there is a pattern.
    :raises click.BadParameter: when there is no such format, or it could never be read so.
    """
    from airflow_landmark.deliveries import Form  # noqa: PLC0415
    from airflow_landmark.markers import InvalidDeclaration  # noqa: PLC0415

    if format_name is None:
        if declared:
            raise click.UsageError("--declare is for foreign formats: name one with --format")
        return None
    try:
        form = Form.of(format_name, _texts_of(declared))
    except InvalidDeclaration as error:
        raise click.BadParameter(f"{error}", param_hint="'--format'") from None
    if uri.endswith("/") and pattern is None and not form.format.default_name:
        text = f"format {form.name} has no usual file name: name the file, not its folder"
        raise click.BadParameter(text, param_hint="'URI'")
    return form


def _texts_of(declared: tuple[str, ...]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for entry in declared:
        key, equals, text = entry.partition("=")
        if not equals or key in texts:
            reason = "is given twice" if equals else "is not of the form KEY=TEXT"
            raise click.BadParameter(f"{key!r} {reason}", param_hint="'--declare'")
        texts[key] = text
    return texts
