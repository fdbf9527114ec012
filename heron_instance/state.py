"""The state of one component, as the engine sees it: bytes at a barrier, and back.

What a component keeps in it is the matter of `heronpy_compat.api.state`.
"""

from typing import Any, Protocol

from heron_core.wire.values import array_of, pack_fields, packer, unpacker
from heronpy_compat.api.state.state import HashMapState

KEY_CHARACTERS = 100
"""Of a key, for people to read."""


class ComponentState(Protocol):
    """What an engine saves and gives back. All calls come from the main thread."""

    @property
    def given(self) -> Any:
        """What `init_state` of the component is called with."""

    def snapshot(self) -> bytes:
        """The state between two tuples; ValueNotSerialisable if it cannot be saved."""

    def restore(self, data: bytes) -> None:
        """Take a state that `snapshot` has made, before the component is given anything."""


class MapState:
    """heronpy's state: keys and values of any type that can travel in a tuple."""

    def __init__(self, component: str, pickles: bool) -> None:
        self.given = HashMapState()
        self._component = component
        self._pickles = pickles
        self._pack = packer(pickles=pickles)
        self._unpack = unpacker(pickles=pickles)

    def snapshot(self) -> bytes:
        """See ComponentState."""
        items = [[key, self.given.get(key)] for _, key in self.given.enumerate()]
        try:
            return self._pack(items)
        except Exception:  # the general way, which also names the key that is to blame
            return array_of([self._packed(item) for item in items])

    def _packed(self, item: list[Any]) -> bytes:
        names = ("key", repr(item[0])[:KEY_CHARACTERS])
        return pack_fields(self._pack, item, self._component, "state", names, pickles=self._pickles)

    def restore(self, data: bytes) -> None:
        """See ComponentState."""
        for key, value in self._unpack(data):
            self.given.put(key, value)
