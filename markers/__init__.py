"""Markers: bytes in, values out. Pure: no files, no network, no clock."""

from ._decimal import exact_decimal
from ._declared import SUBJECT, Subject, check_declared, subject_of
from ._documents import as_text, check_documents, make_marker, name_of, numbered_lines, unreadable
from ._errors import (
    InvalidDeclaration,
    InvalidExpectation,
    InvalidInterval,
    MarkerError,
    UnreadableMarker,
    UnsafePath,
)
from ._formats import LANDMARK, Format, Listed
from ._hex import read_hex
from ._identity import identity_of_document, identity_of_documents, identity_of_listing
from ._interval import Interval, format_instant, parse_instant
from ._judge import DATASET_PATTERN, Expectation, Taken, Verdict, VerdictKind, judge
from ._listed_files import ListedFile, ListedFiles
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
from ._placeholders import is_open
from ._problems import MAX_PROBLEMS, Problem, show
from ._reader import read_marker
from ._registry import format_of, formats
from ._report import Report
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
    "SUBJECT",
    "WEAK_ALGORITHMS",
    "Expectation",
    "FileEntry",
    "Format",
    "Interval",
    "InvalidDeclaration",
    "InvalidExpectation",
    "InvalidInterval",
    "Listed",
    "ListedFile",
    "ListedFiles",
    "Manifest",
    "Marker",
    "MarkerError",
    "Problem",
    "Report",
    "Subject",
    "Taken",
    "UnreadableMarker",
    "UnsafePath",
    "Verdict",
    "VerdictKind",
    "as_text",
    "check_declared",
    "check_documents",
    "check_path",
    "exact_decimal",
    "format_instant",
    "format_of",
    "formats",
    "identity_of_document",
    "identity_of_documents",
    "identity_of_listing",
    "is_open",
    "is_strong",
    "judge",
    "make_marker",
    "marker_schema",
    "name_of",
    "numbered_lines",
    "parse_instant",
    "path_key",
    "read_hex",
    "read_marker",
    "show",
    "subject_of",
    "unreadable",
    "write_marker",
]
