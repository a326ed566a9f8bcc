"""Downstream of a sensor: files are reached by the same connection, on any worker."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.deliveries import (
    AccessTrouble,
    BadDelivery,
    Delivery,
    Unavailable,
    Way,
    _access,
    accept,
    run,
)
from airflow_landmark.stores import InvalidAccess, PassingTrouble, S3Access, parse_uri
from remote import Remote
from resolving import SECRET, Airflow

Make = Callable[..., Any]
MARKER = "s3://lake/in/_delivery.json"
WAY = Way("partner", {"read_timeout": 3.0})


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Airflow:
    """Airflow, so to speak."""
    airflow = Airflow()
    monkeypatch.setattr(_access, "_resolver", lambda: airflow.resolve)
    return airflow


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Remote:
    """Buckets and origins."""
    return Remote().install(monkeypatch)


@pytest.fixture
def delivered(remote: Remote, make_marker: Make) -> Callable[[str], str]:
    """Return a function that puts a delivery beside a marker's URI."""

    def put(uri: str = MARKER) -> str:
        files = {"a.csv": b"id\n1\n", "a b/ü%20.csv": b"id\n2\n"}
        place = parse_uri(uri)
        remote.files |= {place.at(path).uri: data for path, data in files.items()}
        remote.files[uri] = make_marker(files=files)
        return uri

    return put


def accepted_at(uri: str, make_terms: Make, way: Way = WAY) -> Delivery:
    """The delivery there."""
    return run(lambda: accept(make_terms(uri, way=way, verify="files"))).delivery


def test_the_document_tells_the_way(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make
) -> None:
    """Another worker opens files, and loads the list again, through the same connection; secrets stay."""
    document = accepted_at(delivered(), make_terms).to_xcom()
    assert document["access"] == {"conn_id": "partner", "options": {"read_timeout": 3.0}}
    assert SECRET not in json.dumps(document)
    airflow.asked.clear()
    remote.reached.clear()
    back = Delivery.from_xcom(json.loads(json.dumps(document)) | {"files": None})
    assert [file.path for file in back.files()] == ["a.csv", "a b/ü%20.csv"]
    with back.open("a.csv") as file:
        assert file.read() == b"id\n1\n"
    assert set(remote.reached) == {
        S3Access(read_timeout=3.0, access_key_id="partner", secret_access_key=SECRET)
    }
    assert airflow.asked == [("s3", "partner", {"read_timeout": 3.0})]


def test_the_document_of_the_environment_tells_nothing(
    remote: Remote, delivered: Make, make_terms: Make
) -> None:
    """Without connection and options there is nothing to tell."""
    delivery = accepted_at(delivered(), make_terms, Way())
    assert "access" not in delivery.to_xcom()
    assert Delivery.from_xcom(delivery.to_xcom()) == delivery


def test_a_delivery_shows_no_secret(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make
) -> None:
    """What a delivery keeps to open its files is neither shown, nor copied, nor pickled."""
    delivery = accepted_at(delivered(), make_terms)
    delivery.open("a.csv").close()
    kept = delivery._kept.access
    assert isinstance(kept, S3Access)
    assert kept.secret_access_key == SECRET
    shown = f"{delivery!r} {delivery} {dataclasses.asdict(delivery)}".encode()
    assert SECRET.encode() not in shown + pickle.dumps(delivery)
    assert copy.deepcopy(delivery)._kept.access is None


@pytest.mark.parametrize(
    "kind", [InvalidAccess("connection", "unknown"), PassingTrouble("connection", "away")]
)
def test_files_that_cannot_be_reached(
    airflow: Airflow, remote: Remote, delivered: Make, make_terms: Make, kind: Exception
) -> None:
    """A connection that is gone downstream is told as what it is, not as a bad delivery."""
    delivery = accepted_at(delivered(), make_terms)
    airflow.troubles = [kind]
    with pytest.raises((AccessTrouble, Unavailable)) as caught:
        delivery.open("a.csv")
    assert not isinstance(caught.value, BadDelivery)


@pytest.mark.parametrize(
    "bad", [7, {"conn_id": 7, "options": {}}, {"conn_id": "x"}, {"conn_id": "x", "options": []}]
)
def test_documents_with_a_bad_way(remote: Remote, delivered: Make, make_terms: Make, bad: Any) -> None:
    """A document whose access was not written by us is refused."""
    document = accepted_at(delivered(), make_terms, Way()).to_xcom()
    with pytest.raises(ValueError, match="not a complete delivery document"):
        Delivery.from_xcom(document | {"access": bad})


@pytest.mark.parametrize(
    ("marker", "file"),
    [
        (MARKER, "s3://lake/in/a b/ü%20.csv"),
        ("https://host.example/in/_delivery.json", "https://host.example/in/a%20b/%C3%BC%2520.csv"),
        ("https://host.example/x%20y/", "https://host.example/x%20y/a%20b/%C3%BC%2520.csv"),
    ],
)
def test_uris_of_files_are_encoded_once(
    remote: Remote, delivered: Make, make_terms: Make, marker: str, file: str
) -> None:
    """The address of a file is one that can be asked for: encoded on the web, verbatim in a bucket."""
    delivery = accepted_at(delivered(parse_uri(marker).uri), make_terms, Way())
    assert delivery.files()[1].uri == file
    with delivery.open("a b/ü%20.csv") as opened:
        assert opened.read() == b"id\n2\n"
