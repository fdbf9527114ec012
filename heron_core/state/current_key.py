"""The current key: that of the tuple being processed, made only when a state asks for it."""

from collections.abc import Sequence
from typing import Any

from heron_core.errors import StateError
from heron_core.native import TupleKey
from heron_core.state.keys import key_of


class CurrentKey(TupleKey):
    """Set `tuple` before each tuple; a call gives its key. All of it is for the main thread."""

    def __init__(self, component: str, fields: Sequence[str] = ()) -> None:
        """`fields`: by what the component's inputs are grouped."""
        super().__init__(component)
        self._fields = tuple(fields)

    def at(self, key: Any) -> TupleKey:
        """See TupleKey."""
        fixed = CurrentKey(self.component, self._fields)
        fixed.set(key)
        return fixed

    def set(self, key: Any) -> None:
        """Make a key the current one, until the next tuple or `unset`."""
        self.go_on_with(self.given(key))

    def go_on_with(self, key: Any) -> None:
        """As `set`, with a key as states have it."""
        self._key = key
        self._seen = self.tuple = object()

    def state(self) -> tuple[Any, Any, Any]:
        """What `restore` takes, once another key has been the current one."""
        return self.tuple, self._seen, self._key

    def restore(self, state: tuple[Any, Any, Any]) -> None:
        """The current key is what it was."""
        self.tuple, self._seen, self._key = state

    def unset(self) -> None:
        """There is no current key."""
        self.tuple = self._seen = None

    def given(self, key: Any) -> Any:
        """The key that user code gives: one field's value, or a tuple of several fields'."""
        if len(self._fields) < 2:
            return key_of([key])
        if not isinstance(key, (tuple, list)) or len(key) != len(self._fields):
            names = ", ".join(self._fields)
            raise StateError(f"{self.component}: a key is ({names}) here, not {key!r}")
        return key_of(key)
