"""Control files: a declared grammar, and values with a declared meaning."""

from __future__ import annotations

import ast
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
from foreign import ABOUT, problems_of, read, try_read

URI = "/in/orders_7.ctl"
KEYS = {**ABOUT, "grammar": "key=value", "file": "orders.csv"}
ROWS = {
    **ABOUT,
    "grammar": "rows",
    "delimiter": "|",
    "columns": "FILE, COUNT",
    "field.file": "FILE",
    "field.records": "COUNT",
}
REGEX = {
    **ABOUT,
    "grammar": "regex",
    "line": r"^(?P<FILE>\S+) has (?P<COUNT>\d+)",
    "field.file": "FILE",
    "field.records": "COUNT",
}


def control(text: str | bytes, declared: dict[str, str], **more: str) -> Any:
    """What is made of a control file."""
    data = text.encode() if isinstance(text, str) else text
    return read("control", {"orders_7.ctl": data}, uri=URI, declared={**declared, **more})


def refused(text: str | bytes, declared: dict[str, str], **more: str) -> list[tuple[str, str]]:
    """(kind, place) of what is wrong with it."""
    data = text.encode() if isinstance(text, str) else text
    return problems_of("control", {"orders_7.ctl": data}, uri=URI, declared={**declared, **more})


def fields(**names: str) -> dict[str, str]:
    """Meanings of values, by name."""
    return {f"field.{meaning}": name for meaning, name in names.items()}


def entry(text: str, **more: str) -> FileEntry:
    """The one file of a control file of keys and values."""
    (file,) = control(text, {**KEYS, **more}).manifest.files
    return file


def test_keys_and_values() -> None:
    """A value a line; comments, blank lines and blanks around keys and values are no part of them."""
    text = "\ufeff# from the tills\r\n\r\n FILE = a b.csv \r\nCOUNT=0007\n  # more\nNOTE=x\n"
    marker = control(text, {**KEYS, **fields(records="COUNT"), "file": "{/FILE}"}, dataset="{/NOTE}")
    assert marker.manifest.files == (FileEntry("a b.csv", rows=7),)


def test_everything_that_a_file_has() -> None:
    """Size, rows, digests, a sum, and what is declared of the data file."""
    text = f"N=3\nB=120\nMD5={'AB' * 16}\nSHA={'cd' * 32}\nTOTAL=-0012,50\n"
    names = fields(records="N", bytes="B", md5="MD5", sha256="SHA", sum="TOTAL")
    shape = {
        "header_rows": "1",
        "trailer_rows": "2",
        "data_delimiter": ";",
        "decimal": ",",
        "media_type": "text/csv",
        "sum_column": "AMOUNT",
    }
    assert entry(text, **names, **shape) == FileEntry(
        "orders.csv",
        120,
        {"sha256": "cd" * 32, "md5": "ab" * 16},
        rows=3,
        header_rows=1,
        trailer_rows=2,
        delimiter=";",
        decimal=",",
        media_type="text/csv",
        column_sums={"AMOUNT": "-12.50"},
    )


def test_counts_that_include_header_and_trailer() -> None:
    """A count of all records is reduced by those that are no data."""
    declared = {**fields(records="N"), "records_include": "all", "header_rows": "1", "trailer_rows": "1"}
    assert entry("N=5", **declared).rows == 3
    assert entry("N=2", **declared).rows == 0
    assert refused("N=1", {**KEYS, **declared}) == [("invalid text", "line 1, N")]
    assert entry("N=5", **{**declared, "records_include": "data"}).rows == 5


def test_another_separator() -> None:
    """The separator is declared; without it an equals sign."""
    declared = {**KEYS, **fields(records="N"), "separator": ": "}
    assert control("N: 5\nT: 10:30\n", declared).manifest.rows == 5
    assert refused("N=5", declared) == [("syntax", "line 1")]


def test_rows_with_named_columns() -> None:
    """Each row is a file; quotes are those of CSV, blanks in a name belong to it."""
    marker = control('a.csv|1\r\n"b|""c"".csv"| 2 \n\n d.csv|3', ROWS)
    files = [(file.path, file.rows) for file in marker.manifest.files]
    assert files == [("a.csv", 1), ('b|"c".csv', 2), (" d.csv", 3)]
    assert marker.manifest.rows == 6


def test_rows_with_a_header() -> None:
    """The first row can name the columns."""
    declared = {key: text for key, text in ROWS.items() if key != "columns"} | {"header": "true"}
    assert control(" COUNT |FILE\n5|a.csv\n", declared).manifest.files == (FileEntry("a.csv", rows=5),)
    assert refused("COUNT|COUNT\n5|a\n", declared)[0] == ("repeated key", "line 1")
    assert refused("N|FILE\n5|a\n", declared) == [("missing key", "line 2, COUNT")]
    assert refused("COUNT|FILE\n", declared) == [("empty", "document")]


def test_lines_that_match() -> None:
    """Each line that the expression is found in is a file; its groups are the values."""
    marker = control("Report\na.csv has 5 rows\nb.csv has 6\nthe end\n", REGEX, dataset="{FILE}")
    assert [(file.path, file.rows) for file in marker.manifest.files] == [("a.csv", 5), ("b.csv", 6)]
    assert marker.dataset == "a.csv"
    assert refused("nothing\n", REGEX) == [("empty", "document")]


def test_the_file_follows_from_the_control_files_name() -> None:
    """Groups of the address and values fill the data file's path."""
    declared = {**KEYS, "path": r"/(?P<stem>[^/]+)\.ctl$", "file": "{stem}.{/EXT}"}
    assert control("EXT=csv", declared).manifest.files[0].path == "orders_7.csv"
    assert refused("OTHER=csv", declared)[0] == ("undeclared", "file")


def test_where_the_subject_comes_from() -> None:
    """Values fill placeholders by their names; days and sequences also in one spelling."""
    text = "BUSINESS_DATE=01.10.2024\nSEQ=000042\nSET=till\n"
    names = {**fields(date="BUSINESS_DATE", sequence="SEQ"), "date_format": "%d.%m.%Y"}
    marker = control(
        text, {**KEYS, **names}, interval="{/date}", version="{/sequence}", dataset="shop/{/SET}"
    )
    assert (marker.dataset, marker.version) == ("shop/till", 42)
    assert str(marker.interval) == "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"
    assert control(text, {**KEYS, **names}, version="{/SEQ}").version == 42
    assert marker.identity == identity_of_document(text.encode())


@pytest.mark.parametrize(
    ("pattern", "text", "right"),
    [
        ("%Y%m%d", "20241001", True),
        ("%Y%m%d", "20241301", False),
        ("%Y%m%d", "20240230", False),
        ("%Y%m%d", "2024101", False),
        ("%d.%m.%Y", "01.10.2024", True),
        ("%d.%m.%Y", "01x10x2024", False),
        ("D%Y-%m-%d", "D2024-10-01", True),
        ("%Y%m%d", "\u0662\u0660\u0662\u0664\u0661\u0660\u0660\u0661", False),
    ],
)
def test_days(pattern: str, text: str, *, right: bool) -> None:
    """A day has to be written exactly as declared, and to exist."""
    declared = {**KEYS, **fields(date="D"), "date_format": pattern}
    if right:
        assert str(control(f"D={text}", declared, interval="{/date}").interval).startswith("2024-10-01")
    else:
        assert ("invalid text", "line 1, D") in refused(f"D={text}", declared)


def test_records_that_differ_in_the_subject() -> None:
    """What the delivery is about has to be the same in all records that tell it."""
    declared = {**ROWS, "columns": "FILE COUNT DAY", "interval": "{/DAY}"}
    assert refused("a|1|2024-10-01\nb|1|2024-10-01", declared) == []
    assert refused("a|1|2024-10-01\nb|1|2024-10-02", declared) == [("contradiction", "line 2, DAY")]
    named = {**declared, **fields(date="DAY"), "date_format": "%Y-%m-%d", "interval": "{/date}"}
    assert refused("a|1|2024-10-01\nb|1|2024-10-02", named) == [("contradiction", "line 2, DAY")]


@pytest.mark.parametrize(
    ("meaning", "text"),
    [
        ("records", "-1"),
        ("records", "1,234"),
        ("records", "1.0"),
        ("records", ""),
        ("records", "9007199254740992"),
        ("records", "9" * 5000),
        ("records", "\u0661"),
        ("bytes", "10 kB"),
        ("sequence", "A1"),
        ("sum", "1,234.50"),
        ("sum", "1e3"),
        ("sum", "NaN"),
    ],
)
def test_numbers_that_are_none(meaning: str, text: str) -> None:
    """A number that could be read in two ways, or none, is refused with its place."""
    declared = {**KEYS, **fields(**{meaning: "N"}), **({"sum_column": "A"} if meaning == "sum" else {})}
    kind = "invalid text" if len(text) < 4000 else "too large"
    place = "line 2, N" if len(text) < 4000 else "line 2"
    assert (kind, place) in refused(f"A=1\nN={text}\nB=2", declared)


@pytest.mark.parametrize(("algorithm", "text"), [("md5", "ab"), ("sha256", "xy" * 32), ("crc32c", "")])
def test_digests_that_are_none(algorithm: str, text: str) -> None:
    """A digest that is no hex of its length is an invalid one, not another content."""
    assert refused(f"D={text}", {**KEYS, **fields(**{algorithm: "D"})}) == [("invalid digest", "line 1, D")]


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a\\b", "C:x", "a//b", "", "orders_7.ctl", "ORDERS_7.CTL"]
)
def test_hostile_paths(path: str) -> None:
    """A path has to stay in the folder, and is not the control file itself."""
    assert refused(f"{path}|1\nb|1", ROWS) == [("invalid path", "line 1, FILE")]


def test_all_problems_at_once() -> None:
    """Every line's problems are reported with its number."""
    text = 'a.csv|x\n../b|1\nc.csv\n"d.csv|1\na.csv|1\nA.CSV|1\ne.csv|1|2\n'
    assert sorted(refused(text, ROWS, version="{x}", path="(?P<x>nowhere)"), key=lambda found: found[1]) == [
        ("invalid text", "line 1, COUNT"),
        ("invalid path", "line 2, FILE"),
        ("syntax", "line 3"),
        ("syntax", "line 4"),
        ("repeated path", "line 5, FILE"),
        ("repeated path", "line 6, FILE"),
        ("syntax", "line 7"),
        ("undeclared", "path"),
        ("undeclared", "version"),
    ]
    assert refused("N=1\nrubbish\nN=2\n=3\n", KEYS) == [
        ("syntax", "line 2"),
        ("repeated key", "line 3"),
        ("syntax", "line 4"),
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", ("empty", "document")),
        (b"\n \n# x\n", ("empty", "document")),
        (b"N=\xff\n", ("encoding", "line 1, column 3")),
        ("N=1".encode("utf-16"), ("encoding", "document")),
        (b"N=" + b"1" * 5000, ("too large", "line 1")),
        (b"\n" * 200_001, ("too large", "document")),
    ],
)
def test_no_control_files(data: bytes, problem: tuple[str, str]) -> None:
    """Other documents are refused with the place."""
    assert problem in refused(data, KEYS)


def test_the_report_holds_no_lines() -> None:
    """Lines that no grammar knows may hold anything: they are placed, not quoted."""
    for declared in (KEYS, ROWS):
        with pytest.raises(UnreadableMarker, match="line 1") as caught:
            control("hunter2", declared)
        assert "hunter2" not in str(caught.value)


def test_a_folder_names_no_control_file() -> None:
    """There is no usual name for a control file: the URI has to give it."""
    assert format_of("control").default_name == ""
    assert format_of("trailer").default_name == ""


@pytest.mark.parametrize(
    ("base", "declared", "text"),
    [
        (KEYS, {"grammar": "ini"}, "key=value, rows, regex"),
        (KEYS, {"columns": "A"}, "means nothing in the grammar key=value"),
        (ROWS, {"separator": ":"}, "means nothing in the grammar rows"),
        (ROWS, {"header": "true"}, "either columns or"),
        (ROWS, {"columns": "FILE,COUNT,FILE"}, "each column once"),
        (ROWS, {"delimiter": "\n"}, "one ASCII mark"),
        (ROWS, {"delimiter": "é"}, "one ASCII mark"),
        (ROWS, {"field.records": "N"}, "no value is named 'N'"),
        (ROWS, {"version": "{/SEQ}"}, "no value is named 'SEQ'"),
        (ROWS, {"version": "{/sequence}"}, "no value is named 'sequence'"),
        (ROWS, {"file": "x"}, "either file, or field.file"),
        (REGEX, {"line": "("}, "not a regular expression"),
        (REGEX, {"field.bytes": "SIZE"}, "no value is named 'SIZE'"),
        (KEYS, {"field.rows": "N"}, "not known"),
        (KEYS, {"field.sum": "N"}, "go together"),
        (KEYS, {"sum_column": "N"}, "go together"),
        (KEYS, {"field.date": "N"}, "go together"),
        (KEYS, {"field.date": "N", "date_format": "%Y-%m"}, "each once"),
        (KEYS, {"field.date": "N", "date_format": "%Y%m%d%H"}, "each once"),
        (KEYS, {"decimal": "'"}, "decimal must be one of"),
        (KEYS, {"trailer_rows": "1001"}, "0 to 1000"),
        (KEYS, {"records_include": "some"}, "data, all"),
        (KEYS, {"file": "{stem}.csv"}, "not a group of path or line"),
    ],
)
def test_declarations_that_cannot_be_meant(base: dict[str, str], declared: dict[str, str], text: str) -> None:
    """A declaration that could never be read with is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("control").check({**base, **declared})


@pytest.mark.parametrize(
    ("base", "key", "text"),
    [
        (KEYS, "file", "either file, or field.file"),
        (KEYS, "grammar", "declare grammar too"),
        (ROWS, "delimiter", "needs delimiter"),
        (ROWS, "columns", "either columns or"),
        (REGEX, "line", "needs line"),
    ],
)
def test_what_has_to_be_declared(base: dict[str, str], key: str, text: str) -> None:
    """Nothing is guessed: what a grammar needs has to be declared."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("control").check({name: value for name, value in base.items() if name != key})


def test_what_is_missing_is_told_with_an_example() -> None:
    """The refusal holds a right declaration, with which a control file is read."""
    with pytest.raises(InvalidDeclaration) as caught:
        format_of("control").check({})
    declared = ast.literal_eval(str(caught.value).partition("such as ")[2])
    marker = control("FILE=a.csv\nCOUNT=1\nDATE=2024-10-01\nSEQ=3\n", declared)
    assert (marker.dataset, marker.version, marker.manifest.rows) == ("orders", 3, 1)


def test_templates_are_left_for_later() -> None:
    """What Airflow renders when the task runs is not judged before."""
    format_of("control").check({**ROWS, "interval": "{{ ds }}", "version": "{/COUNT}"})
    declared = {key: text for key, text in ROWS.items() if key != "field.file"}
    format_of("control").check({**declared, "file": "{{ ds }}.csv"})


@given(st.binary(max_size=120), st.sampled_from([KEYS, ROWS, REGEX]))
@settings(max_examples=400, deadline=None)
def test_any_bytes(data: bytes, declared: dict[str, str]) -> None:
    """Whatever the bytes: a marker, or a fit report."""
    try_read("control", {"orders_7.ctl": data}, uri=URI, declared=declared)


ALL = {
    **KEYS,
    **fields(records="N", bytes="B", md5="M", sum="S", date="D", sequence="Q", file="F"),
    "sum_column": "A",
    "date_format": "%Y%m%d",
    "version": "{/sequence}",
    "interval": "{/date}",
}
ALL.pop("file")
VALID = f"F=a.csv\nN=1\nB=2\nM={'ab' * 16}\nS=1.5\nD=20241001\nQ=7\n".encode()


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), max_size=4))
@settings(max_examples=400, deadline=None)
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    """A damaged control file is another one, or refused."""
    data = bytearray(VALID)
    for position, byte in changes:
        data[position] = byte
    marker = try_read("control", {"orders_7.ctl": bytes(data)}, uri=URI, declared=ALL)
    assert marker is not None or bytes(data) != VALID


@given(st.text('a.|"\r\n12/\\ ', max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_rows(text: str) -> None:
    """Whatever the rows: files inside the folder, each once, or a fit report."""
    marker = try_read("control", {"orders_7.ctl": text.encode()}, uri=URI, declared=ROWS)
    if marker is not None:
        paths = [file.path for file in marker.manifest.files]
        assert len(set(paths)) == len(paths)
        assert not any(path.startswith("/") or ".." in path.split("/") for path in paths)
