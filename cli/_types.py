"""The kinds of values that options and arguments take."""

from __future__ import annotations

import math
import os
import re

import click

__all__ = ["Place", "Seconds", "Whole"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_TEN_YEARS = 10 * 366 * 86_400.0


class Whole(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.5
    """A whole number. Unlike click's own it keeps its limits out of the help.

    :param least: the smallest.
    :param most: the largest.
    """

    name = "number"

    def __init__(self, *, least: int, most: int) -> None:
        self._least = least
        self._most = most

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, when it is one and in range."""
        text = str(value)
        if not re.fullmatch("[0-9]{1,16}", text) or not self._least <= int(text) <= self._most:
            self.fail(f"{text!r} is not a whole number from {self._least} to {self._most}", param, ctx)
        return int(text)


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.5
    """A duration in seconds.

    :param least: the shortest.
    :param most: the longest.
    """

    name = "seconds"

    def __init__(self, *, least: float = 0.0, most: float = _TEN_YEARS) -> None:
        self._least = least
        self._most = most

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, when they are a number and in range."""
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not self._least <= seconds <= self._most:
            self.fail(
                f"{value!r} is not a number of seconds from {self._least:g} to {self._most:g}", param, ctx
            )
        return seconds


class Place(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.5
    """A URI, such as ``s3://bucket/key`` or ``https://host/path``, or a local path, which may be relative.

    :param folder: it names the delivery's folder; otherwise the marker or, where a local folder lies or
        with a trailing slash, the marker of the default name in that folder.
    """

    name = "uri"

    def __init__(self, *, folder: bool = False) -> None:
        self._folder = folder

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The URI, checked; a plain absolute path for local files."""
        from airflow_landmark.stores import InvalidAddress, parse_uri  # noqa: PLC0415

        uri = _absolute(value)
        try:
            whole = parse_uri(uri, folder=True)
            if self._folder:
                return whole.uri
            if whole.scheme == "file" and os.path.isdir(whole.uri):  # noqa: PTH112
                return whole.uri.rstrip("/") + "/"
            parse_uri(uri)
        except InvalidAddress as error:
            self.fail(f"{error.place}: {error.reason}", param, ctx)
        return uri


def _absolute(value: str) -> str:
    """A relative path made absolute. Dots are resolved as the system does, links on the way included."""
    if not value or _SCHEME.match(value):
        return value
    path = os.path.join(os.getcwd(), value)  # noqa: PTH109, PTH118 - keeps a trailing slash
    if {".", ".."}.isdisjoint(path.split("/")):
        return path
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        return os.path.realpath(path) + "/"
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
