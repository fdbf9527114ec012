"""A stand-in for Kubernetes' API server: objects, versions, conditions, selectors and watches.

The functions required by the state store, and the refusals of an API server: tests/kubernetes runs
the tests with a real server. A request can be made to fail.
"""

import json
import re
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Fault = Callable[[str, str], tuple[int, str] | None]
"""Method and path -> status and message of a refusal; status 0: the connection is broken."""

POLL_SECS = 0.02
COLLECTIONS = frozenset(
    {"deployments", "replicasets", "pods", "rolebindings", "roles", "serviceaccounts"}
)
"""Whose objects are removed by one request."""
_TERM = re.compile(r"([^=, ]+)(?:(=)([^,]*)| in \(([^)]*)\))?")
"""`KEY`, `KEY=VALUE` or `KEY in (VALUE,VALUE)` in a label selector."""
HISTORY_MAX = 2000


class Refused(Exception):
    """Status and message."""


class StandIn:
    """The objects of one cluster, and their server."""

    def __init__(self, port: int = 0) -> None:
        self.changed = threading.Condition()
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.version = 1
        self.oldest = 0
        self.fault: Fault = lambda method, path: None
        self._port = port
        self._server: ThreadingHTTPServer | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def is_running(self) -> bool:
        return self._server is not None

    def start(self) -> None:
        """Answer, at the same address as before."""
        stand_in = self

        class Handler(_Handler):
            cluster = stand_in

        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(POLL_SECS,), daemon=True).start()

    def stop(self) -> None:
        """Break all connections, and answer no more."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def compact(self) -> None:
        """Forget what has changed so far: watches of older versions are gone."""
        with self.changed:
            self.history.clear()
            self.oldest = self.version

    def kubeconfig(self, folder: Path) -> Path:
        """A file that leads here."""
        path = folder / "kubeconfig.json"
        document = {
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": f"http://{self.address}"}}],
            "users": [{"name": "test", "user": {"token": "word"}}],
        }
        path.write_text(json.dumps(document))
        return path

    def handle(
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Handle one request other than a watch."""
        with self.changed:
            if path == "/version":
                return {"gitVersion": "stand-in"}
            if method == "POST":
                return self._create(path, body or {})
            if path in self.objects:
                answer: dict[str, Any] = getattr(self, f"_{method.lower()}")(path, body or {})
                return answer
            if method == "DELETE" and path.rpartition("/")[2] in COLLECTIONS:
                for found in [each for each in self._listed(path) if _selected(each, query)]:
                    self._delete(f"{path}/{found['metadata']['name']}", body or {})
                return {"status": "Success"}
            if method == "GET" and not path.rpartition("/")[2].startswith("heron"):
                items = [found for found in self._listed(path) if _selected(found, query)]
                return {"metadata": {"resourceVersion": str(self.version)}, "items": items}
        raise Refused(404, "not found")

    def since(self, path: str, version: int) -> list[tuple[int, str, dict[str, Any]]]:
        """Changes of a collection's objects after a version."""
        with self.changed:
            if version < self.oldest:
                raise Refused(410, "too old resource version")
            return [
                (at, kind, found)
                for at, kind, found in self.history
                if at > version and found["path"].rpartition("/")[0] == path
            ]

    def _listed(self, path: str) -> list[dict[str, Any]]:
        return [
            found["object"]
            for name, found in self.objects.items()
            if name.rpartition("/")[0] == path
        ]

    def _create(self, collection: str, new: dict[str, Any]) -> dict[str, Any]:
        path = f"{collection}/{new['metadata']['name']}"
        if path in self.objects:
            raise Refused(409, f"{path} already exists")
        new["metadata"]["uid"] = secrets.token_hex(8)
        return self._stored("ADDED", path, new)

    def _get(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.objects[path]["object"]
        return found

    def _put(self, path: str, new: dict[str, Any]) -> dict[str, Any]:
        self._check(path, new["metadata"])
        new["metadata"]["uid"] = self.objects[path]["object"]["metadata"]["uid"]
        return self._stored("MODIFIED", path, new)

    def _patch(self, path: str, change: dict[str, Any]) -> dict[str, Any]:
        return self._stored("MODIFIED", path, _merged(self.objects[path]["object"], change))

    def _delete(self, path: str, options: dict[str, Any]) -> dict[str, Any]:
        self._check(path, options.get("preconditions") or {})
        found = self.objects[path]["object"]
        self._stored("DELETED", path, found)
        del self.objects[path]
        return {"status": "Success"}

    def _check(self, path: str, wanted: dict[str, Any]) -> None:
        metadata = self.objects[path]["object"]["metadata"]
        for key in ("uid", "resourceVersion"):
            if wanted.get(key) not in (None, metadata[key]):
                raise Refused(409, f"the object {path} has been modified")

    def _stored(self, kind: str, path: str, new: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        new = json.loads(json.dumps(new))
        new["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path] = {"path": path, "object": new}
        self.history.append((self.version, kind, self.objects[path]))
        if len(self.history) > HISTORY_MAX:
            self.oldest = self.history.pop(0)[0]
        self.changed.notify_all()
        return new


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        self.is_over = threading.Event()
        self._sockets: set[Any] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._sockets.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        self.is_over.set()
        super().server_close()
        for each in list(self._sockets):
            super().shutdown_request(each)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone, or a server that ends."""


class _Handler(BaseHTTPRequestHandler):
    cluster: StandIn
    protocol_version = "HTTP/1.1"

    def _any(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        refusal = self.cluster.fault(self.command, url.path)
        try:
            if refusal is not None and refusal[0] == 0:
                self.close_connection = True
                return
            if refusal is not None:
                raise Refused(*refusal)
            if query.get("watch"):
                self._watch(url.path, query)
                return
            self._answer(200, self.cluster.handle(self.command, url.path, query, body))
        except Refused as error:
            code, message = error.args
            self._answer(code, {"code": code, "message": message, "reason": ""})

    def do_GET(self) -> None:
        self._any()

    def do_POST(self) -> None:
        self._any()

    def do_PUT(self) -> None:
        self._any()

    def do_PATCH(self) -> None:
        self._any()

    def do_DELETE(self) -> None:
        self._any()

    def _answer(self, code: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, path: str, query: dict[str, str]) -> None:
        assert isinstance(self.server, _Server)
        version = int(query["resourceVersion"])
        until = time.monotonic() + float(query["timeoutSeconds"])
        self.cluster.since(path, version)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not self.server.is_over.is_set() and time.monotonic() < until:
            for at, kind, found in self.cluster.since(path, version):
                version = at
                if _selected(found["object"], query):
                    self._send_event({"type": kind, "object": found["object"]})
            with self.cluster.changed:
                self.cluster.changed.wait(POLL_SECS)
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, event: dict[str, Any]) -> None:
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests read no log of it."""


def _selected(found: dict[str, Any], query: dict[str, str]) -> bool:
    metadata = found["metadata"]
    labels = metadata.get("labels") or {}
    for key, equals, value, among in _TERM.findall(query.get("labelSelector", "")):
        wanted = among.split(",") if among else [value]
        if key not in labels or ((equals or among) and labels[key] not in wanted):
            return False
    fields = {
        "metadata.name": metadata["name"],
        "type": found.get("type"),
        "involvedObject.uid": found.get("involvedObject", {}).get("uid"),
    }
    terms = filter(None, query.get("fieldSelector", "").split(","))
    return all(fields[key] == value for key, _, value in (term.partition("=") for term in terms))


def _merged(old: Any, change: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(change, dict):
        return change
    return {**old, **{key: _merged(old.get(key), value) for key, value in change.items()}}
