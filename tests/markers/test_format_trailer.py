"""Trailer rows: a data file is complete once its last line says so."""

from __future__ import annotations

import ast
import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    FileEntry,
    InvalidDeclaration,
    UnreadableMarker,
    format_of,
    identity_of_document,
)
from airflow_landmark.markers._trailer import TAIL_BYTES
from foreign import ABOUT, problems_of, read, try_read

URI = "/in/orders.csv"
DECLARED = {
    **ABOUT,
    "trailer": r"^TRL;(?P<DAY>\d{8});(?P<COUNT>\d+);(?P<TOTAL>[-\d,]+)$",
    "field.records": "COUNT",
    "field.date": "DAY",
    "date_format": "%Y%m%d",
    "interval": "{/date}",
    "field.sum": "TOTAL",
    "sum_column": "amount",
    "header_rows": "1",
    "data_delimiter": ";",
    "decimal": ",",
}
DATA = b"id;amount\n1;2,50\n2;3\nTRL;20241001;0002;5,50\n"


def trailer(data: bytes, **more: str) -> Any:
    """What is made of a file's end."""
    return read("trailer", {"orders.csv": data}, uri=URI, declared={**DECLARED, **more})


def refused(data: bytes, **more: str) -> list[tuple[str, str]]:
    """(kind, place) of what is wrong with it."""
    return problems_of("trailer", {"orders.csv": data}, uri=URI, declared={**DECLARED, **more})


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n \n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_the_last_line(bom: bytes, end: bytes) -> None:
    """The last line that is not blank describes the file that it ends."""
    data = bom + DATA.rstrip() + end
    marker = trailer(data)
    assert marker.manifest.files == (
        FileEntry(
            "orders.csv",
            rows=2,
            header_rows=1,
            trailer_rows=1,
            delimiter=";",
            decimal=",",
            column_sums={"amount": "5.50"},
        ),
    )
    assert str(marker.interval) == "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"
    assert marker.identity == identity_of_document(data)


def test_only_the_end_is_read() -> None:
    """The format asks for the file's end, and takes no line that may be cut by that."""
    assert format_of("trailer").tail_bytes == TAIL_BYTES
    line = DATA.splitlines()[-1]
    assert trailer((b"x;1\n" * TAIL_BYTES + line)[-TAIL_BYTES:]).manifest.rows == 2
    cut = (b"y" * TAIL_BYTES + line)[-TAIL_BYTES:]
    assert refused(cut, trailer=r"TRL;(?P<DAY>\d{8});(?P<COUNT>\d+);(?P<TOTAL>[-\d,]+)$") == [
        ("incomplete", "last line")
    ]


def test_several_trailer_rows() -> None:
    """The expression sees as many last lines as are declared, with line feeds between."""
    data = b"id;amount\r\n1;5\r\nDAY;20241001\r\n\r\nN;1;5\r\n"
    pattern = r"\ADAY;(?P<DAY>\d{8})\nN;(?P<COUNT>\d+);(?P<TOTAL>\d+)\Z"
    file = trailer(data, trailer=pattern, trailer_rows="2").manifest.files[0]
    assert (file.rows, file.trailer_rows) == (1, 2)
    assert refused(data, trailer=pattern) == [("incomplete", "last line")]
    assert refused(b"N;1;5", trailer=pattern, trailer_rows="2") == [("incomplete", "last line")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"id;amount\n1;2,50\n",
        DATA + b"3;4\n",
        DATA[:-6],
        b"TRL;20241001;0002;5,50 and more",
    ],
)
def test_a_file_without_its_trailer(data: bytes) -> None:
    """A file that is still being written has no trailer as its last line: it is incomplete."""
    assert refused(data) == [("incomplete", "last line")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"TRL;20241301;2;5", ("invalid text", "last line, DAY")),
        (b"TRL;20241001;" + b"9" * 20 + b";5", ("invalid text", "last line, COUNT")),
        (b"TRL;20241001;2;5,5,5", ("invalid text", "last line, TOTAL")),
    ],
)
def test_a_trailer_that_is_wrong(line: bytes, problem: tuple[str, str]) -> None:
    """Values of the trailer are as strict as those of a control file."""
    assert problem in refused(line)


def test_compressed_files_have_no_last_line() -> None:
    """A compressed file is named as such."""
    assert refused(gzip.compress(DATA)) == [("encoding", "document")]
    assert refused(b"x\nTRL;\xff") == [("encoding", "last line")]


def test_the_report_holds_no_data() -> None:
    """The last line of a file without a trailer is data, and stays out of every text."""
    with pytest.raises(UnreadableMarker) as caught:
        trailer(b"id;amount\nmrs jones;2,50\n")
    assert "jones" not in str(caught.value)
    assert "jones" not in json.dumps([problem.to_json() for problem in caught.value.problems])


def test_a_very_long_last_line() -> None:
    """A last line beyond the limit is not searched."""
    assert refused(b"x" * 5000) == [("incomplete", "last line")]


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"trailer": "("}, "not a regular expression"),
        ({"trailer": "{{ x }}"}, "without a template"),
        ({"field.records": "N"}, "no value is named 'N'"),
        ({"version": "{/SEQ}"}, "no value is named 'SEQ'"),
        ({"trailer_rows": "0"}, "at least 1"),
        ({"field.file": "DAY"}, "not known"),
        ({"file": "x"}, "not known"),
    ],
)
def test_declarations_that_cannot_be_meant(declared: dict[str, str], text: str) -> None:
    """A declaration that could never be read with is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("trailer").check({**DECLARED, **declared})


def test_what_is_missing_is_told_with_an_example() -> None:
    """The refusal holds a right declaration, with which a file is read."""
    with pytest.raises(InvalidDeclaration) as caught:
        format_of("trailer").check({})
    declared = ast.literal_eval(str(caught.value).partition("such as ")[2])
    data = b"a\nTRL;2024-10-01;2\n"
    marker = read("trailer", {"orders.csv": data}, uri=URI, declared=declared)
    assert (marker.dataset, marker.manifest.rows) == ("orders", 2)


@given(st.binary(max_size=120) | st.binary(max_size=40).map(lambda data: data + b"\nTRL;20241001;1;5"))
@settings(max_examples=400, deadline=None)
def test_any_bytes(data: bytes) -> None:
    """Whatever the bytes: a marker of the file itself, or a fit report."""
    marker = try_read("trailer", {"orders.csv": data}, uri=URI, declared=DECLARED)
    assert marker is None or [file.path for file in marker.manifest.files] == ["orders.csv"]
