"""The HTML page: one file, nothing loaded, readable without seeing."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from airflow_landmark.capacity import (
    Answer,
    BackTest,
    BackTestDay,
    Cron,
    Deployment,
    Exponential,
    Inputs,
    Lint,
    Wait,
    check,
    html_page,
)

HOSTILE = '<script>alert(1)</script>"&\u202e'
VOID = {"meta", "br"}


class _Page(HTMLParser):
    """All elements with their attributes, and whether they are nested well."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and not (self.open and self.open[-1] != tag and tag in ("line", "path")):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def _answer(dags: int = 12) -> Answer:
    waits = [
        Wait(
            name=f"{HOSTILE}{number}.w",
            kind="a.B",
            arrivals=Cron(f"{number} 0 * * *"),
            duration=Exponential(1_200.0 + number),
            dag=f"{HOSTILE}{number}",
            timeout=14_400.0,
        )
        for number in range(dags)
    ]
    deployment = Deployment(name="main", replicas=3, capacity=10)
    return check(Inputs(waits=tuple(waits), deployments=(deployment,)), begin=0.0, seconds=7 * 86_400.0)


@pytest.fixture(scope="module")
def answer() -> Answer:
    """Return an answer with all that a page can show."""
    lints = (Lint(code="LC01", level="error", where=HOSTILE, text=HOSTILE),)
    days = (BackTestDay(day="2026-01-01", predicted=3.0, observed=2.0),)
    test = BackTest(days=days, observed_mean=1.0, predicted_mean=1.1)
    return replace(_answer(), lints=lints, back_test=test, notes=(HOSTILE,))


@pytest.fixture(scope="module")
def page(answer: Answer) -> _Page:
    """Return the page of the answer, parsed."""
    found = _Page(html_page(answer, made_at=0.0))
    assert found.open == []
    return found


def test_nothing_is_loaded(answer: Answer, page: _Page) -> None:
    """No address, no script, no style from elsewhere: it works offline, and it says so to the browser."""
    text = html_page(answer)
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    names = {name for name, _ in page.elements}
    assert names.isdisjoint({"script", "link", "img", "iframe", "object", "form", "a"})
    assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv")]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_names_are_text(page: _Page) -> None:
    """A Dag's name is shown as it is and never becomes markup."""
    assert any(HOSTILE in text for text in page.texts)


def test_headings_and_tables(page: _Page) -> None:
    """One heading of the first order; every table has a caption, and every head says what it heads."""
    assert len(page.all("h1")) == 1
    assert len(page.all("caption")) == len(page.all("table")) > 5
    assert {one.get("scope") for one in page.all("th")} == {"col", "row"}
    (root,) = page.all("html")
    assert root["lang"] == "en"


def test_the_drawing_has_words(page: _Page) -> None:
    """It is an image with a title and a description, and its numbers stand in a table."""
    for drawing in page.all("svg"):
        assert drawing["role"] == "img"
        ids = set(str(drawing["aria-labelledby"]).split())
        assert ids == {str(one["id"]) for one in [*page.all("title")[1:], *page.all("desc")]}
    assert len(page.all("details")) == len(page.all("svg")) == 1


def test_ids_are_unique(page: _Page) -> None:
    """What refers to one finds one."""
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_light_and_dark(answer: Answer) -> None:
    """Colours are variables with two values."""
    text = html_page(answer)
    assert "color-scheme: light dark" in text
    assert "@media (prefers-color-scheme: dark)" in text


def test_figures_are_those_of_the_answer(answer: Answer, page: _Page) -> None:
    """The first sentence says what is needed."""
    worst = answer.partitions[0].worst
    text = " ".join(page.texts)
    assert f"triggerers needed {worst.needed}, with 1 spare {worst.with_spare}" in text
    assert "+50%" in text


def test_nothing_waits() -> None:
    """A page without waits is a page."""
    empty = check(Inputs(), begin=0.0, seconds=86_400.0)
    assert _Page(html_page(empty)).open == []
