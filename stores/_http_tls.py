"""Contexts for TLS: costly to build and all alike, so that equal ones are shared while they are in use."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from weakref import WeakValueDictionary

from anyio import to_thread

from ._errors import InvalidAccess

__all__ = ["bare_context", "trusting_context"]

_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_SHARED: WeakValueDictionary[tuple[object, ...], ssl.SSLContext] = WeakValueDictionary()


def bare_context() -> ssl.SSLContext:
    """A context that trusts nobody, for connections without TLS: in place of one that takes long to build."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def trusting_context(verify: bool | str) -> ssl.SSLContext:
    """A context for TLS, built in a thread.

    :param verify: ``True`` trusts the system's CAs and those of certifi; where the environment has
        ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``, the CAs in there and no others. Text is the path of a file,
        or of a folder that OpenSSL has hashed, with the only CAs to trust. ``False`` checks nothing.
    :raises InvalidAccess: when the file with the CAs cannot be read.
    """
    key = (verify, *map(os.environ.get, _VARIABLES))
    context = _SHARED.get(key)
    if context is None:
        context = await to_thread.run_sync(_build, verify)
        context = _SHARED.setdefault(key, context)
    return context


def _build(verify: bool | str) -> ssl.SSLContext:
    if isinstance(verify, str):
        return _trusting_only(verify)
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not any(map(os.environ.get, _VARIABLES)):
        import certifi  # noqa: PLC0415 - part of an extra

        context.load_verify_locations(certifi.where())  # small images have no CAs of their own
    return context


def _trusting_only(path: str) -> ssl.SSLContext:
    try:
        if Path(path).is_dir():
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        kind = type(error).__name__
        raise InvalidAccess(
            "verify", f"no CAs can be read from that file ({kind}): it must hold PEM certificates"
        ) from None
