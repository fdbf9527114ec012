"""The whole application over a topology made up by a test, asked without a socket."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from heron_io.state_store.protocol import StateStore
from heron_tracker.application import application
from heron_tracker.model.collector import TrackerCollector
from heron_tracker.model.history_store import HistoryStore
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import TrackerOptions
from heron_tracker.service import Service
from tests.unit.heron_tracker.tracker_support import NOW, snapshot, stats

HOST = "http://127.0.0.1:8889"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer."""

    status: int
    text: str
    headers: httpx.Headers

    @property
    def json(self) -> Any:
        """As JSON."""
        return json.loads(self.text)

    @property
    def result(self) -> Any:
        """The content of Heron's envelope; AssertionError for a failure."""
        found = self.json
        assert found["status"] == "success", self.text
        return found["result"]


def _ignored(found: object) -> None:
    """A test fills the history itself."""


class Asked:
    """The application of `heronpy ui`, with the clock at NOW."""

    def __init__(
        self,
        look: Callable[[str], TopologySnapshot] = lambda name: snapshot(stats()),
        store: StateStore | None = None,
        options: TrackerOptions | None = None,
    ) -> None:
        options = options or TrackerOptions(first_poll_secs=60.0)
        self.history = HistoryStore(":memory:")
        self.looks = 0

        def counted(name: str) -> TopologySnapshot:
            self.looks += 1
            return look(name)

        self._collector = TrackerCollector(
            options, lambda: ["words"], counted, _ignored, _ignored, calendar=lambda: NOW
        )
        self.service = Service(self._collector, self.history, store, lambda: NOW)  # type: ignore[arg-type]
        self._options = options
        self.application = application(self.service, options)
        self._runner = asyncio.Runner()
        self._collector.start()

    def use(self, service: Service) -> None:
        """Serve another service from now on."""
        self.application.close()
        self.service = service
        self.application = application(service, self._options)

    def get(self, path: str, **headers: str) -> Answer:
        """GET, with a path and its query; _ in names of headers is -."""
        return self.send("GET", path, None, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        """POST, with a body as JSON."""
        return self.send("POST", path, body, **headers)

    def send(self, method: str, path: str, body: object, **headers: str) -> Answer:
        """Any request."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._runner.run(self._send(method, path, body, named))

    async def _send(
        self, method: str, path: str, body: object, headers: Mapping[str, str]
    ) -> Answer:
        transport = httpx.ASGITransport(self.application, raise_app_exceptions=True)
        content = body if isinstance(body, bytes) else None
        if body is not None and content is None:
            content = json.dumps(body).encode()
        sent = {"content-type": "application/json", **headers} if content else dict(headers)
        async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
            found = await client.request(method, path, content=content, headers=sent)
        return Answer(found.status_code, found.text, found.headers)

    def close(self) -> None:
        """End the threads, and close the files."""
        self.application.close()
        self._collector.stop()
        self.history.close()
        self._runner.close()
