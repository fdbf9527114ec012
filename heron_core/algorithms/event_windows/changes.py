"""What of the state of an operator is to be saved: keys that have changed since it was saved."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

Packed = list[Any]
"""Plain data: numbers, strings and lists."""


class OperatorChanges(NamedTuple):
    """What an operator is to have saved."""

    is_all: bool
    """Whether that is all it keeps: what was saved before is gone."""
    keys: Mapping[Hashable, Packed | None]
    """None: nothing is kept of the key any more."""


class SavedByKey(ABC):
    """An operator whose state is saved key by key."""

    _keys: Mapping[Hashable, Any]
    """What it keeps of each key."""
    _changed: set[Hashable] | None = None
    """Keys that have changed since `changes`; None: all of them."""

    def changes(self) -> OperatorChanges:
        """What is kept of each key that has changed since the last call, the first time of all;
        keys have to be plain data themselves."""
        changed = self._keys if self._changed is None else self._changed
        packed = {key: self._packed(key) if key in self._keys else None for key in changed}
        made = OperatorChanges(self._changed is None, packed)
        self._changed = set()
        return made

    def forget_changes(self) -> None:
        """What `changes` gave was not saved: all of it is to be saved the next time."""
        self._changed = None

    @abstractmethod
    def _packed(self, key: Hashable) -> Packed:
        """What is kept of a key, as plain data."""
