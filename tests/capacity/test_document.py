"""The JSON document and its schema belong together."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from jsonschema import Draft202012Validator

import airflow_landmark.capacity as room
from airflow_landmark.capacity import Always, Answer, Scenario, answer_document, answer_schema
from sizing import HOUR, S3, a_wait, seed_wait, sized, triggerers


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    """Return what checks documents against the shipped schema."""
    schema = answer_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


ANSWERS = {
    "usual": lambda: sized([seed_wait(kind=S3)], triggerers(3)),
    "nobody waits": lambda: sized([], triggerers(2)),
    "nobody serves": lambda: sized([a_wait()]),
    "for ever": lambda: sized([a_wait(timeout=None, duration=room.bound(None))], triggerers(1, spare=0)),
    "always": lambda: sized([a_wait(arrivals=Always())], triggerers(2)),
    "late": lambda: sized(
        [a_wait(source="s")],
        triggerers(2),
        scenarios=(Scenario(name="late", kind="late", sources=("s",), seconds=HOUR),),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_fit_the_schema(name: str, validator: Draft202012Validator) -> None:
    """In strict JSON: no NaN, no Infinity."""
    document = json.loads(json.dumps(answer_document(ANSWERS[name]()), allow_nan=False))
    assert [error.message for error in validator.iter_errors(document)] == []


def test_schema_names_every_field() -> None:
    """And no other: a new field needs its line there."""
    schema = answer_schema()
    assert set(schema["properties"]) == {field.name for field in fields(Answer)} | {"landmark_capacity", "ok"}
    for name, definition in schema["$defs"].items():
        if definition.get("type") == "object":
            assert set(definition["properties"]) == {field.name for field in fields(getattr(room, name))}, (
                name
            )


def test_version_and_verdict() -> None:
    """Machines see at once whether it holds."""
    document = answer_document(sized([seed_wait()], triggerers(2)))
    assert (document["landmark_capacity"], document["ok"]) == (1, False)
    assert document["verdict"] == "does not hold"
