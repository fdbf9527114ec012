"""Parts of a stage's state that are saved entry by entry: only what has changed is written."""

import pickle
from collections.abc import Hashable, Iterator
from typing import Any

import cloudpickle


class SavedParts:
    """Entries of the component's state, under the name of a part: (part, key) -> bytes."""

    def __init__(self, state: Any) -> None:
        """`state`: the component's state, empty or restored."""
        self._state = state

    def restored(self, part: str) -> Iterator[tuple[Any, Any]]:
        """(key, value) of a part."""
        for name, value in list(self._state):
            if name[0] == part:
                yield name[1], unpickled(value)

    def put(self, part: str, key: Hashable, value: Any) -> None:
        """Write an entry; None removes it."""
        if value is None:
            self._state.delete((part, key))
        else:
            self._state.put((part, key), pickled(value))


def pickled(value: Any) -> bytes:
    """Bytes of a value; classes of a program's main module are pickled by value."""
    try:
        return pickle.dumps(value)
    except Exception:  # whatever pickle raises, cloudpickle's own error says what is wrong
        return bytes(cloudpickle.dumps(value))


def unpickled(data: bytes) -> Any:
    """The value of `pickled`."""
    return pickle.loads(data)
