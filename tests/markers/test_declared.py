"""What Dags declare of foreign formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    SUBJECT,
    Interval,
    InvalidDeclaration,
    Report,
    Subject,
    check_declared,
    is_open,
    subject_of,
)

EXAMPLE = '{"dataset": "orders", "interval": "2024-10-01", "timezone": "UTC", "version": "1"}'
CONSTANT = json.loads(EXAMPLE)
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
URI = "s3://bucket/shop.v2/dt=2024-10-01/v=07/_SUCCESS"


def check(**changes: Any) -> None:
    """Check a declaration that is right but for the changes; ``None`` removes a key."""
    declared = {key: text for key, text in {**CONSTANT, **changes}.items() if text is not None}
    check_declared(declared, example=EXAMPLE, options=("algorithm", "file"), templates=("file",))


def told(*, fields: Any = None, text: str | None = None, uri: str = URI, **changes: str) -> Subject:
    """What is told by a declaration that is right."""
    declared = {**CONSTANT, **changes}
    check_declared(declared, example=EXAMPLE)
    report = Report()
    subject = subject_of({**declared, "uri": uri}, report=report, fields=fields, text=text)
    assert subject is not None, report.problems
    return subject


def untold(*, fields: Any = None, text: str | None = None, uri: str = URI, **changes: str) -> list[str]:
    """What is wrong with a marker that does not tell what the declaration says."""
    declared = {**CONSTANT, **changes}
    check_declared(declared, example=EXAMPLE)
    report = Report()
    assert subject_of({**declared, "uri": uri}, report=report, fields=fields, text=text) is None
    assert report.total == len(report.problems)
    return [problem.text for problem in report.problems]


def test_constants() -> None:
    """Everything may be a constant."""
    assert told() == Subject("orders", DAY, 1)


def test_the_address_tells() -> None:
    """Named groups of the address fill any text, beside constants."""
    path = r"/(?P<what>\w+)\.v2/dt=(?P<day>[0-9-]{10})/v=(?P<v>\d+)/"
    assert told(path=path, dataset="in/{what}", interval="{day}", version="{v}") == Subject("in/shop", DAY, 7)
    assert told(path=path, interval="{day}T00:00:00Z/+24h") == Subject("orders", DAY, 1)


def test_a_line_tells() -> None:
    """The first line in which the pattern is found tells, be it at the end of a long document."""
    line = r"^# v(?P<v>[0-9]+) (?P<day>\S+)$"
    text = "# v 2\n# v3 2024-10-01\r\n# v4 2024-10-02\n"
    assert told(line=line, text=text, interval="{day}", version="{v}") == Subject("orders", DAY, 3)
    late = "x\n" * 5000 + "# v3 2024-10-01\n" + "y\n" * 900
    assert told(line=line, text=late, version="{v}").version == 3


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/name", "orders"),
        ("/deep/0/a~1b", "slash"),
        ("/deep/1", "text"),
        ("/m~0n", "tilde"),
        ("/", "empty"),
        ("/number", "7"),
        ("/größe", "large"),
    ],
)
def test_fields_tell(pointer: str, value: str) -> None:
    """JSON pointers lead to text and whole numbers, through objects and lists."""
    fields = {
        "name": "orders",
        "deep": [{"a/b": "slash"}, "text"],
        "m~n": "tilde",
        "": "empty",
        "number": 7,
        "größe": "large",
    }
    assert told(dataset=f"{{{pointer}}}", fields=fields).dataset == value


@pytest.mark.parametrize(
    ("pointer", "fields"),
    [
        ("/name", None),
        ("/name", []),
        ("/name", {}),
        ("/name", {"name": True}),
        ("/name", {"name": 1.5}),
        ("/name", {"name": None}),
        ("/name", {"name": ["x"]}),
        ("/name", {"name": 2**53}),
        ("/name/first", {"name": "x"}),
        ("/0", ["a", "b"][:0]),
        ("/01", ["a", "b"]),
        ("/-1", ["a", "b"]),
        ("/²", ["a", "b"]),
        ("/99999999999999999999", ["a"]),
        ("/größe", {}),
    ],
)
def test_fields_that_do_not_tell(pointer: str, fields: Any) -> None:
    """A field that is not there, or is neither text nor a whole number, is named in ASCII."""
    (problem,) = untold(dataset=f"{{{pointer}}}", fields=fields)
    assert problem.startswith("dataset: expected a value for {/")
    assert problem.isascii()


@pytest.mark.parametrize(
    ("interval", "zone", "start", "hours"),
    [
        ("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z", None, "2024-10-01 00:00:00+00:00", 24),
        ("2024-10-01T06:00:00+02:00/+15m", None, "2024-10-01 04:00:00+00:00", 0.25),
        ("2024-10-01T00:00:00Z/+3600s", None, "2024-10-01 00:00:00+00:00", 1),
        ("2024-10-01T00:00:00Z/+36h", None, "2024-10-01 00:00:00+00:00", 36),
        ("2024-10-27", "Europe/Berlin", "2024-10-26 22:00:00+00:00", 25),
        ("2024-03-31", "Europe/Berlin", "2024-03-30 23:00:00+00:00", 23),
    ],
)
def test_intervals(interval: str, zone: str | None, start: str, hours: float) -> None:
    """Two instants, an instant with a length, or a day in a zone, which has 23 to 25 hours."""
    changes = {"interval": interval, **({"timezone": zone} if zone else {})}
    found = told(**changes).interval
    assert str(found.start) == start
    assert (found.end - found.start).total_seconds() == hours * 3600


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dataset": None}, "declare dataset too: nothing is guessed; such as"),
        ({"dataset": None, "version": None}, "declare dataset and version too"),
        ({"dataset": ""}, "dataset must be text, not ''; for example"),
        ({"version": 1}, "version must be text, not 1; for example"),
        ({"datset": "x"}, r"'datset' is not known \(known: .*dataset"),
        ({"uri": "s3://b/x"}, "'uri' is not known"),
        ({"dataset": "two words"}, "dataset: expected 1 to 200 of"),
        ({"version": "1.0"}, "version: expected a whole number"),
        ({"version": "0"}, "version: expected a whole number"),
        ({"version": "9007199254740992"}, "version: expected a whole number"),
        ({"version": "٣"}, "version: expected a whole number"),
        ({"interval": "today"}, "interval: expected START/END"),
        ({"interval": "2024-10-01T00:00:00/+1h"}, "interval: expected START/END"),
        ({"interval": "2024-10-01T00:00:00Z/+0h"}, "interval: expected START/END"),
        ({"interval": "9999-12-31T00:00:00Z/+999999h"}, "interval: expected START/END"),
        ({"timezone": None}, "together with timezone"),
        ({"timezone": "Europe/Atlantis"}, "timezone must be an IANA name"),
        ({"timezone": "../etc/passwd", "interval": "{/day}"}, "timezone must be an IANA name"),
        ({"dataset": "{what}"}, "{what} is not a group of path or line"),
        ({"dataset": "{what}", "path": "(?P<other>x)"}, "{what} is not a group of path or line"),
        ({"dataset": "{a b}"}, "{a b} is not a name or a /pointer"),
        ({"dataset": "{}"}, "{} is not a name or a /pointer"),
        ({"dataset": "{/a}}"}, "a brace in .* belongs to no placeholder"),
        ({"dataset": "x{"}, "a brace in .* belongs to no placeholder"),
        ({"file": "{nobody}.csv"}, "file: {nobody} is not a group"),
        ({"path": "(unclosed"}, "path is not a regular expression"),
        ({"path": "a{99999999999999999999}"}, "path is not a regular expression"),
        ({"path": "/{{ ds }}/"}, "path must be a regular expression without a template"),
    ],
)
def test_declarations_that_are_refused(changes: dict[str, Any], text: str) -> None:
    """What could never be read is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        check(**changes)


def test_what_the_format_does_not_have_is_refused() -> None:
    """A field of a list of sums, or a line of a JSON document, could never tell anything."""
    with pytest.raises(InvalidDeclaration, match=r"{/day} is not possible: the documents .* no fields"):
        check_declared({**CONSTANT, "interval": "{/day}"}, example=EXAMPLE, has_fields=False)
    with pytest.raises(InvalidDeclaration, match="'line' is not known"):
        check_declared({**CONSTANT, "line": "x"}, example=EXAMPLE, has_lines=False)


def test_a_wrong_constant_comes_with_the_example() -> None:
    """The example of a right declaration stands behind every text that is wrong."""
    with pytest.raises(InvalidDeclaration) as caught:
        check(version="one")
    assert str(caught.value).endswith(f"; for example {EXAMPLE}")


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "{{ params.name }}"},
        {"interval": "{{ data_interval_start }}/{{ data_interval_end }}"},
        {"interval": "{{ ds }}", "timezone": "{{ params.zone }}"},
        {"interval": "2024-10-01", "timezone": "{% if x %}UTC{% endif %}"},
        {"version": "{{ dag_run.conf['version'] }}"},
        {"file": "{{ ds }}.csv"},
    ],
)
def test_templates_are_checked_later(changes: dict[str, str]) -> None:
    """A template is let through: it is checked again once it is rendered."""
    assert any(is_open(text) for text in changes.values())
    check(**changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"path": r"/day=(?P<d>\d+)", "version": "{d}"}, "path: expected the address that matches '/day="),
        ({"path": r"/(?P<d>x)?", "version": "{d}"}, "version: expected a value for {d}"),
        ({"line": r"v(?P<d>\d+)", "version": "{d}"}, "line: expected a line of the document that matches"),
        ({"path": r"(?P<d>[0-9-]{9})/v", "interval": "{d}"}, "interval: expected START/END"),
        ({"path": r"(?P<d>dt)", "version": "{d}"}, "version: expected a whole number"),
        ({"path": r"(?P<d>dt=)", "dataset": "{d}"}, "dataset: expected 1 to 200"),
    ],
)
def test_markers_that_do_not_tell(changes: dict[str, str], text: str) -> None:
    """A marker whose address or text does not match, or tells what cannot be, is unreadable."""
    assert untold(**changes)[0].startswith(text)


def test_all_that_is_not_told_is_reported() -> None:
    """Dataset, interval and version are reported together."""
    found = untold(dataset="{/a}", interval="{/b}", version="{/c}", fields={})
    assert [text.partition(":")[0] for text in found] == list(SUBJECT)
    found = untold(dataset="{/a}", interval="{/a}", version="{/a}", fields={"a": "?"})
    assert [text.partition(":")[0] for text in found] == list(SUBJECT)


def test_values_are_no_templates() -> None:
    """What a marker tells is not filled in again."""
    assert untold(dataset="{/a}", fields={"a": "{/b}", "b": "x"})[0].endswith("found '{/b}'")


def test_what_is_searched_is_bounded() -> None:
    """Long lines, and those in the middle of a long document, are not searched."""
    assert untold(line="v(?P<v>1)", version="{v}", text="x" * 1024 + "v1")
    assert untold(line="v(?P<v>1)", version="{v}", text="x\n" * 1000 + "v1\n" + "y\n" * 1000)
    assert told(line="v(?P<v>1)", version="{v}", text="x" * 1022 + "v1").version == 1


texts = st.text(max_size=12) | st.sampled_from(
    ["{d}", "{/a}", "1", "2024-10-01", "{{ ds }}", "UTC", "{", "(?P<d>x)"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from([*SUBJECT, "path", "line", "timezone", "file", "x"]), values),
    values,
    texts,
)
@settings(max_examples=400, deadline=None)
def test_any_declaration(declared: dict[str, Any], fields: Any, text: str) -> None:
    """Whatever is declared: refused by one error, or read with any document to a subject or problems."""
    try:
        check_declared(declared, example=EXAMPLE, options=("file",), templates=("file",))
    except InvalidDeclaration:
        return
    report = Report()
    found = subject_of({**declared, "uri": URI}, report=report, fields=fields, text=text)
    assert (found is None) == (report.total > 0)
    for problem in report.problems:
        assert problem.text.isascii()
        assert problem.text.isprintable()


@given(st.text(max_size=30), st.text(max_size=60), values)
@settings(max_examples=300, deadline=None)
def test_any_marker(day: str, line: str, fields: Any) -> None:
    """Whatever a marker tells: a subject, or problems in printable ASCII."""
    declared = {
        "path": "/dt=(?P<day>.*)/", "line": "(?P<word>\\S+)", "timezone": "UTC", "uri": f"/in/dt={day}/list",
        "dataset": "{word}", "interval": "{day}", "version": "{/a}",
    }  # fmt: skip
    report = Report()
    found = subject_of(declared, report=report, fields={"a": fields}, text=line)
    assert (found is None) == (report.total > 0)
    assert all(problem.text.isascii() and problem.text.isprintable() for problem in report.problems)
