"""The current key: the key of the tuple being processed, computed when a state first asks for
it."""

from collections.abc import Sequence
from typing import Any

from heron_core.errors import StateError
from heron_core.native import TupleKey
from heron_core.state.keys import key_of


class CurrentKey(TupleKey):
    """Set `tuple` before each tuple; a call returns the tuple's key. For the main thread alone."""

    def __init__(self, component: str, fields: Sequence[str] = ()) -> None:
        """`fields` are the fields by which the component's inputs are grouped."""
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
        """As `set`, with a key in the form that states use."""
        self._key = key
        self._seen = self.tuple = object()

    def state(self) -> tuple[Any, Any, Any]:
        """The present key in the form for `restore`, before other keys become current."""
        return self.tuple, self._seen, self._key

    def restore(self, state: tuple[Any, Any, Any]) -> None:
        """Make the saved key current again."""
        self.tuple, self._seen, self._key = state

    def unset(self) -> None:
        """Leave no key current."""
        self.tuple = self._seen = None

    def given(self, key: Any) -> Any:
        """The key from user code in the states' form: the value of one field, or a tuple for
        several fields.
        """
        if len(self._fields) < 2:
            return key_of([key])
        if not isinstance(key, (tuple, list)) or len(key) != len(self._fields):
            names = ", ".join(self._fields)
            raise StateError(f"{self.component}: a key is ({names}) here, not {key!r}")
        return key_of(key)
