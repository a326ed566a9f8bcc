"""Listings of folders in buckets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_landmark.stores import Address, LastingTrouble, parse_uri
from airflow_landmark.stores import _s3_list as listing
from airflow_landmark.stores._s3 import S3Store
from s3server import Reply, Request, S3Server, ScriptedS3, opened

At = Callable[[str], Address]

NAMES = [
    "a.json",
    "b.json",
    "B.JSON",
    "part[1].json",
    "part1.json",
    "sub/a.json",
    "sub/deep/c.csv",
    "é ü+.json",
]


@pytest.fixture
def folder(s3: S3Server, s3_at: At) -> Address:
    """Return a folder with files in it and beside it."""
    for name in NAMES:
        s3.put(s3_at("").authority, f"in/{name}", name.encode())
    for key in ("in", "input.json", "inside/a.json", "in/", "in/empty/", "other/in/a.json"):
        s3.put(s3_at("").authority, key)
    return s3_at("")


async def test_a_tree(s3_store: S3Store, folder: Address) -> None:
    """All names below the folder, with sizes; placeholders keep their slash, the folder's own has no name."""
    found = await s3_store.listing(folder)
    assert found.keys() == {*NAMES, "empty/"}
    assert all(found[name].size == len(name.encode()) for name in NAMES)
    assert found["a.json"].pin.etag is not None


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*", {n for n in NAMES if "/" not in n}),
        ("*.json", {"a.json", "b.json", "part[1].json", "part1.json", "é ü+.json"}),
        ("[ab].json", {"a.json", "b.json"}),
        ("part[[]1].json", {"part[1].json"}),
        ("part[1].json", {"part1.json"}),
        ("part?.json", {"part1.json"}),
        ("a.json", {"a.json"}),
        ("é*+.json", {"é ü+.json"}),
        ("nothing*", set()),
        ("sub", set()),
        ("sub*", set()),
    ],
)
async def test_a_pattern(s3_store: S3Store, folder: Address, pattern: str, names: set[str]) -> None:
    """Names directly in the folder, by the rules and the case of local folders."""
    assert (await s3_store.listing(folder, pattern=pattern)).keys() == names


async def test_a_pattern_reads_no_deeper_and_no_further(
    s3_store: S3Store, folder: Address, s3: S3Server
) -> None:
    """The server is asked for what begins like the pattern only, and not for what lies below."""
    s3.requests.clear()
    await s3_store.listing(folder, pattern="part[[]*.json")
    assert [(r.query["prefix"], r.query["delimiter"]) for r in s3.requests] == [("in/part", "/")]


async def test_a_missing_folder_is_an_empty_one(s3_store: S3Store, s3_at: At) -> None:
    """Buckets have no folders: what does not exist holds nothing."""
    assert await s3_store.listing(replace(s3_at(""), folder="none/")) == {}
    assert await s3_store.listing(replace(s3_at(""), folder="none/"), pattern="*") == {}


async def test_a_whole_bucket(s3_store: S3Store, folder: Address) -> None:
    """The bucket itself is a folder, too."""
    found = await s3_store.listing(parse_uri(f"s3://{folder.authority}", folder=True))
    assert {"in", "input.json", "in/", "in/a.json"} <= found.keys()


async def test_too_many_names(s3_store: S3Store, folder: Address) -> None:
    """More names than allowed is trouble that says what to do."""
    with pytest.raises(LastingTrouble, match=r"more than 3 names: give a narrower folder or pattern"):
        await s3_store.listing(folder, limit=3)
    with pytest.raises(LastingTrouble, match="more than 3"):
        await s3_store.listing(folder, pattern="*.json", limit=3)
    assert len(await s3_store.listing(folder, pattern="[ab].json", limit=2)) == 2


def _page(request: Request) -> Reply:
    """A page of three keys, and always another one."""
    start = int(request.query.get("continuation-token", "0"))
    keys = "".join(
        f"<Contents><Key>in/{n:06}</Key><Size>1</Size><ETag>e</ETag></Contents>"
        for n in range(start, start + 3)
    )
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{start + 3}</NextContinuationToken>"
    return Reply(200, f"<ListBucketResult>{keys}{more}</ListBucketResult>".encode())


async def test_pages_follow_each_other_up_to_a_bound(
    aws_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pages are read, and a bucket without end is given up."""
    monkeypatch.setattr(listing, "_MAX_PAGES", 5)
    with ScriptedS3(_page) as server:
        async with opened(server.url) as store:
            folder = Address("s3", "bucket", "in/", "")
            with pytest.raises(LastingTrouble, match="more than 10 names"):
                await store.listing(folder, limit=10)
            assert len(server.requests) == 4
            with pytest.raises(LastingTrouble, match="too many keys"):
                await store.listing(folder, pattern="*.json", limit=10)
    assert len(server.requests) == 9


@pytest.mark.parametrize(
    "body",
    [
        b"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        b"<ListBucketResult><Contents><Key>in/a</Key></Contents></ListBucketResult>",
        b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
    ],
)
async def test_what_is_no_listing(aws_environment: None, body: bytes) -> None:
    """An answer that is none of S3 is trouble that points at the endpoint."""
    with ScriptedS3(lambda request: Reply(200, body)) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match="endpoint"):
                await store.listing(Address("s3", "bucket", "in/", ""))
