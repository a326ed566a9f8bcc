"""Reading a local file once: digests, and whatever else wants its bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ._address import Address
from ._errors import Changed
from ._hashes import new_hash
from ._local_files import facts_of, open_file, pin_of
from ._values import Digested, Facts, Pin, Sink

__all__ = ["DigestRun"]

_CHUNK_BYTES = 1 << 20


class DigestRun:
    """One pass over one file, in a worker thread.

    :ivar bytes_done: how far it is; another thread may read it to see whether the pass moves on.
    :ivar stopped: set it to end the pass at the next chunk.
    """

    def __init__(
        self, address: Address, algorithms: Sequence[str], pin: Pin | None, sinks: Sequence[Sink]
    ) -> None:
        self._address = address
        self._hashes = {name: new_hash(name) for name in algorithms}
        self._pin = pin
        self._sinks = sinks
        self.bytes_done = 0
        self.stopped = False
        self._outcome: Digested | BaseException | None = None

    def __call__(self) -> None:
        """Read the file to its end, or until that fails."""
        try:
            self._outcome = self._digest()
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self._outcome = error

    def result(self) -> Digested:
        """What the ended pass found.

        :raises StoreError: sorted; :class:`Changed` when it is not the pinned state or changes meanwhile.
        """
        if not isinstance(self._outcome, Digested):
            raise self._outcome or Changed(self._address.uri, "reading has not ended")
        return self._outcome

    def _digest(self) -> Digested:
        with open_file(self._address) as (descriptor, before):
            pin = pin_of(before)
            if self._pin is not None and self._pin != pin:
                raise Changed(self._address.uri, "the file was replaced or changed since it was seen")
            sinks: list[Sink] = [*self._hashes.values(), *self._sinks]
            while not self.stopped and (chunk := os.read(descriptor, _CHUNK_BYTES)):
                for sink in sinks:
                    sink.update(chunk)
                self.bytes_done += len(chunk)
            after = os.fstat(descriptor)
        if self.stopped:
            raise Changed(self._address.uri, "reading was stopped")
        if pin_of(after) != pin or facts_of(self._address).pin != pin:
            raise Changed(self._address.uri, "the file changed while it was read")
        return Digested(
            Facts(after.st_size, pin), {name: run.hexdigest() for name, run in self._hashes.items()}
        )
