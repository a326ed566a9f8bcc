"""What the commands beside the Dag have in common: an error of the settings or the database is one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from orders_errors import OrdersError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from airflow_landmark.deliveries import DeliveryError

__all__ = ["explained"]


@contextmanager
def explained() -> Iterator[None]:
    """End the program with one line where the block raises what its caller can mend.

    :raises SystemExit: with that line, which Python prints; the exit code is 1.
    """
    try:
        yield
    except (OrdersError, DeliveryError) as error:
        sys.exit(_line(error))
    except DBAPIError as error:
        sys.exit(f"ORDERS_DESTINATION: {_line(error.orig or error)}")
    except (SQLAlchemyError, ImportError, ValueError) as error:
        sys.exit(f"ORDERS_DESTINATION: {_line(error)}")


def _line(error: BaseException) -> str:
    """An error in one line: drivers spread theirs over several."""
    return " ".join(str(error).split())
