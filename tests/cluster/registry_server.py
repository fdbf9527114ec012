"""A real schema registry: Apicurio, with its schemas in memory, by Confluent's REST interface."""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.cluster.servers import START_SECS, Servers, free_ports
from tests.process.process_support import until

ANSWER_SECS = 30.0


class RegistryServer:
    """A registry at `url`."""

    def __init__(self, folder: Path, jars: Path) -> None:
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        options = ("-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}")
        self._servers = Servers(folder, jars, options)

    def start(self) -> None:
        """Start; returns when the registry answers."""
        self._servers.start("registry", "io.quarkus.runner.GeneratedMain")
        until(self._is_ready, "the registry is ready", START_SECS)

    def _is_ready(self) -> bool:
        self._servers.all_run()
        try:
            with urlopen(f"{self.url}/subjects", timeout=ANSWER_SECS) as answer:
                return bool(answer.status == HTTPStatus.OK)
        except (URLError, OSError):
            return False

    def compare(self, subject: str) -> None:
        """From now on a new schema of a subject has to read records of the last schema; by default
        this registry accepts all schemas."""
        self._told("PUT", f"config/{subject}", {"compatibility": "BACKWARD"})

    def register(self, subject: str, text: str, *imported: tuple[str, str]) -> None:
        """The text of a .proto file as a version of a subject, as a Java program does; imports by
        (name, subject)."""
        references = [{"name": name, "subject": of, "version": 1} for name, of in imported]
        body = {"schema": text, "schemaType": "PROTOBUF", "references": references}
        self._told("POST", f"subjects/{subject}/versions", body)

    def _told(self, method: str, path: str, body: Any) -> None:
        headers = {"Content-Type": "application/json"}
        request = Request(f"{self.url}/{path}", json.dumps(body).encode(), headers, method=method)
        urlopen(request, timeout=ANSWER_SECS).close()

    def stop(self) -> None:
        """Kill it for good."""
        self._servers.stop()
