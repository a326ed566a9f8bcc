"""What is measured inside the process: CPU, resident memory, the loop's lateness, lines of log."""

from __future__ import annotations

import asyncio
import io
import resource
import time
from pathlib import Path
from typing import Any

__all__ = ["Beat", "Lines", "TextLines", "busy_share", "resident_kib"]

_BEAT_SECONDS = 0.01


class Beat:
    """How late a task comes that wants to run every 10 ms.

    The machine itself may stop the process. Beside the longest lateness stands the CPU time that the
    loop's thread used in that beat: where it is much less, the loop was not busy but not served.
    """

    def __init__(self) -> None:
        self._late: list[tuple[float, float]] = []
        self._task = asyncio.ensure_future(self._run())

    def take(self) -> dict[str, float]:
        """Quantiles of the lateness in milliseconds since the last call."""
        late, self._late = sorted(self._late), []
        longest, busy = late[-1]
        return {
            "p50_ms": late[len(late) // 2][0],
            "p99_ms": late[len(late) * 99 // 100][0],
            "max_ms": longest,
            "max_busy_ms": busy,
        }

    async def aclose(self) -> None:
        """End it."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            before, cpu = time.monotonic(), time.thread_time()
            await asyncio.sleep(_BEAT_SECONDS)
            late = time.monotonic() - before - _BEAT_SECONDS
            self._late.append((late * 1000, (time.thread_time() - cpu) * 1000))


class Lines(io.RawIOBase):
    """Where the triggerer's supervisor would read the log: counts lines and forgets them."""

    count = 0

    def writable(self) -> bool:
        """Whether it can be written to: yes."""
        return True

    def write(self, data: Any) -> int:
        """Count."""
        self.count += bytes(data).count(b"\n")
        return len(data)


class TextLines(io.TextIOBase):
    """The same for what is printed, which the triggerer logs too."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def write(self, text: str) -> int:
        """Count."""
        self._lines.count += text.count("\n")
        return len(text)


async def busy_share(seconds: float) -> float:
    """CPU seconds of the whole process a second, over so many seconds."""
    cpu, began = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    return (time.process_time() - cpu) / (time.monotonic() - began)


def resident_kib() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1024
