"""Messages as bare msgpack objects one after the other, as pystorm's `-s msgpack` has them.

Nothing marks where an object begins, so after a stray print the reader cannot find the next object.
"""

from typing import Any

import msgpack

from heron_core.errors import ProtocolError
from heron_frontends.adapters.multilang.protocol import (
    MESSAGE_BYTES_MAX,
    NO_UTF_8,
    Message,
    decoded,
    is_message,
)
from heron_frontends.adapters.multilang.values import said


class MsgpackCodec:
    """See protocol.Codec."""

    def __init__(self) -> None:
        self.strays: list[str] = []
        self._pack = msgpack.Packer(default=said, autoreset=True).pack
        self._unpacker = msgpack.Unpacker(
            strict_map_key=False, unicode_errors=NO_UTF_8, max_buffer_size=MESSAGE_BYTES_MAX
        )

    def encode(self, message: Any) -> bytes:
        """A message as bytes."""
        try:
            data: bytes = self._pack(message)
        except (TypeError, ValueError, OverflowError):
            # The packer keeps what it had begun with.
            self._pack = msgpack.Packer(default=said, autoreset=True).pack
            raise
        return data

    def encode_tuple(self, key: str, tup: Any) -> bytes:
        """The message that gives `tup` to the child as `key`."""
        return self.encode(
            {
                "id": key,
                "comp": tup.component,
                "stream": tup.stream,
                "task": tup.task,
                "tuple": tup.values,
            }
        )

    def feed(self, data: bytes) -> list[Message]:
        """The messages that end in `data`."""
        try:
            self._unpacker.feed(data)
            values = list(self._unpacker)
        except (ValueError, msgpack.UnpackException, RecursionError) as error:
            raise ProtocolError(
                f"wrote data that is not msgpack ({error!r:.80}): {data!r:.80}"
            ) from None
        for value in values:
            if not is_message(value):
                raise ProtocolError(
                    f"wrote data that is not a message, {value!r:.40}; does the component print to "
                    f"stdout? {data!r:.80}"
                )
        return list(map(decoded, values))
