"""Answers of S3 and troubles of the transport, sorted into the errors of this room.

By code, status and class of exception only: texts differ between servers and releases. The errors'
own texts name the operation and what to do; texts of the server and URLs stay out, since they may hold
tokens and signatures.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from airflow_landmark.markers import show

from ._errors import Absent, Archived, Changed, LastingTrouble, PassingTrouble, StoreError

__all__ = ["DENIED", "EXPIRED", "code_of", "expired", "sorted_error", "status_of"]

DENIED = frozenset({"AccessDenied", "AllAccessDisabled", "AccessDeniedException", "403", "Forbidden"})
"""Codes of a refusal for missing rights; an answer to HEAD has no body and its status as code."""
EXPIRED = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "RequestExpired", "TokenRefreshRequired"}
)
"""Codes of credentials whose time is over."""
_BUSY = frozenset(
    {
        "BandwidthLimitExceeded", "InternalError", "OperationAborted", "RequestLimitExceeded",
        "RequestThrottled", "RequestTimeout", "RequestTimeoutException", "ServiceUnavailable", "SlowDown",
        "Throttling", "ThrottlingException", "TooManyRequestsException",
    }
)  # fmt: skip
_KEYS = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidClientTokenId", "UnrecognizedClientException"}
)
_REGION = frozenset(
    {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect",
     "TemporaryRedirect"}
)  # fmt: skip
_MAX_RETRY_AFTER = 3600.0

_WHERE = (
    "give the connection, or on this machine the environment (AWS_ACCESS_KEY_ID), a profile in ~/.aws, "
    "or a role of the instance or container; anonymous for a public bucket"
)


def sorted_error(error: BaseException, *, place: str, operation: str) -> StoreError | None:
    """The error of this room that an exception means; ``None`` when it is not of S3 or the transport.

    :param place: the URI that was asked for.
    :param operation: as S3 names it, such as ``"GetObject"``.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - part of an extra

    if isinstance(error, StoreError):
        return error
    if isinstance(error, ClientError):
        return _Answer(error.response, place, str(error.operation_name) or operation).sorted()
    if isinstance(error, BotoCoreError):
        return _by_class(error, place, operation)
    return _transport(error, place, operation)


def code_of(error: BaseException) -> str:
    """The code of an answer; empty when the exception is none."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def status_of(answer: Mapping[str, Any]) -> int:
    """The HTTP status of an answer."""
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def expired(error: BaseException) -> bool:
    """Whether fresh credentials may mend it. HEAD has no body: a bare 400 is what it says of a token."""
    code = code_of(error)
    return code in EXPIRED or (code == "400" and getattr(error, "operation_name", "") == "HeadObject")


class _Answer:
    """An answer of S3 that is an error."""

    def __init__(self, response: Mapping[str, Any], place: str, operation: str) -> None:
        self._place = place
        self._operation = operation
        self._code = str(response.get("Error", {}).get("Code", ""))
        self._status = status_of(response)
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        self._headers: Mapping[str, str] = {str(name).lower(): value for name, value in headers.items()}

    def sorted(self) -> StoreError:
        """The error it means."""
        return self._of_object() or self._passing() or self._lasting()

    def _of_object(self) -> StoreError | None:
        """What is said of the object, not of the way to it."""
        code, status = self._code, self._status
        if code == "NoSuchBucket":
            return LastingTrouble(self._place, "no such bucket: check its name, and the endpoint's")
        if code == "NoSuchVersion":
            return Changed(self._place, "the version that was seen has been deleted")
        if code == "NoSuchUpload":
            return PassingTrouble(self._place, "the upload was ended by somebody else")
        if self._deleted():
            return Absent(self._place, "deleted: a delete marker lies there")
        if status == 404:
            return Absent(self._place, "no such object")
        if status == 412 or code == "ConditionalRequestConflict":
            return Changed(self._place, "it was written, replaced or removed meanwhile")
        if code == "InvalidObjectState":
            return Archived(self._place, "it lies in an archive storage class: restore it first")
        return None

    def _deleted(self) -> bool:
        return self._status in (404, 405) and self._headers.get("x-amz-delete-marker") == "true"

    def _passing(self) -> StoreError | None:
        code, status = self._code, self._status
        if code in EXPIRED:
            text = f"{self._told()}: the credentials have expired; fresh ones are fetched for the next try"
            return PassingTrouble(self._place, text)
        if code == "400" and self._operation == "HeadObject":
            text = f"{self._told()}: refused without a reason, as for credentials that have expired"
            return PassingTrouble(self._place, text)
        if code in _BUSY or status in (408, 429) or (status >= 500 and status != 501):
            text = f"{self._told()}: the server is busy or in trouble"
            return PassingTrouble(self._place, text, retry_after=self._retry_after())
        return None

    def _lasting(self) -> StoreError:
        return LastingTrouble(self._place, f"{self._told()}: {self._remedy()}")

    def _told(self) -> str:
        return f"{self._operation} was answered {self._status} {show(self._code, limit=60)}"

    def _remedy(self) -> str:
        code = self._code
        if code in _KEYS:
            return "the access key or its secret is wrong or was deleted: check the connection or profile"
        if code == "RequestTimeTooSkewed":
            return "this machine's clock is wrong by more than 15 minutes: set it"
        if code in _REGION:
            return f"the bucket is in another region{self._region()}: set the option region"
        if self._status in (301, 302, 307, 308):
            return "the bucket is in another region or at another URL: set the options region or endpoint_url"
        if code.startswith("KMS."):
            return "the key that encrypts the object is disabled, deleted or not for this user: see AWS KMS"
        if code in DENIED:
            return _right_to(self._operation)
        if self._status == 501 or code == "NotImplemented":
            return "this server does not know what was asked of it, such as a conditional write"
        return "the server refuses it"

    def _region(self) -> str:
        region = self._headers.get("x-amz-bucket-region", "")
        return f" ({show(region, limit=40)})" if region else ""

    def _retry_after(self) -> float | None:
        """Seconds, from a number or a date; bounded, since a server must not stop a wait for good."""
        text = str(self._headers.get("retry-after", "")).strip()
        if text.isascii() and text.isdigit():
            return min(float(text[:9]), _MAX_RETRY_AFTER)
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
        return min(max(0.0, seconds), _MAX_RETRY_AFTER)


def _right_to(operation: str) -> str:
    if operation in ("GetObject", "HeadObject"):
        return (
            "give this user s3:GetObject on the key and s3:ListBucket on the bucket. Without s3:ListBucket "
            "S3 says 403 of a key that is not there yet, too: where that cannot be given, set the option "
            "treat_403_as_missing. Objects encrypted with AWS KMS need kms:Decrypt, too"
        )
    if operation == "ListObjectsV2":
        return "give this user s3:ListBucket on the bucket, for this prefix"
    if operation.startswith("AssumeRole"):
        return "the role may not be assumed with these credentials: check its trust policy"
    return (
        "give this user s3:PutObject and s3:AbortMultipartUpload on the key; where the bucket is encrypted "
        "with AWS KMS kms:GenerateDataKey, too"
    )


def _by_class(error: BaseException, place: str, operation: str) -> StoreError:
    """What botocore raises without an answer."""
    from botocore import exceptions as botocore  # noqa: PLC0415 - part of an extra

    kind = type(error).__name__
    if isinstance(error, (botocore.NoCredentialsError, botocore.PartialCredentialsError)):
        return LastingTrouble(place, f"no credentials: {_WHERE}")
    if isinstance(error, (botocore.ProfileNotFound, botocore.ConfigNotFound, botocore.ConfigParseError)):
        return LastingTrouble(place, f"{kind}: check the option profile and the files in ~/.aws")
    if isinstance(error, botocore.SSOError):
        return LastingTrouble(place, f"{kind}: the single sign-on has ended; log in again (aws sso login)")
    if isinstance(error, botocore.SSLError):
        return _tls(place)
    if isinstance(error, botocore.ParamValidationError):
        return LastingTrouble(place, f"{operation} cannot be asked for: S3 takes no such bucket or key")
    if isinstance(error, botocore.FlexibleChecksumError):
        return PassingTrouble(place, "the bytes that came do not fit the checksum that came with them")
    if isinstance(error, (botocore.CredentialRetrievalError, botocore.MetadataRetrievalError)):
        return PassingTrouble(place, f"{kind}: the source of the credentials gives none now")
    if isinstance(error, (botocore.ConnectionError, botocore.HTTPClientError, botocore.IncompleteReadError)):
        return PassingTrouble(place, f"no answer to {operation}: {kind}")
    return LastingTrouble(place, f"{operation} failed with {kind}: check the settings of the store")


def _transport(error: BaseException, place: str, operation: str) -> StoreError | None:
    """What comes through botocore from beneath it, while a body is read at the latest."""
    import aiohttp  # noqa: PLC0415 - part of an extra
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 - part of an extra

    kind = type(error).__name__
    if isinstance(error, (ssl.SSLError, aiohttp.ClientSSLError)):
        return _tls(place)
    # until Python 3.10 this timeout is no OSError
    if isinstance(error, (aiohttp.ClientError, asyncio.TimeoutError, OSError)):
        return PassingTrouble(place, f"no answer to {operation}: {kind}")
    if isinstance(error, ResponseParserError):
        return LastingTrouble(place, f"the answer to {operation} is none of S3: check the endpoint's URL")
    return None


def _tls(place: str) -> LastingTrouble:
    return LastingTrouble(
        place,
        "no trusted TLS connection: check the endpoint's URL, and set the option verify to the file of the "
        "CAs to trust",
    )
