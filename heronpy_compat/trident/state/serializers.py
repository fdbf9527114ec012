"""Stored values as bytes, for backing maps of databases that take bytes."""

from typing import Any

from heron_core.wire.values import packer, unpacker
from heronpy_compat.trident.state.map_states import OpaqueValue, TransactionalValue

_pack, _unpack = packer(), unpacker(pickles=True)


class NonTransactionalSerializer:
    """Of a NonTransactionalMap.

    Example:

        serializer = NonTransactionalSerializer()
        assert serializer.deserialize(serializer.serialize([1, "a"])) == [1, "a"]
    """

    def serialize(self, stored: Any) -> bytes:
        """The stored value as bytes."""
        return _pack([stored])

    def deserialize(self, data: bytes) -> Any:
        """The stored value again."""
        return _unpack(data)[0]


class TransactionalSerializer:
    """Of a TransactionalMap.

    Example:

        from heronpy_compat.trident import TransactionalValue

        serializer = TransactionalSerializer()
        assert serializer.deserialize(serializer.serialize(TransactionalValue(7, 42))).val == 42
    """

    def serialize(self, stored: TransactionalValue) -> bytes:
        """The stored value as bytes."""
        return _pack([stored.txid, stored.val])

    def deserialize(self, data: bytes) -> TransactionalValue:
        """The stored value again."""
        return TransactionalValue(*_unpack(data))


class OpaqueSerializer:
    """Of an OpaqueMap."""

    def serialize(self, stored: OpaqueValue) -> bytes:
        """The stored value as bytes."""
        return _pack([stored.curr_txid, stored.curr, stored.prev])

    def deserialize(self, data: bytes) -> OpaqueValue:
        """The stored value again."""
        return OpaqueValue(*_unpack(data))
