"""The formats that are known here: those of this package, and those that other packages bring."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points

from ._errors import InvalidDeclaration
from ._formats import LANDMARK, Format
from ._problems import show

__all__ = ["format_of", "formats"]

_GROUP = "airflow_landmark.formats"
_OWN: Mapping[str, str] = {
    "bagit": "_format_bagit:BAGIT",
    "cloudevents": "_format_cloudevents:CLOUDEVENTS",
    "control": "_format_control:CONTROL",
    "datapackage": "_format_datapackage:DATAPACKAGE",
    "redshift": "_format_redshift:REDSHIFT",
    "s3-inventory": "_format_s3_inventory:S3_INVENTORY",
    "sentinel": "_format_sentinel:SENTINEL",
    "sums": "_format_sums:SUMS",
    "trailer": "_format_control:TRAILER",
}


def formats() -> list[str]:
    """The names of all formats: this package's, and those of installed packages."""
    return sorted({LANDMARK.name, *_OWN, *(entry.name for entry in entry_points(group=_GROUP))})


def format_of(name: str) -> Format:
    """The format of that name; this package's own names cannot be taken by another.

    :raises InvalidDeclaration: when there is none, or the package that brings it is broken.
    """
    if not isinstance(name, str):
        raise InvalidDeclaration(f"format must be a name, not {show(name)}")
    return _loaded(name)


@functools.cache
def _loaded(name: str) -> Format:
    if name == LANDMARK.name:
        return LANDMARK
    if name in _OWN:
        module, _, constant = _OWN[name].partition(":")
        own: Format = getattr(import_module(f".{module}", __package__), constant)
        return own
    entries = {entry.value: entry for entry in entry_points(group=_GROUP, name=name)}
    if len(entries) > 1:
        raise InvalidDeclaration(f"format {name}: brought by {' and by '.join(sorted(entries))}: keep one")
    for where, entry in entries.items():
        return _foreign(name, where, entry.load)
    raise InvalidDeclaration(f"no format {show(name)} (known: {', '.join(formats())})")


def _foreign(name: str, where: str, load: Callable[[], object]) -> Format:
    """The format of another package: a ``Format``, or a function without arguments that returns one."""
    try:
        found = load()
        found = found if isinstance(found, Format) or not callable(found) else found()
    except Exception as error:
        raise InvalidDeclaration(f"format {name}: {where} cannot be loaded: {show(repr(error))}") from error
    if not isinstance(found, Format) or found.name != name:
        raise InvalidDeclaration(f"format {name}: {where} is no Format of that name")
    return found
