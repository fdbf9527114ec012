"""Serializer with its peer in the same process, for the library's own reads and writes."""

from collections import deque
from collections.abc import Callable
from typing import Any

Take = Callable[[dict[str, Any]], None]


class InProcess:
    """Messages go to `take`, and come from `inbox`: commands, tuples, lists of task ids."""

    input_stream: Any = None
    output_stream: Any = None

    def __init__(self, *streams_and_locks: Any) -> None:
        self.inbox: deque[Any] = deque()
        self.as_message: Callable[[Any], Any] = _identity
        """Converts an inbox item to the form expected by the library's code."""
        self._early: list[dict[str, Any]] = []
        self._take: Take = self._early.append
        """Messages before `connect`: a constructor may log."""

    def connect(self, take: Take) -> None:
        """Send messages to `take` from now on, after delivery of the earlier messages."""
        self._take = take
        for message in self._early:
            take(message)
        self._early.clear()

    def send_message(self, msg_dict: dict[str, Any]) -> None:
        """Hand a message over at once."""
        self._take(msg_dict)

    def read_message(self) -> Any:
        """The next message as the library's code sees it."""
        return self.as_message(self.read())

    def read(self) -> Any:
        """The next message; RuntimeError for an empty inbox, which would never fill."""
        if not self.inbox:
            raise RuntimeError(
                "_run or read_command asks for another message, but gets one for each call of _run"
            )
        return self.inbox.popleft()


def _identity(message: Any) -> Any:
    return message
