"""Names of what a ledger holds, and the keys of backends that keep values by key."""

from __future__ import annotations

import re
from typing import Literal

from airflow_landmark.markers import DATASET_PATTERN, Interval, show

__all__ = ["HeldWord", "check_dataset", "key_of_held", "read_key"]

HeldWord = Literal["taken", "claim"]

_WORDS: tuple[HeldWord, ...] = ("taken", "claim")
_KEY = re.compile(rf"landmark_(taken|claim):({DATASET_PATTERN}):([0-9TZ:.+-]{{1,40}}/[0-9TZ:.+-]{{1,40}})")


def check_dataset(dataset: str) -> None:
    """Refuse what is no dataset's name: it may come from where people can write.

    :raises ValueError: saying what was expected and found.
    """
    if not isinstance(dataset, str) or not re.fullmatch(DATASET_PATTERN, dataset):
        raise ValueError(f"dataset must be 1 to 200 of A-Z a-z 0-9 . _ / -, not {show(dataset)}")


def key_of_held(word: HeldWord, dataset: str, interval: Interval) -> str:
    """The key of what is taken, or of the claim: printable ASCII, at most 300 characters.

    :raises ValueError: when the dataset is no dataset's name.
    """
    check_dataset(dataset)
    return f"landmark_{word}:{dataset}:{interval}"


def read_key(key: str) -> tuple[HeldWord, str, Interval] | None:
    """Word, dataset and interval of a key; ``None`` when it is none that :func:`key_of_held` made."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    try:
        interval = Interval.parse(match[3])
    except ValueError:
        return None
    word = next(word for word in _WORDS if word == match[1])
    return (word, match[2], interval) if key_of_held(word, match[2], interval) == key else None
