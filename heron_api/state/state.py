"""The state of a stateful component (heronpy.api.state.state)."""

from collections.abc import Hashable, Iterator
from typing import Any


class State:
    """Keys and values of an instance."""

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value` under `key`."""
        raise NotImplementedError

    def get(self, key: Hashable) -> Any:
        """The value of `key`, or None."""
        raise NotImplementedError

    def enumerate(self) -> "Iterator[tuple[int, Hashable]]":
        """(0, first key), (1, second key), …: as in heronpy."""
        raise NotImplementedError

    def clear(self) -> None:
        """Remove all keys."""
        raise NotImplementedError


class HashMapState(State):
    """The state of an instance: a dict behind the interface.

    Example:

        state = HashMapState()
        state.put("storm", 1)
        assert state.get("storm") == 1
    """

    def __init__(self) -> None:
        self._dict: dict[Hashable, Any] = {}

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value` under `key`."""
        self._dict[key] = value

    def get(self, key: Hashable) -> Any:
        """The value of `key`, or None."""
        return self._dict.get(key)

    def enumerate(self) -> "Iterator[tuple[int, Hashable]]":
        """(0, first key), (1, second key), …"""
        return iter(enumerate(self._dict))

    def clear(self) -> None:
        """Remove all keys."""
        self._dict.clear()

    def __str__(self) -> str:
        return str(self._dict)
