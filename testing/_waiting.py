"""Waiting for something another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ._errors import NotInTime

__all__ = ["wait_until"]

T = TypeVar("T")


def wait_until(*, check: Callable[[], T], what: str, seconds: float, every: float = 0.1) -> T:
    """Call ``check`` until it returns something true, and return that.

    :param what: what is awaited, for the error's text.
    :param seconds: how long to wait at most; ``check`` is called once even if this is 0.
    :param every: seconds between two calls.
    :raises NotInTime: when ``check`` has returned nothing true.
    """
    end = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() >= end:
            raise NotInTime(what=what, seconds=seconds)
        time.sleep(every)
