"""An Airflow AWS connection as the access to S3.

Where the Amazon provider is installed the connection means what it means to that provider, whose own
code builds the sessions. Without it there is what a key pair, a profile and a few settings can say.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from airflow_landmark.stores import S3Access, options_of

from ._access_aws import AwsSession
from ._access_known import Known, frozen

__all__ = ["s3_access"]

_PROVIDER = "airflow.providers.amazon"
_INSTALL = "pip install apache-airflow-providers-amazon"
_PLAIN = {
    "region_name", "endpoint_url", "host", "aws_access_key_id", "aws_secret_access_key", "aws_session_token",
    "profile_name", "verify", "config_kwargs",
}  # fmt: skip
"""What an extra may say without the provider."""
_PLAIN_CONFIG = {
    "connect_timeout", "max_pool_connections", "proxies", "read_timeout", "region_name",
    "request_checksum_calculation", "response_checksum_validation", "retries", "s3", "signature_version",
    "tcp_keepalive", "use_dualstack_endpoint", "use_fips_endpoint", "user_agent_extra",
}  # fmt: skip
_FIELDS = {"connect_timeout", "read_timeout", "region_name", "proxies", "s3"}
"""Settings of botocore's client for which the access has fields of its own."""
_HTTP_URL = re.compile(r"https?://", re.IGNORECASE)


def s3_access(known: Known, options: Mapping[str, Any]) -> S3Access:
    """The access that the connection means. Blocks: importing the provider takes seconds.

    :raises InvalidAccess: naming what is wrong with the connection.
    """
    known.check_type({"aws", "s3"}, "an AWS connection")
    chosen = options_of("s3", options)
    return _by_provider(known, chosen) if _has_provider() else _by_itself(known, chosen)


def _has_provider() -> bool:
    try:
        return importlib.util.find_spec(_PROVIDER) is not None
    except ModuleNotFoundError:
        return False


def _by_provider(known: Known, chosen: Mapping[str, Any]) -> S3Access:
    session = AwsSession.of(known, region=chosen.get("region"), profile=chosen.get("profile"))
    try:
        found = session.settings()
    except Exception as error:  # noqa: BLE001 - whatever the provider and botocore object to
        raise known.wrong(f"the Amazon provider refuses it: {session.told(error)}") from None
    access = _configured(known, chosen, {name: value for name, value in found.items() if value})
    return access if access.anonymous else replace(access, session=session)


def _by_itself(known: Known, chosen: Mapping[str, Any]) -> S3Access:
    config = known.mapping("config_kwargs")
    foreign = sorted(set(known.extra) - _PLAIN)
    foreign += sorted(f"config_kwargs.{name}" for name in set(config) - _PLAIN_CONFIG)
    if foreign:
        raise known.wrong(f"its extra {', '.join(foreign)} needs the Amazon provider: {_INSTALL}")
    key, secret, token = _keys(known)
    access = _configured(known, chosen, {})
    return replace(access, access_key_id=key, secret_access_key=secret, session_token=token)


def _configured(known: Known, chosen: Mapping[str, Any], found: Mapping[str, Any]) -> S3Access:
    """The access without credentials.

    :param chosen: the sensor's options: they come first.
    :param found: what the provider has found: it comes next.
    """
    extra, config = known.extra, known.mapping("config_kwargs")
    s3 = dict(config.get("s3") or {}) if isinstance(config.get("s3", {}), dict) else {}
    settings = {
        "region": extra.get("region_name", config.get("region_name")),
        "endpoint_url": extra.get("endpoint_url") or _legacy_endpoint(known),
        "verify": known.flag("verify"),
        "profile": extra.get("profile_name"),
        "addressing_style": s3.pop("addressing_style", None),
        "anonymous": True if config.get("signature_version") == "unsigned" else None,
        "connect_timeout": config.get("connect_timeout"),
        "read_timeout": config.get("read_timeout"),
    }
    return S3Access(
        **known.options("s3", settings | dict(found)) | dict(chosen),
        proxies=_proxies(known, config),
        client_config=_client_config(config, s3),
    )


def _client_config(config: Mapping[str, Any], s3: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What is left for botocore's ``Config``, in kinds that can be hashed."""
    left = {name: value for name, value in config.items() if name not in _FIELDS}
    if left.get("signature_version") == "unsigned":  # said by the access itself
        del left["signature_version"]
    if s3:
        left["s3"] = dict(s3)
    return tuple((name, frozen(left[name])) for name in sorted(left))


def _proxies(known: Known, config: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    proxies = config.get("proxies") or {}
    if not isinstance(proxies, dict) or not all(isinstance(url, str) for url in proxies.values()):
        raise known.wrong("config_kwargs.proxies must be URLs by scheme")
    return tuple(sorted(proxies.items()))


def _legacy_endpoint(known: Known) -> str | None:
    """Where connections had the endpoint before there was a setting for it."""
    for host in (known.extra.get("host"), known.host):
        if isinstance(host, str) and _HTTP_URL.match(host):
            return host
    return None


def _keys(known: Known) -> tuple[str | None, str | None, str | None]:
    """Key, secret key and session token: from login and password, or else from the extra."""
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    key, secret, token = (known.extra.get(name) for name in names)
    if known.login and known.password:
        key, secret = known.login, known.password
    if not all(value is None or isinstance(value, str) for value in (key, secret, token)):
        raise known.wrong(f"{', '.join(names)} must be text")
    return (key, secret, token) if key and secret else (None, None, None)
