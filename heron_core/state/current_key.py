"""The current key: that of the tuple being processed, made only when a state asks for it."""

from collections.abc import Callable, Sequence
from typing import Any

from heron_core.errors import StateError
from heron_core.state.keys import key_of

KeyOfTuple = Callable[[Any], Any]

_NO_TUPLE = (
    "no tuple is being processed, so no key is the current one: use for_key(key), or all_items()"
)


class CurrentKey:
    """Set `tuple` before each tuple; a call gives its key. All of it is for the main thread."""

    __slots__ = ("_fields", "_key", "_key_of", "_seen", "component", "tuple")

    def __init__(self, component: str, fields: Sequence[str] = ()) -> None:
        """`fields`: by what the component's inputs are grouped."""
        self.component = component
        self.tuple: Any = None
        """What is being processed; None between two tuples."""
        self._fields = tuple(fields)
        self._key_of: KeyOfTuple = _no_keys
        self._seen: Any = None
        self._key: Any = None

    def of_tuples(self, key_of_tuple: KeyOfTuple) -> None:
        """How to get at a tuple's key: the function raises StateError for one without."""
        self._key_of = key_of_tuple

    def __call__(self) -> Any:
        """The key; StateError if there is none."""
        if self.tuple is None:
            raise StateError(f"{self.component}: {_NO_TUPLE}")
        if self.tuple is not self._seen:
            self._key = self._key_of(self.tuple)
            self._seen = self.tuple
        return self._key

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


def _no_keys(tup: Any) -> Any:
    raise StateError("its tuples have no key: use for_key(key)")
