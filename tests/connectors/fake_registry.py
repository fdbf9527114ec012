"""A schema registry by the rules of its REST interface, in memory, for confluent_kafka's client. A
real registry is tested in tests/cluster."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

Answer = tuple[int, Any]


@dataclass
class FakeRegistry:
    """Schemas by their numbers, and the versions of each subject: numbers of schemas."""

    schemas: list[dict[str, Any]] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    is_away: bool = False
    """Whether every answer is a 503."""
    authorization: str = ""
    """The required header; empty: without authentication."""
    asked: int = 0
    """Questions so far."""
    url: str = ""

    def answer(self, method: str, path: list[str], body: Any) -> Answer:
        """(status, JSON)"""
        match (method, path):
            case ("POST", ["subjects", subject, "versions"]):
                return self._register(subject, body)
            case ("POST", ["subjects", subject]):
                return self._looked_up(subject, body)
            case ("GET", ["subjects", subject, "versions", version]):
                return self._version(subject, version)
            case ("GET", ["schemas", "ids", number]):
                at = int(number) - 1
                known = 0 <= at < len(self.schemas)
                return (200, self.schemas[at]) if known else _missing("Schema")
        return 405, {"error_code": 405, "message": f"{method} {path}"}

    def _number(self, schema: dict[str, Any]) -> int:
        kept = {key: each for key, each in schema.items() if key in ("schema", "schemaType")}
        if schema.get("references"):
            kept["references"] = schema["references"]
        if kept not in self.schemas:
            self.schemas.append(kept)
        return self.schemas.index(kept) + 1

    def _register(self, subject: str, schema: dict[str, Any]) -> Answer:
        versions = self.subjects.get(subject, [])
        if versions and not _reads(schema, self.schemas[versions[-1] - 1]):
            text = "Schema being registered is incompatible with an earlier schema"
            return 409, {"error_code": 409, "message": f'{text} for subject "{subject}"\ndetails'}
        number = self._number(schema)
        if number not in versions:
            self.subjects[subject] = [*versions, number]
        return 200, {"id": number}

    def _looked_up(self, subject: str, schema: dict[str, Any]) -> Answer:
        number = self._number(schema)
        versions = self.subjects.get(subject)
        if versions is None:
            return _missing("Subject")
        if number not in versions:
            return _missing("Schema")
        return 200, self._told(subject, versions.index(number) + 1)

    def _version(self, subject: str, version: str) -> Answer:
        versions = self.subjects.get(subject)
        if versions is None:
            return _missing("Subject")
        return 200, self._told(subject, len(versions) if version == "latest" else int(version))

    def _told(self, subject: str, version: int) -> dict[str, Any]:
        number = self.subjects[subject][version - 1]
        return {"subject": subject, "version": version, "id": number, **self.schemas[number - 1]}


def _missing(what: str) -> Answer:
    return 404, {"error_code": 40403, "message": f"{what} not found"}


def _reads(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """BACKWARD for records: a field that is new has a default."""
    if new.get("schemaType", "AVRO") != "AVRO":
        return True
    before, after = json.loads(old["schema"]), json.loads(new["schema"])
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return bool(before == after)
    names = {each["name"]: each["type"] for each in before.get("fields", ())}
    return all(
        names[each["name"]] == each["type"] if each["name"] in names else "default" in each
        for each in after.get("fields", ())
    )


@contextmanager
def served(tls: ssl.SSLContext | None = None) -> Iterator[FakeRegistry]:
    """An empty registry, on a free port of this machine; with `tls` by https."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked += 1
            path = [unquote(each) for each in urlsplit(self.path).path.strip("/").split("/")]
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if registry.is_away:
                status, said = 503, {"error_code": 503, "message": "starting"}
            elif registry.authorization not in ("", self.headers.get("Authorization")):
                status, said = 401, {"error_code": 401, "message": "Unauthorized"}
            else:
                status, said = registry.answer(self.command, path, body)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    registry.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
