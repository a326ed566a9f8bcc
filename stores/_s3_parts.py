"""A large file on its way into a bucket, in parts that appear together when the last one is there."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import anyio
from anyio import to_thread

from ._address import Address
from ._errors import Changed, PassingTrouble, StoreError
from ._hashes import new_hash
from ._s3_again import Again
from ._s3_answer import Answer, key_of, pin_of
from ._s3_client import S3Connection
from ._s3_errors import status_of
from ._s3_facts import facts, held_digests
from ._s3_source import Source
from ._values import Facts

__all__ = ["PART_BYTES", "PartsUpload"]

PART_BYTES = 8 << 20
"""Small parts: what is signed for a connection without TLS is hashed in the event loop."""
_MAX_PARTS = 10_000
_AT_ONCE = 4
_MAX_HELD_BYTES = 64 << 20
"""So much of a file is in memory at most, unless one part is larger."""
_ABORT_SECONDS = 30.0
_UNKNOWN = frozenset({"InvalidArgument", "InvalidRequest", "NotImplemented"})
"""What servers say that know no checksum over a whole object in parts."""


class PartsUpload:
    """One upload.

    :param size: bytes that the source is to give.
    :param algorithm: of a checksum over the whole object; ``None`` for none.
    """

    def __init__(
        self,
        connection: S3Connection,
        address: Address,
        source: Source,
        *,
        size: int,
        algorithm: str | None,
        again: Again,
    ) -> None:
        self._connection = connection
        self._address = address
        self._source = source
        self._size = size
        self._algorithm = algorithm
        self._again = again
        self._part_bytes = max(PART_BYTES, math.ceil(size / _MAX_PARTS))
        self._reading = anyio.Lock()
        self._parts: list[dict[str, Any]] = []
        self._trouble: Exception | None = None

    async def run(self) -> Facts:
        """Send the parts and let them appear, or leave nothing behind.

        :raises StoreError: sorted; :class:`Changed` when the source gave other bytes than were promised.
        """
        upload = await self._again.each(self._create)
        try:
            await self._send(upload)
            await self._source.check()
            return await self._again.each(lambda: self._complete(upload))
        except BaseException:
            await self._abort(upload)
            raise

    async def _create(self) -> str:
        answer = None
        if self._algorithm is not None:
            checksum = {"ChecksumAlgorithm": self._algorithm.upper(), "ChecksumType": "FULL_OBJECT"}
            answer = await self._call("create_multipart_upload", checksum, accept=_UNKNOWN)
        if answer is None or status_of(answer) >= 300:
            self._algorithm = None
            answer = await self._call("create_multipart_upload", {})
        return str(answer["UploadId"])

    async def _send(self, upload: str) -> None:
        at_once = max(1, min(_AT_ONCE, _MAX_HELD_BYTES // self._part_bytes))
        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(self._worker, upload, group.cancel_scope)
        if self._trouble is not None:
            raise self._trouble
        self._parts.sort(key=lambda part: int(part["PartNumber"]))

    async def _worker(self, upload: str, all_workers: anyio.CancelScope) -> None:
        """Send part after part; trouble with one ends the others, and is not wrapped into a group."""
        try:
            while await self._send_next(upload):
                pass
        except Exception as trouble:  # noqa: BLE001 - raised when all have ended
            self._trouble = self._trouble or trouble
            all_workers.cancel()

    async def _send_next(self, upload: str) -> bool:
        async with self._reading:
            number = math.ceil(self._source.bytes_read / self._part_bytes) + 1
            left = self._size - self._source.bytes_read
            data = await self._source.read(min(left, self._part_bytes))
        if not data:
            return False
        named = {"PartNumber": number, **self._checksum(await to_thread.run_sync(self._digest, data))}

        async def send() -> Answer:
            body = {"UploadId": upload, **named, "Body": io.BytesIO(data), "ContentLength": len(data)}
            return await self._call("upload_part", body, sends_bytes=len(data))

        answer = await self._again.each(send)
        self._parts.append({**named, "ETag": answer["ETag"]})
        return True

    async def _complete(self, upload: str) -> Facts:
        parameters: dict[str, Any] = {"UploadId": upload, "MultipartUpload": {"Parts": self._parts}}
        if self._algorithm is not None:
            parameters.update(self._checksum(self._source.hexdigest(self._algorithm)))
            parameters["ChecksumType"] = "FULL_OBJECT"
        try:
            answer = await self._call("complete_multipart_upload", parameters)
        except Changed:
            raise
        except PassingTrouble as trouble:
            return await self._was_completed(trouble)
        pin = pin_of(answer)
        if pin.etag is None:  # some servers do not tell it here
            return await facts(self._connection, self._address)
        return Facts(self._size, pin)

    async def _was_completed(self, trouble: PassingTrouble) -> Facts:
        """After an answer that did not come: whether the store vouches for our bytes all the same."""
        if self._algorithm is None:
            raise trouble
        with suppress(StoreError):
            there = await facts(self._connection, self._address)
            held = await held_digests(self._connection, self._address, [self._algorithm], pin=there.pin)
            if held.get(self._algorithm) == self._source.hexdigest(self._algorithm):
                return there
        raise trouble

    async def _abort(self, upload: str) -> None:
        """Parts of an upload that is neither completed nor aborted stay, and are paid for, without end."""
        with anyio.move_on_after(_ABORT_SECONDS, shield=True), suppress(StoreError):
            await self._call("abort_multipart_upload", {"UploadId": upload})

    async def _call(
        self,
        operation: str,
        parameters: Mapping[str, Any],
        *,
        accept: Collection[str] = (),
        sends_bytes: int = 0,
    ) -> Answer:
        named = {"Key": key_of(self._address), **parameters}
        return await self._connection.call(
            operation, self._address, named, accept=accept, sends_bytes=sends_bytes
        )

    def _digest(self, data: bytes) -> str:
        if self._algorithm is None:
            return ""
        run = new_hash(self._algorithm)
        run.update(data)
        return run.hexdigest()

    def _checksum(self, digest: str) -> dict[str, str]:
        """The parameter that carries a checksum."""
        if self._algorithm is None:
            return {}
        return {f"Checksum{self._algorithm.upper()}": base64.b64encode(bytes.fromhex(digest)).decode()}
