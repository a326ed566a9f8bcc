"""Answers that are no success, sorted into the errors of this room: by status only, never by text.

Nothing that a server wrote stands in the texts, nor a query: both may hold secrets.
"""

from __future__ import annotations

from http import HTTPStatus

from ._access import HttpAccess
from ._errors import Absent, Changed, LastingTrouble, PassingTrouble, StoreError
from ._http_client import HttpAnswer, HttpFault
from ._http_headers import retry_after

__all__ = ["NO_PAGE", "error_of_answer", "error_of_fault"]

NO_PAGE = "404: nothing there"
_PASSING = frozenset({408, 425, 429})


def error_of_fault(fault: HttpFault, place: str) -> StoreError:
    """The error that a broken exchange is."""
    kind = LastingTrouble if fault.lasting else PassingTrouble
    return kind(place, fault.reason)


def error_of_answer(answer: HttpAnswer, place: str, access: HttpAccess) -> StoreError:
    """The error that an answer is: one that is no success, or a success that was not asked for."""
    status = answer.status
    if status == 404:
        return Absent(place, NO_PAGE)
    if status == 410:
        return _gone(place, access)
    if status == 403 and access.treat_403_as_missing:
        return Absent(place, "403: no access, which counts as missing here")
    if status == 412:
        return Changed(place, "412: it was replaced or changed since it was seen")
    if status in _PASSING or status >= 500:
        return PassingTrouble(place, f"{_named(status)}", retry_after=retry_after(answer))
    return LastingTrouble(place, f"{_named(status)}: {_remedy(status, access)}")


def _gone(place: str, access: HttpAccess) -> StoreError:
    if access.gone == "wait":
        return Absent(place, "410: gone, which counts as not there yet")
    return LastingTrouble(place, "410: gone for good, as the server says; gone='wait' waits all the same")


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def _remedy(status: int, access: HttpAccess) -> str:
    if status == 401 and access.origin is None:
        return "the server asks who we are: give a connection with login and password, or with headers"
    if status == 401:
        return f"the server does not take what the connection for {access.origin} brings: check it"
    if status == 403:
        return (
            "this user may not read it. Where the server says so of what is not there yet, too, set the "
            "option treat_403_as_missing"
        )
    if status == 407:
        return "the proxy asks who we are: put user and password into the proxy's URL"
    if status < 400:
        return "no answer that was asked for"
    return "the server refuses the request"
