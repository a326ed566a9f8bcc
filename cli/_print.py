"""Printing: answers to stdout, everything else to stderr, foreign text never as it is."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from ._exits import Exit

if TYPE_CHECKING:
    from airflow_landmark.markers import Problem

__all__ = [
    "banner",
    "counted",
    "err",
    "facts",
    "hanging",
    "out",
    "out_json",
    "prepare_streams",
    "problem_lines",
    "safe",
]

_FIRST_KINDS = ("missing", "incomplete", "corrupt", "rows", "unexpected")
_SHOWN_HEX = 16
_LONG_HEX = re.compile(r"\b[0-9a-f]{32,128}\b")
_COLORS = {Exit.YES: "green", Exit.NO: "red", Exit.UNKNOWN: "yellow", Exit.SPARE: "yellow"}


def prepare_streams() -> None:
    """Let no character that the terminal cannot show end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def safe(text: str) -> str:
    """The text with everything escaped that a terminal would not just show.

    Control characters, ANSI sequences, line ends, bidirectional overrides, lone surrogates.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def out(*lines: str) -> None:
    """The answer, for people."""
    _write(sys.stdout, "".join(f"{line}\n" for line in lines))


def out_json(document: Any) -> None:
    """The answer, for machines: plain ASCII."""
    _write(sys.stdout, json.dumps(document, indent=2) + "\n")


def err(*lines: str) -> None:
    """What is not the answer: what goes on, and what went wrong."""
    _write(sys.stderr, "".join(f"{safe(line)}\n" for line in lines))


def _write(stream: IO[str] | None, text: str) -> None:
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    if stream is None:  # closed by whoever started the command
        return
    try:
        click.echo(text, file=stream, nl=False, color=False if plain else None)
        stream.flush()
    except BrokenPipeError:
        _discard(stream)
    except OSError as error:
        _discard(stream)
        if stream is sys.stdout:
            err(f"landmark: the answer could not be written: {error.strerror or error}")
            raise click.exceptions.Exit(Exit.UNKNOWN) from None


def _discard(stream: IO[str]) -> None:
    """Send what is still to be flushed nowhere, so that the interpreter's end stays quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def banner(status: Exit, word: str, text: str) -> str:
    """The first line of an answer."""
    return f"{click.style(word, fg=_COLORS[status], bold=True)}: {safe(text)}"


def facts(*pairs: tuple[str, str | None]) -> Iterator[str]:
    """One line for each fact that is known."""
    for name, value in pairs:
        if value:
            yield f"  {name:<10} {safe(value)}"


def counted(number: int, noun: str) -> str:
    """``1 file``, ``1,204 files``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def problem_lines(problems: Sequence[Problem], *, total: int = 0) -> Iterator[str]:
    """Each problem with its kind and place in one line, expected and found below.

    :param total: how many there are, when more than these.
    """
    width = max([len(problem.kind) for problem in problems], default=0)
    for problem in sorted(problems, key=lambda problem: _rank(problem.kind)):
        yield f"  {problem.kind:<{width}}  {safe(problem.place)}"
        expected, found = safe(_short(problem.expected)), safe(_short(problem.found))
        if width + 4 + len(f"expected {expected}, found {found}") <= _columns():
            yield f"{' ':{width + 4}}expected {expected}, found {found}"
        else:
            yield from hanging(f"expected {expected}", indent=width + 4)
            yield from hanging(f"found    {found}", indent=width + 4)
    if total > len(problems):
        yield f"  and {total - len(problems):,} more"


def _rank(kind: str) -> int:
    return _FIRST_KINDS.index(kind) if kind in _FIRST_KINDS else len(_FIRST_KINDS)


def _short(text: str) -> str:
    """Long digests by their first digits: two of them then fit in a line. JSON has them whole."""
    return _LONG_HEX.sub(lambda match: f"{match[0][:_SHOWN_HEX]}...", text)


def _columns() -> int:
    return max(40, min(100, shutil.get_terminal_size().columns))


def hanging(text: str, *, indent: int) -> list[str]:
    """The text over as many indented lines as it needs; long names are never broken."""
    space = " " * indent
    return textwrap.wrap(
        text,
        width=_columns(),
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    )
