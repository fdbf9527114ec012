"""Values of state as bytes, and the one line for a value that cannot be saved."""

from typing import Any

from heron_core.errors import StateError
from heron_core.state.keys import shown_key
from heron_core.wire.values import Pack, Unpack, pack_any, packer, unpacker

_KEY_CHARACTERS_SHOWN = 60


class StateCodec:
    """How one component's keys and values are packed: as the values of tuples are."""

    def __init__(self, component: str, *, pickles: bool = True) -> None:
        self.component = component
        self._pickles = pickles
        self.pack: Pack = packer(pickles=pickles)
        self.unpack: Unpack = unpacker(pickles=pickles)

    def pack_value(self, value: Any, name: str, key: Any) -> bytes:
        """One value, in the general way if need be; StateError naming component, state and key."""
        try:
            return pack_any(self.pack, value, pickles=self._pickles)
        except Exception as error:
            raise StateError(self._cannot_save(value, name, key, error)) from error

    def pack_all(self, values: list[Any], name: str, keys: list[Any]) -> bytes:
        """The msgpack array of many values at once; `keys` names the one that cannot be saved."""
        try:
            return self.pack(values)
        except Exception:
            safe = [
                self.unpack_raw(self.pack_value(value, name, key))
                for key, value in zip(keys, values, strict=True)
            ]
            return self.pack(safe)

    @staticmethod
    def unpack_raw(data: bytes) -> Any:
        """A packed value as what packs to the same bytes."""
        import msgpack

        return msgpack.unpackb(data, strict_map_key=False)

    def _cannot_save(self, value: Any, name: str, key: Any, error: Exception) -> str:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        shown = repr(shown_key(key))[:_KEY_CHARACTERS_SHOWN]
        state = f"the state {name!r}" if name else "its state"
        return (
            f"{self.component}: {state} cannot be saved: its value of key {shown}"
            f" (a {kind}) cannot be serialised: {error}"
        )
