"""Markers: bytes in, values out. Pure: no files, no network, no clock."""

from ._errors import InvalidExpectation, InvalidInterval, MarkerError, UnreadableMarker, UnsafePath
from ._formats import LANDMARK, Format
from ._identity import identity_of_document, identity_of_documents, identity_of_listing
from ._interval import Interval, format_instant, parse_instant
from ._judge import DATASET_PATTERN, Expectation, Taken, Verdict, VerdictKind, judge
from ._manifest import STRONG_ALGORITHMS, WEAK_ALGORITHMS, FileEntry, Manifest, is_strong
from ._marker import (
    DEFAULT_NAME,
    MAX_DOCUMENT_BYTES,
    MAX_FILES,
    MAX_VERSION,
    SPEC,
    STATUSES,
    Marker,
)
from ._paths import MAX_PATH_BYTES, check_path, path_key
from ._problems import MAX_PROBLEMS, Problem, show
from ._reader import read_marker
from ._schema import marker_schema
from ._writer import write_marker

__all__ = [
    "DATASET_PATTERN",
    "DEFAULT_NAME",
    "LANDMARK",
    "MAX_DOCUMENT_BYTES",
    "MAX_FILES",
    "MAX_PATH_BYTES",
    "MAX_PROBLEMS",
    "MAX_VERSION",
    "SPEC",
    "STATUSES",
    "STRONG_ALGORITHMS",
    "WEAK_ALGORITHMS",
    "Expectation",
    "FileEntry",
    "Format",
    "Interval",
    "InvalidExpectation",
    "InvalidInterval",
    "Manifest",
    "Marker",
    "MarkerError",
    "Problem",
    "Taken",
    "UnreadableMarker",
    "UnsafePath",
    "Verdict",
    "VerdictKind",
    "check_path",
    "format_instant",
    "identity_of_document",
    "identity_of_documents",
    "identity_of_listing",
    "is_strong",
    "judge",
    "marker_schema",
    "parse_instant",
    "path_key",
    "read_marker",
    "show",
    "write_marker",
]
