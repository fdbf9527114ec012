"""A key and a window (heronpy.streamlet.keyedwindow)."""

from dataclasses import dataclass
from typing import Any

from heronpy_compat.streamlet.window import Window


@dataclass(init=False, repr=False, unsafe_hash=True)
class KeyedWindow:
    """What a result by key belongs to; it may be the key of a further operator.

    Example:

        from heronpy_compat.streamlet.window import Window

        counted = KeyedWindow("storm", Window(0, 60_000))
        assert counted.key == "storm"
    """

    _key: Any
    _window: Window

    def __init__(self, key: Any, window: Window) -> None:
        self._key = key
        self._window = window

    @property
    def key(self) -> Any:
        """What the elements have in common."""
        return self._key

    @property
    def window(self) -> Window:
        """When they happened."""
        return self._window

    def __repr__(self) -> str:
        return f"KeyedWindow {{key: {self._key}, window: {self._window}}}"
