"""Markers that are made to do harm: to memory, to paths, to parsers, to what stores and reads events."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["HOSTILE", "hostile_document"]

_ABOVE_LIMIT = 16 * 1024 * 1024 + 1


def _with_path(path: str) -> Callable[[dict[str, Any]], bytes]:
    def made(good: dict[str, Any]) -> bytes:
        files = [{**good["files"][0], "path": path}]
        return json.dumps({**good, "files": files}).encode()

    return made


def _with_text(key: str, text: str) -> Callable[[dict[str, Any]], bytes]:
    """A marker whose field is replaced by JSON text, of a kind that ``json.dumps`` does not write."""

    def made(good: dict[str, Any]) -> bytes:
        rest = json.dumps({name: value for name, value in good.items() if name != key})
        return f'{{"{key}": {text}, {rest[1:]}'.encode()

    return made


def _padded(good: dict[str, Any]) -> bytes:
    whole = json.dumps(good).encode()
    return whole[:-1] + b" " * (_ABOVE_LIMIT - len(whole)) + b"}"


_KINDS: Mapping[str, Callable[[dict[str, Any]], bytes]] = {
    "16 MiB": _padded,
    "escaping path": _with_path("../../etc/passwd"),
    "absolute path": _with_path("/etc/passwd"),
    "control characters": _with_path("a\u001b[2J\n.csv"),
    "huge number": _with_text("version", "9" * 30),
    "not a number": _with_text("version", "NaN"),
    "infinity": _with_text("version", "1e400"),
    "lone surrogate": _with_text("producer", '"\\ud800"'),
    "zero character": _with_text("producer", '"\\u0000"'),
    "class name": _with_text("dataset", '{"__classname__": "builtins.eval", "__id__": 1}'),
    "deep nesting": _with_text("files", "[" * 5000 + "]" * 5000),
    "repeated key": lambda good: json.dumps(good).replace("{", '{"version": 9, ', 1).encode(),
    "utf-16": lambda good: b"\xff\xfe" + json.dumps(good).encode("utf-16-le"),
}

HOSTILE = tuple(_KINDS)
"""The kinds of hostile markers."""


def hostile_document(good: dict[str, Any], kind: str) -> bytes:
    """Return a hostile variant of a good marker with one file."""
    return _KINDS[kind](good)
