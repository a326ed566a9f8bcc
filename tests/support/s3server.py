"""S3 servers in threads of the tests: a whole one, and one that says what it is told to."""

from __future__ import annotations

import itertools
import logging
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import botocore.config
import botocore.session
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from airflow_landmark.stores import S3Access
from airflow_landmark.stores._s3 import S3Store
from airflow_landmark.stores._s3_again import Again

__all__ = ["ABSENT", "AWS_ENVIRONMENT", "Reply", "Request", "S3Server", "ScriptedS3", "error", "opened"]

AWS_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "a-secret-for-tests",
    "AWS_DEFAULT_REGION": "eu-west-3",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@asynccontextmanager
async def opened(url: str, **settings: Any) -> AsyncIterator[S3Store]:
    """A store at that endpoint, which sends requests again without long pauses.

    :param settings: further ones of its access.
    """
    access = S3Access(**{"endpoint_url": url, "addressing_style": "path", **settings})
    store = await S3Store(access, again=Again(attempts=3, pause_seconds=0.01)).start()
    try:
        yield store
    finally:
        await store.aclose()


@dataclass(frozen=True)
class Request:
    """A request that a server was asked."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def signed_with(self) -> tuple[str, str]:
        """The access key, and the region that it was signed for."""
        found = re.search(r"Credential=([^/]+)/\d+/([^/]+)/s3/", self.headers["authorization"])
        assert found is not None
        return found[1], found[2]

    @property
    def lists(self) -> bool:
        """Whether it asks for a page of a listing."""
        return "list-type" in self.query


_NUMBERS = itertools.count()
"""Of buckets: all servers of a process share what moto holds."""


class _Quiet(WSGIRequestHandler):
    def log(self, *_args: object) -> None:
        """Say nothing."""


class S3Server:
    """A complete S3 server, which notes what it was asked.

    :ivar url: of the endpoint.
    :ivar requests: since they were cleared last; those of ``client`` are among them.
    :ivar client: a plain client of the same server.
    """

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.requests: list[Request] = []
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._note, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.client: Any = None

    def __enter__(self) -> S3Server:
        self._thread.start()
        self.client = botocore.session.Session().create_client(
            "s3",
            region_name="eu-west-3",
            endpoint_url=self.url,
            aws_access_key_id="AKIAEXAMPLE",
            aws_secret_access_key=AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
            config=botocore.config.Config(s3={"addressing_style": "path"}),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def bucket(self, *, versions: bool = False) -> str:
        """Make a bucket of its own for a test, and return its name."""
        name = f"bucket-{next(_NUMBERS)}"
        where = {"LocationConstraint": "eu-west-3"}
        self.client.create_bucket(Bucket=name, CreateBucketConfiguration=where)
        if versions:
            keeps = {"Status": "Enabled"}
            self.client.put_bucket_versioning(Bucket=name, VersioningConfiguration=keeps)
        return name

    def put(self, bucket: str, key: str, data: bytes = b"", **parameters: Any) -> Any:
        """Put an object, and return the answer."""
        return self.client.put_object(Bucket=bucket, Key=key, Body=data, **parameters)

    def get(self, bucket: str, key: str) -> bytes:
        """The bytes of an object."""
        return bytes(self.client.get_object(Bucket=bucket, Key=key)["Body"].read())

    def asked(self, method: str) -> list[Request]:
        """The requests with this method."""
        return [request for request in self.requests if request.method == method]

    def _note(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
        path = unquote(environ["PATH_INFO"])
        self.requests.append(Request(environ["REQUEST_METHOD"], path, query, headers))
        return self._app(environ, start_response)


@dataclass(frozen=True)
class Reply:
    """An answer.

    :param cut: close the connection in place of an answer.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


def error(status: int, code: str, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer that is an error, with a text that nobody should ever show."""
    xml = f"<Error><Code>{code}</Code><Message>token=SECRET-TEXT</Message></Error>"
    return Reply(status, xml.encode(), {"Content-Type": "application/xml", **(headers or {})})


ABSENT = error(404, "NoSuchKey")


class ScriptedS3:
    """A server whose answers a test makes up.

    :param answer: is called for each request; raises nothing.
    :ivar requests: all that were asked.
    """

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.requests: list[Request] = []
        self.answer = answer
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedS3:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                url = urlsplit(self.path)
                query = dict(parse_qsl(url.query, keep_blank_values=True))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.rfile.read(int(headers.get("content-length", 0)))
                request = Request(self.command, unquote(url.path), query, headers)
                outer.requests.append(request)
                self._reply(outer.answer(request))

            def _reply(self, reply: Reply) -> None:
                self.close_connection = True
                if reply.cut:
                    return
                self.send_response(reply.status)
                self.send_header("Connection", "close")
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in reply.headers and reply.status != 304:
                    self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(reply.body)

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        return Handler
