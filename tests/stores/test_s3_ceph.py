"""The S3 store on a server of another make: Ceph's object gateway.

Ceph 16 compares the ETag of a conditional PUT without its quotes, and keeps no checksums of objects.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import botocore.config
import botocore.session
import pytest

from airflow_landmark.deliveries import Announcement, announce, check
from airflow_landmark.markers import Expectation, Interval
from airflow_landmark.stores import (
    Changed,
    Facts,
    LastingTrouble,
    Look,
    S3Access,
    Sighting,
    parse_uri,
)
from airflow_landmark.stores._s3 import S3Store
from radosgw import ACCESS_KEY, SECRET_KEY, RadosGateway, installed
from s3server import opened

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not installed() and not os.environ.get("CI"), reason="apt-get install radosgw ceph-mon ceph-osd"
    ),
]

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
KEYS = {"access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY, "region": "us-east-1"}


@pytest.fixture(scope="module")
def gateway() -> Iterator[RadosGateway]:
    """Return a running gateway."""
    with tempfile.TemporaryDirectory(prefix="rgw") as home, RadosGateway(Path(home)) as running:
        yield running


@pytest.fixture(scope="module")
def client(gateway: RadosGateway) -> Iterator[Any]:
    """Return a plain client of the gateway."""
    client = botocore.session.Session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=gateway.url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=botocore.config.Config(
            s3={"addressing_style": "path"}, request_checksum_calculation="when_required"
        ),
    )
    yield client
    client.close()


@pytest.fixture
def bucket(client: Any, request: pytest.FixtureRequest) -> str:
    """Return an empty bucket of the test's own."""
    name = f"b-{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]}"
    client.create_bucket(Bucket=name)
    return name


@pytest.fixture
async def store(gateway: RadosGateway) -> AsyncIterator[S3Store]:
    """Return a store that reaches the gateway."""
    async with opened(gateway.url, **KEYS) as store:
        yield store


async def test_looks_are_conditional(store: S3Store, client: Any, bucket: str) -> None:
    """Absent, seen, unchanged, replaced, deleted: each is told apart, with the bytes where they are new."""
    address = parse_uri(f"s3://{bucket}/in/a b+%/_delivery.json")
    assert (await store.look(address)).sighting is None
    client.put_object(Bucket=bucket, Key=address.path, Body=b"one")
    look = await store.look(address)
    assert (look.data, look.sighting.size) == (b"one", 3)  # type: ignore[union-attr]
    assert (await store.look(address, since=look.sighting)).data is None
    client.put_object(Bucket=bucket, Key=address.path, Body=b"two")
    assert (await store.look(address, since=look.sighting)).data == b"two"
    client.delete_object(Bucket=bucket, Key=address.path)
    assert (await store.look(address, since=look.sighting)).sighting is None


async def test_many_keys_are_looked_at_by_listing(store: S3Store, client: Any, bucket: str) -> None:
    """Present and absent keys under one prefix are told apart as single looks tell them."""
    wanted: dict[Any, Sighting | None] = {}
    for number in range(60):
        address = parse_uri(f"s3://{bucket}/in/{number:03}/ü ~%2B.json")
        wanted[address] = None
        if number % 3 == 0:
            client.put_object(Bucket=bucket, Key=address.path, Body=str(number).encode())
    there = {address.path for number, address in enumerate(wanted) if number % 3 == 0}
    for _ in range(3):
        looks = await store.look_many(wanted)
        assert all(isinstance(look, Look) for look in looks.values())
        found = {a.path for a, look in looks.items() if isinstance(look, Look) and look.sighting}
        assert found == there
        wanted = {a: look.sighting if isinstance(look, Look) else None for a, look in looks.items()}
    assert all(look.data is None for look in looks.values() if isinstance(look, Look))


async def test_folders_are_listed(store: S3Store, client: Any, bucket: str) -> None:
    """By pattern directly in the folder, without one the tree below it; odd names come as they are."""
    names = ["a.json", "b.json.tmp", "part[1].json", "deep/er/ü +%.csv", "a b"]
    for name in names:
        client.put_object(Bucket=bucket, Key=f"in/{name}", Body=b"123")
    folder = parse_uri(f"s3://{bucket}/in", folder=True)
    assert set(await store.listing(folder, pattern="*.json")) == {"a.json", "part[1].json"}
    listing = await store.listing(folder)
    assert {name: facts.size for name, facts in listing.items()} == dict.fromkeys(names, 3)


async def test_of_many_writers_one_wins(gateway: RadosGateway, store: S3Store, bucket: str) -> None:
    """Ten writers of one absent marker: one writes it, and the others are told."""
    address = parse_uri(f"s3://{bucket}/_delivery.json")

    async def write(number: int) -> Facts | Changed:
        try:
            return await store.put_if_absent(address, f"writer {number}".encode())
        except Changed as error:
            return error

    results = await asyncio.gather(*(write(number) for number in range(10)))
    won = [number for number, result in enumerate(results) if isinstance(result, Facts)]
    assert len(won) == 1
    assert (await store.look(address)).data == f"writer {won[0]}".encode()


async def test_only_what_was_seen_is_replaced(store: S3Store, bucket: str) -> None:
    """A replacement succeeds while the object is the one that was seen, and never after."""
    address = parse_uri(f"s3://{bucket}/_delivery.json")
    await store.put_if_absent(address, b"one")
    seen = (await store.look(address)).sighting
    assert seen is not None
    await store.put_if_unchanged(address, b"two", since=seen)
    assert (await store.look(address)).data == b"two"
    with pytest.raises(Changed):
        await store.put_if_unchanged(address, b"three", since=seen)
    assert (await store.look(address)).data == b"two"


@pytest.mark.parametrize("size", [0, 5, 20 * 1024 * 1024 + 7])
async def test_files_are_carried_and_read_back(store: S3Store, bucket: str, size: int) -> None:
    """Small files go in one request, large ones in parts; a digest reads back every byte."""
    data = os.urandom(size)
    digests = {"sha256": hashlib.sha256(data).hexdigest()}
    address = parse_uri(f"s3://{bucket}/big.bin")
    put = await store.put_file(address, io.BytesIO(data), size=size, digests=digests)
    digested = await store.digest(address, ["sha256"], pin=put.pin)
    assert digested.digests == digests
    assert digested.facts.size == size
    chunks = [chunk async for chunk in store.read(address, start=2, stop=4)]
    assert b"".join(chunks) == data[2:4]


async def test_versions_are_pinned(store: S3Store, client: Any, bucket: str) -> None:
    """With versioning on, what was pinned is read although it was replaced; a deletion is told."""
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    address = parse_uri(f"s3://{bucket}/a.csv")
    client.put_object(Bucket=bucket, Key="a.csv", Body=b"old")
    (facts,) = (await store.facts_many([address], exact=True)).values()
    assert isinstance(facts, Facts)
    client.put_object(Bucket=bucket, Key="a.csv", Body=b"new")
    assert b"".join([chunk async for chunk in store.read(address, pin=facts.pin)]) == b"old"
    client.delete_object(Bucket=bucket, Key="a.csv")
    assert (await store.look(address)).sighting is None


async def test_what_cannot_be_reached_is_lasting(gateway: RadosGateway, store: S3Store) -> None:
    """A bucket that does not exist and a wrong key are told as such, not waited for as absent."""
    with pytest.raises(LastingTrouble, match="bucket"):
        await store.look(parse_uri("s3://no-such-bucket-here/a"))
    async with opened(gateway.url, **{**KEYS, "secret_access_key": "wrong-SECRET"}) as other:
        with pytest.raises(LastingTrouble) as caught:
            await other.look(parse_uri("s3://no-such-bucket-here/a"))
    assert "wrong-SECRET" not in str(caught.value)


async def test_a_delivery_is_written_and_verified(
    gateway: RadosGateway, store: S3Store, bucket: str, tmp_path: Path
) -> None:
    """A folder is delivered and holds; the same version is refused the second time."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a+b c.csv").write_bytes(b"id\n1\n")
    (tmp_path / "sub" / "b.bin").write_bytes(os.urandom(100_000))
    access = S3Access(endpoint_url=gateway.url, addressing_style="path", **KEYS)
    announcement = Announcement(Expectation("shop/orders", DAY, 1))
    folder = f"s3://{bucket}/in/2024-10-01"
    announced = await announce(folder, announcement, source=str(tmp_path), access=access)
    assert announced.uploaded == 2
    found = await check(f"{folder}/", access=access, on_unexpected="fail")
    assert found.ok, found
    with pytest.raises(Exception, match="version 1 lies there"):
        await announce(folder, announcement, source=str(tmp_path), access=access)
