"""An OpenID Connect issuer over real HTTP, in a thread of the test's process."""

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

NOW = datetime.now(UTC)


class Issuer:
    """Signs tokens; its keys are served over HTTP."""

    def __init__(self) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": "first"}, private=True)
        self.requests = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.requests += 1
                self._send(200, issuer.answer(self.path))

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"])).decode()
                form = {name: each[0] for name, each in parse_qs(data).items()}
                self._send(*issuer.posted(self.path, form, self.headers))

            def _send(self, status: int, found: Any) -> None:
                body = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def answer(self, path: str) -> Mapping[str, Any]:
        """Its two documents."""
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return KeySet([self.key]).as_dict(private=False)

    def posted(self, path: str, form: Mapping[str, str], headers: Any) -> tuple[int, Any]:
        """Nothing is sent to it."""
        return 404, {"error": path}

    def token(self, key: Any = None, algorithm: str = "ES256", **claims: Any) -> str:
        """Of somebody, for an hour, unless `claims` say else."""
        key = key or self.key
        usual = {"iss": self.url, "aud": "heronpy", "exp": int(NOW.timestamp()) + 3600}
        head = {"alg": algorithm, "kid": key.kid or "first"}
        return jwt.encode(head, {**usual, **claims}, key, algorithms=[algorithm])

    def close(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
