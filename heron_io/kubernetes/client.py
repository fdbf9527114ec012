"""Requests to Kubernetes' API server, with bounded waits: JSON over http.client.

docs/LIBRARIES.md compares the client libraries. Each thread has a connection for all its requests;
`close` ends all connections, so a thread waiting for a watch ends, too.
"""

import http.client
import json
import socket
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode

from heron_core.errors import HeronError
from heron_core.version import VERSION
from heron_io.kubernetes.access import ApiAccess

REQUEST_SECS = 5.0
"""An API server answers in milliseconds; an overloaded server answers 429 or 503."""
WATCH_SECS = 60
"""The server ends a watch after this time, and the client begins the next watch."""
KEEPALIVE = (
    (socket.TCP_KEEPIDLE, 5),
    (socket.TCP_KEEPINTVL, 3),
    (socket.TCP_KEEPCNT, 3),
)
"""Keep-alive: a watch notices the loss of the server's machine after 14 s."""
UNANSWERED_CODES = frozenset({429, 500, 502, 503, 504})
"""A server is starting, ending or overloaded: the request may succeed later."""
JSON_TYPE = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
METADATA_TYPE = f"{JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""A list of objects without contents."""


class ApiError(HeronError):
    """The API server has refused a request."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class ApiUnanswered(HeronError):
    """A lost answer, after which the effect of the request is unknown; or the server asks for a
    later attempt."""


class ApiClient:
    """Requests to one API server; any thread may make them."""

    def __init__(self, access: ApiAccess) -> None:
        self._access = access
        self._local = threading.local()
        self._connections: weakref.WeakSet[http.client.HTTPConnection] = weakref.WeakSet()
        self._mutex = threading.Lock()
        self._is_closed = False
        self._clock_offset_secs = time.time() - time.monotonic()
        self.failed_at = float("-inf")
        """Time of the last request without an answer, by the monotonic clock."""

    @property
    def address(self) -> str:
        """Address of the server."""
        return self._access.address

    def server_time(self) -> float:
        """The server's clock by the header Date of the last answer, in seconds since 1970; up to
        one second late, because the header has whole seconds."""
        return time.monotonic() + self._clock_offset_secs

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        """An object or a list."""
        return self.request("GET", path, parameters=parameters)

    def metadata(self, path: str, **parameters: str) -> list[dict[str, Any]]:
        """The metadata of the objects of a list."""
        answer = self.request("GET", path, parameters=parameters, accept=METADATA_TYPE)
        return [item["metadata"] for item in answer.get("items") or ()]

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        parameters: Mapping[str, str] | None = None,
        content: str = JSON_TYPE,
        accept: str = JSON_TYPE,
        timeout_secs: float = REQUEST_SECS,
    ) -> dict[str, Any]:
        """The answer; ApiError for a refusal, ApiUnanswered without an answer in `timeout_secs`."""
        target = _target(path, parameters or {})
        with self._answer(method, target, body, content, accept, timeout_secs) as response:
            try:
                return _decoded(response.read())
            except (OSError, http.client.HTTPException) as error:
                raise self._unanswered(error) from error

    def text(self, path: str, **parameters: str) -> str:
        """An answer in plain text, such as a pod's log; invalid UTF-8 is replaced. ApiError for a
        refusal, ApiUnanswered without an answer."""
        target = _target(path, parameters)
        with self._answer("GET", target, None, JSON_TYPE, "*/*") as response:
            try:
                return response.read().decode("utf-8", "replace")
            except (OSError, http.client.HTTPException) as error:
                raise self._unanswered(error) from error

    def watch(self, path: str, **parameters: str) -> Iterator[dict[str, Any]]:
        """Events after a resourceVersion, until the server ends the watch. ApiError with code 410
        if the version is too old; ApiUnanswered if the connection breaks."""
        wanted = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECS),
            **parameters,
        }
        try:
            with self._answer(
                "GET", _target(path, wanted), None, JSON_TYPE, JSON_TYPE, WATCH_SECS + REQUEST_SECS
            ) as response:
                while line := response.readline():
                    yield _checked_event(_decoded(line))
        except (OSError, http.client.HTTPException) as error:
            raise self._unanswered(error) from error
        finally:
            self._discard()  # the next request must not read the rest of the stream

    def close(self) -> None:
        """Break all connections; requests raise ApiUnanswered from now on."""
        self._is_closed = True
        with self._mutex:
            for connection in list(self._connections):
                _break(connection)
        self._discard()

    # One request

    def _answer(
        self,
        method: str,
        target: str,
        body: Mapping[str, Any] | None,
        content: str,
        accept: str,
        timeout_secs: float = REQUEST_SECS,
    ) -> http.client.HTTPResponse:
        headers = {"Accept": accept, "User-Agent": f"heronpy/{VERSION}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = content
        if authorization := self._access.credentials.header():
            headers["Authorization"] = authorization
        response = self._sent(method, self._access.prefix + target, data, headers, timeout_secs)
        if date := response.getheader("Date"):
            self._clock_offset_secs = parsedate_to_datetime(date).timestamp() - time.monotonic()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            self._refuse(response)
        return response

    def _sent(
        self,
        method: str,
        target: str,
        data: bytes | None,
        headers: Mapping[str, str],
        timeout_secs: float,
    ) -> http.client.HTTPResponse:
        """Send a request. The server may have ended an idle connection: a request without effects
        is sent again at once."""
        connection, is_new = self._connection(timeout_secs)
        try:
            connection.request(method, target, data, dict(headers))
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self._discard()
            if is_new:
                raise self._unanswered(error) from error
            if method != "GET":
                raise ApiUnanswered(f"the connection to {self.address} has ended") from error
        return self._sent(method, target, data, headers, timeout_secs)

    def _connection(self, timeout_secs: float) -> tuple[http.client.HTTPConnection, bool]:
        """The thread's connection, and whether the connection is new."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(timeout_secs)
            return connection, False
        connection = _ApiConnection(self._access, timeout_secs)
        with self._mutex:
            if self._is_closed:
                raise ApiUnanswered(f"the connection to {self.address} is closed")
            self._connections.add(connection)
        self._local.connection = connection
        return connection, True

    def _discard(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _unanswered(self, error: Exception) -> ApiUnanswered:
        self._discard()
        self.failed_at = time.monotonic()
        reason = str(error) or type(error).__name__
        return ApiUnanswered(f"no API server of Kubernetes answers at {self.address} ({reason})")

    def _refuse(self, response: http.client.HTTPResponse) -> None:
        try:
            status = _decoded(response.read())
        except (OSError, http.client.HTTPException) as error:
            raise self._unanswered(error) from error
        code, message = response.status, str(status.get("message") or response.reason)
        if code == http.HTTPStatus.UNAUTHORIZED:
            self._access.credentials.refuse()
            message = "the API server does not know the user: correct the user of the kubeconfig"
        if code in UNANSWERED_CODES:
            self.failed_at = time.monotonic()
            raise ApiUnanswered(f"the API server at {self.address} asks to try later ({message})")
        raise ApiError(code, str(status.get("reason") or ""), message)


class _ApiConnection(http.client.HTTPConnection):
    """A connection to the server's address, with TLS if configured."""

    def __init__(self, access: ApiAccess, timeout_secs: float) -> None:
        super().__init__(access.host, access.port, timeout=timeout_secs)
        self._tls = access.tls
        self._server_name = access.server_name or access.host

    def connect(self) -> None:
        """Connect like http.client, with keep-alive."""
        super().connect()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE:
            self.sock.setsockopt(socket.IPPROTO_TCP, option, value)
        if self._tls is not None:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)

    def __del__(self) -> None:
        """Close at the end of the owning thread."""
        self.close()


def _break(connection: http.client.HTTPConnection) -> None:
    """Wake up a thread that is reading from the connection."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _target(path: str, parameters: Mapping[str, str]) -> str:
    return f"{quote(path)}?{urlencode(parameters)}" if parameters else quote(path)


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except ValueError:
        return {"message": data.decode(errors="replace").strip()}
    return answer if isinstance(answer, dict) else {}


def _checked_event(event: dict[str, Any]) -> dict[str, Any]:
    if event.get("type") == "ERROR":
        status = event.get("object") or {}
        code = int(status.get("code") or http.HTTPStatus.INTERNAL_SERVER_ERROR)
        raise ApiError(code, str(status.get("reason") or ""), str(status.get("message") or ""))
    return event
