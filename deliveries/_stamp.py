"""The stamp: what travels of a sighting. Small, whatever the manifest's size."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_landmark.markers import Interval, Marker
from airflow_landmark.stores import Pin, Sighting

__all__ = ["Stamp"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What was seen and accepted, without the file list.

    :param uri: the marker's address.
    :param sha256: the marker's identity in hex.
    :param size: the marker's bytes.
    :param pin: the store's own identity of that state.
    :param dataset: the marker's dataset.
    :param interval: the marker's interval.
    :param version: the marker's version.
    :param files: how many files it lists.
    :param size_bytes: their sum; ``None`` when the format does not tell.
    :param rows: their sum; ``None`` when the format does not tell.
    """

    uri: str
    sha256: str
    size: int
    pin: Pin
    dataset: str
    interval: Interval
    version: int
    files: int
    size_bytes: int | None
    rows: int | None

    @classmethod
    def of(cls, sighting: Sighting, marker: Marker) -> Stamp:
        """The stamp of a marker that was seen."""
        return cls(
            uri=sighting.address.uri,
            sha256=marker.identity,
            size=sighting.size,
            pin=sighting.pin,
            dataset=marker.dataset,
            interval=marker.interval,
            version=marker.version,
            files=len(marker.manifest.files),
            size_bytes=marker.manifest.size_bytes,
            rows=marker.manifest.rows,
        )
