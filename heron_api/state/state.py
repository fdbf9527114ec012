"""The state of a stateful component (heronpy.api.state.state)."""

from collections.abc import Hashable, Iterator
from typing import Any


class State:
    """Keys and values that belong to one instance."""

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value` under `key`."""
        raise NotImplementedError

    def get(self, key: Hashable) -> Any:
        """The value of `key`, None if there is none."""
        raise NotImplementedError

    def enumerate(self) -> "Iterator[tuple[int, Hashable]]":
        """(0, first key), (1, second key), …: what heronpy's state gives."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything."""
        raise NotImplementedError


class HashMapState(State):
    """The state that an instance gets: a dict behind the interface."""

    def __init__(self) -> None:
        self._dict: dict[Hashable, Any] = {}

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value` under `key`."""
        self._dict[key] = value

    def get(self, key: Hashable) -> Any:
        """The value of `key`, None if there is none."""
        return self._dict.get(key)

    def enumerate(self) -> "Iterator[tuple[int, Hashable]]":
        """(0, first key), (1, second key), …"""
        return iter(enumerate(self._dict))

    def clear(self) -> None:
        """Forget everything."""
        self._dict.clear()

    def __str__(self) -> str:
        return str(self._dict)
