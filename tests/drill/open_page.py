"""The page of a topology as in a browser: opened once, then kept fresh by the service.

Speaks the part of socket.io behind NiceGUI's pages; tests/browser has a whole Chromium. Messages
begin with digits: 0 open, 2 ping, 3 pong, 40 connect, 42 an event as JSON.
"""

import json
import re
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import httpx
from websockets.sync.client import ClientConnection, connect

ANSWER_SECS = 20.0
LOOK_AGAIN_SECS = 0.5
"""Between two looks at `close`."""
_CLIENT = re.compile(r"'client_id': '([^']+)'")


class OpenPage:
    """An open page; any thread may read the texts."""

    def __init__(self, service: httpx.Client, path: str) -> None:
        """AssertionError: `path` is not a page."""
        answer = service.get(path).raise_for_status()
        found = _CLIENT.search(answer.text)
        assert found, f"{path} is no page of NiceGUI"
        query = {
            "EIO": "4", "transport": "websocket", "client_id": found[1], "tab_id": "drill",
            "document_id": "drill", "next_message_id": "0", "implicit_handshake": "true",
        }  # fmt: skip
        base = str(service.base_url).replace("http", "ws", 1).rstrip("/")
        self._url = f"{base}/_nicegui_ws/socket.io/?{urlencode(query)}"
        self._elements: dict[str, Any] = {}
        """Element id -> newest content."""
        self._is_left = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def shows(self, text: str) -> bool:
        """Whether the page has a text now."""
        return any(text in element for element in list(self._elements.values()))

    def close(self) -> None:
        """Leave the page."""
        self._is_left.set()
        self._reader.join(ANSWER_SECS)

    def _read(self) -> None:
        with connect(self._url, open_timeout=ANSWER_SECS, max_size=None) as socket:
            socket.recv(ANSWER_SECS)
            socket.send("40")
            while not self._is_left.is_set():
                with suppress(TimeoutError):
                    self._take(socket, str(socket.recv(LOOK_AGAIN_SECS)))

    def _take(self, socket: ClientConnection, message: str) -> None:
        if message == "2":
            socket.send("3")
        elif message.startswith('42["update",'):
            _, updates = json.loads(message[2:])
            for number, element in updates.items():
                self._elements[number] = json.dumps(element, ensure_ascii=False)
