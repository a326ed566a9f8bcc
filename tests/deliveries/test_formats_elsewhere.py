"""Foreign formats where partners use them: in buckets, and on a web server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from anyio import to_thread

from airflow_landmark.deliveries import Check, Form, check
from airflow_landmark.stores import S3Access
from httpserver import HttpServer, Page
from s3server import AWS_ENVIRONMENT, S3Server

ABOUT = {"dataset": "shop/orders", "interval": "2024-10-01", "timezone": "UTC", "version": "1"}
DATA = b"id|amount\n1|10\n2|20\n"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Return a running S3 server."""
    with S3Server() as running:
        yield running


@pytest.fixture
def access(server: S3Server) -> S3Access:
    """Return how the server is reached."""
    return S3Access(
        region="eu-west-3",
        endpoint_url=server.url,
        addressing_style="path",
        access_key_id=AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        secret_access_key=AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    )


@pytest.fixture
def bucket(server: S3Server) -> str:
    """Return an empty bucket."""
    return server.bucket()


async def looked(uri: str, name: str, access: Any, **declared: str) -> Check:
    """What a check of that format finds, down to the digests."""
    form = await to_thread.run_sync(Form.of, name, {**ABOUT, **declared})  # time zones are read from disk
    return await check(uri, form=form, access=access)


async def test_an_unload_manifest(server: S3Server, bucket: str, access: S3Access) -> None:
    """Files are looked at where the manifest says, in whatever folder of the allowed prefix."""
    entries = []
    for number in range(2):
        key = f"unload/day 1/{number}/part+{number}"
        server.put(bucket, key, DATA)
        entries.append({"url": f"s3://{bucket}/{key}", "meta": {"content_length": len(DATA)}})
    server.put(bucket, "lists/manifest", json.dumps({"entries": entries}).encode())
    uri, allow = f"s3://{bucket}/lists/manifest", f"s3://{bucket}/unload/"
    found = await looked(uri, "redshift", access, allow=allow)
    assert found.ok, found
    assert found.report is not None
    assert len(found.report.facts) == 2
    server.put(bucket, "unload/day 1/1/part+1", DATA[:5])
    found = await looked(uri, "redshift", access, allow=allow)
    assert [problem.kind for problem in found.problems] == ["incomplete"]
    found = await looked(uri, "redshift", access, allow=f"s3://{bucket}/unload/other/")
    assert found.verdict == "unreadable"


async def test_an_inventory(server: S3Server, bucket: str, access: S3Access) -> None:
    """The checksum file is the marker, and the data files are found by their keys and digests."""
    server.put(bucket, "inv/data/a.csv.gz", DATA)
    manifest = {
        "sourceBucket": "source",
        "destinationBucket": f"arn:aws:s3:::{bucket}",
        "version": "2016-11-30",
        "creationTimestamp": "1514944800000",
        "fileFormat": "CSV",
        "fileSchema": "Bucket, Key",
        "files": [
            {
                "key": "inv/data/a.csv.gz",
                "size": len(DATA),
                "MD5checksum": hashlib.md5(DATA, usedforsecurity=False).hexdigest(),
            }
        ],
    }
    document = json.dumps(manifest).encode()
    server.put(bucket, "inv/2024-10-01T00-00Z/manifest.json", document)
    checksum = hashlib.md5(document, usedforsecurity=False).hexdigest()
    server.put(bucket, "inv/2024-10-01T00-00Z/manifest.checksum", checksum.encode())
    uri = f"s3://{bucket}/inv/2024-10-01T00-00Z/"
    found = await looked(uri, "s3-inventory", access)
    assert found.ok, found
    assert found.report is not None
    assert found.report.digests == {"md5": 1}
    server.put(bucket, "inv/data/a.csv.gz", DATA[::-1])
    found = await looked(uri, "s3-inventory", access)
    assert [problem.kind for problem in found.problems] == ["corrupt"]


async def test_a_success_file(server: S3Server, bucket: str, access: S3Access) -> None:
    """What lies below the folder when _SUCCESS is seen is the delivery."""
    server.put(bucket, "out/part-0.parquet", DATA)
    server.put(bucket, "out/_SUCCESS", b"")
    found = await looked(f"s3://{bucket}/out/_SUCCESS", "sentinel", access)
    assert found.ok, found
    assert found.marker is not None
    assert [entry.path for entry in found.marker.manifest.files] == ["part-0.parquet"]


async def test_a_bag(server: S3Server, bucket: str, access: S3Access) -> None:
    """A bag's tag files and payload are read from the bucket."""
    digest = hashlib.sha256(DATA).hexdigest()
    server.put(bucket, "bag/bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")
    server.put(bucket, "bag/manifest-sha256.txt", f"{digest}  data/a.csv\n".encode())
    server.put(bucket, "bag/data/a.csv", DATA)
    found = await looked(f"s3://{bucket}/bag/", "bagit", access)
    assert found.ok, found
    server.put(bucket, "bag/data/a.csv", DATA[::-1])
    assert not (await looked(f"s3://{bucket}/bag/", "bagit", access)).ok


async def test_a_checksum_list_on_a_web_server() -> None:
    """A list and its files are read over HTTP, which lists nothing."""
    with HttpServer() as web:
        digest = hashlib.sha256(DATA).hexdigest()
        web.pages["/out/a%20b.csv"] = Page.of(DATA)
        web.pages["/out/SHA256SUMS"] = Page.of(f"{digest}  a b.csv\n".encode())
        uri = f"{web.origin}/out/SHA256SUMS"
        found = await looked(uri, "sums", None, algorithm="sha256", complete="rename")
        assert found.ok, found
        found = await looked(f"{web.origin}/out/_SUCCESS", "sentinel", None)
        assert found.verdict == "absent"
        web.pages["/out/_SUCCESS"] = Page.of(b"")
        found = await looked(f"{web.origin}/out/_SUCCESS", "sentinel", None)
        assert (found.answer, "cannot be listed" in found.text) == ("unknown", True)
