"""The server of a kubelet that the API server asks for the logs of pods."""

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

Find = Callable[[str], Path | None]
"""A pod's name -> the file with its timed lines, if the pod is here."""


class KubeletLogs:
    """`GET /containerLogs/NAMESPACE/POD/CONTAINER`, over TLS; answers end, `follow` is refused."""

    def __init__(self, certificate: Path, key: Path, find: Find) -> None:
        class Handler(_Handler):
            file_of = staticmethod(find)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    file_of: Find
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        wanted = {key: values[0] for key, values in parse_qs(url.query).items()}
        _, kind, _, pod, _ = url.path.split("/")
        file = self.file_of(pod)
        if kind != "containerLogs" or file is None or "follow" in wanted:
            self._answer(404, b"not here")
            return
        self._answer(200, "".join(shown(file.read_text("utf-8", "replace"), wanted)).encode())

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the output is that of the tests."""


def shown(text: str, wanted: dict[str, str]) -> list[str]:
    """The lines of a file, each behind its time, as a request wants them."""
    since = wanted.get("sinceTime", "")[: len("2026-11-28T02:21:46")]
    lines = [line for line in text.splitlines(keepends=True) if line >= since]
    if "tailLines" in wanted:
        lines = lines[-int(wanted["tailLines"]) :]
    return lines if wanted.get("timestamps") == "true" else [x.partition(" ")[2] for x in lines]
