"""What httpx and what is beneath it raise, sorted by class: texts differ between releases and systems."""

from __future__ import annotations

import ssl

import anyio
import httpx

from airflow_landmark.markers import show

from ._http_client import HttpFault

__all__ = ["BROKEN", "fault_of"]

BROKEN = (
    httpx.TransportError, httpx.InvalidURL, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError,
)  # fmt: skip
"""What an exchange may end with."""

_TLS_REMEDY = "check the URL, or set the option verify to the file of the CAs to trust"
_MENDABLE: tuple[tuple[type[Exception], str], ...] = (
    (httpx.LocalProtocolError, "the request cannot be written: check the connection's headers and query"),
    (httpx.InvalidURL, "the request cannot be written: check the host, and the length of path and query"),
)
_PASSING: tuple[tuple[type[Exception], str], ...] = (
    (httpx.ConnectTimeout, "no connection in time"),
    (httpx.TimeoutException, "no answer in time"),
    (TimeoutError, "no answer in time"),
    (httpx.ConnectError, "no connection: the host is unknown, cannot be reached, or nothing listens there"),
    (httpx.ProxyError, "the proxy refuses the connection"),
    (httpx.RemoteProtocolError, "the answer was cut short, or is no HTTP"),
    (Exception, "the connection broke"),
)
_TLS_REFUSALS = (ssl.SSLError, ssl.SSLCertVerificationError)
"""The other subclasses tell of a connection that ended or went on, and nothing of trust."""


def fault_of(error: Exception, *, connecting: bool) -> HttpFault:
    """What it means.

    :param connecting: no answer had begun: a TLS error is then one of trust, and no damage on the way.
    """
    tls = _tls_error(error)
    if tls is not None and connecting:
        return HttpFault(f"no trusted TLS connection ({show(_told_by(tls))}): {_TLS_REMEDY}", lasting=True)
    for kind, text in _MENDABLE:
        if isinstance(error, kind):
            return HttpFault(text, lasting=True)
    return HttpFault(next(text for kind, text in _PASSING if isinstance(error, kind)))


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """The refusal by TLS that led to this error."""
    for _ in range(8):
        if error is None:
            return None
        if isinstance(error, ssl.SSLError) and type(error) in _TLS_REFUSALS:
            return error
        error = error.__cause__ or error.__context__
    return None


def _told_by(error: ssl.SSLError) -> str:
    told = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason
    return told or type(error).__name__
