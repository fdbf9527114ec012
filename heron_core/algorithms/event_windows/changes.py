"""Incremental save of an operator's state: keys changed since the last save."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

Packed = list[Any]
"""Plain data: numbers, strings and lists."""


class OperatorChanges(NamedTuple):
    """What an operator is to have saved."""

    is_all: bool
    """Whether the changes are the full state: earlier saves are obsolete."""
    keys: Mapping[Hashable, Packed | None]
    """None: the key was removed."""


class SavedByKey(ABC):
    """An operator whose state is saved key by key."""

    _keys: Mapping[Hashable, Any]
    """State of each key."""
    _changed: set[Hashable] | None = None
    """Keys changed since `changes`; None: all keys."""

    def changes(self) -> OperatorChanges:
        """What is kept of each key that has changed since the last call, the first time of all;
        keys have to be plain data themselves."""
        changed = self._keys if self._changed is None else self._changed
        packed = {key: self._packed(key) if key in self._keys else None for key in changed}
        made = OperatorChanges(self._changed is None, packed)
        self._changed = set()
        return made

    def forget_changes(self) -> None:
        """A save of `changes` has failed: the next save is a full one."""
        self._changed = None

    @abstractmethod
    def _packed(self, key: Hashable) -> Packed:
        """What is kept of a key, as plain data."""
