"""How the data files of a delivery are built, where the format does not tell: declared by the Dag.

==================  ===============================================================================
``header_rows``     records before the data: ``1`` for a line of names
``trailer_rows``    records after the data
``data_delimiter``  between the fields, one ASCII character: ``;``, ``|``, a tab; makes the file CSV
``decimal``         mark before the decimals of numbers: ``.`` (default) or ``,``
``media_type``      such as ``text/csv``; ``None`` leaves it to the file's name
==================  ===============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ._errors import InvalidDeclaration
from ._options import check_choice, check_count
from ._problems import show

__all__ = ["SHAPE_OPTIONS", "DataShape", "check_delimiter"]

SHAPE_OPTIONS = ("header_rows", "trailer_rows", "data_delimiter", "decimal", "media_type")

_MAX_TRAILER_ROWS = 1000
_MAX_HEADER_ROWS = 1_000_000
_DELIMITER = re.compile(r"[\t !#-/:-@\[-`{-~]")  # no letter, digit or quote
_MEDIA_TYPE = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class DataShape:
    """What is declared of the data files, in the words of ``FileEntry``."""

    header_rows: int = 0
    trailer_rows: int = 0
    delimiter: str | None = None
    decimal: str = "."
    media_type: str | None = None

    @classmethod
    def of(cls, declared: Mapping[str, str]) -> DataShape:
        """The shape that is declared.

        :raises InvalidDeclaration: when a value cannot be meant.
        """
        check_count(declared, "header_rows", most=_MAX_HEADER_ROWS)
        check_count(declared, "trailer_rows", most=_MAX_TRAILER_ROWS)
        check_choice(declared, "decimal", (".", ","))
        check_delimiter(declared, "data_delimiter")
        media_type = declared.get("media_type")
        if media_type is not None and not _MEDIA_TYPE.fullmatch(media_type):
            raise InvalidDeclaration(f"media_type must be such as text/csv, not {show(media_type)}")
        return cls(
            header_rows=int(declared.get("header_rows", "0")),
            trailer_rows=int(declared.get("trailer_rows", "0")),
            delimiter=declared.get("data_delimiter"),
            decimal=declared.get("decimal", "."),
            media_type=media_type,
        )


def check_delimiter(declared: Mapping[str, str], key: str) -> None:
    """Refuse what cannot stand between fields.

    :raises InvalidDeclaration: saying what can.
    """
    text = declared.get(key)
    if text is not None and not _DELIMITER.fullmatch(text):
        raise InvalidDeclaration(f"{key} must be one ASCII mark such as ; or | or a tab, not {show(text)}")
