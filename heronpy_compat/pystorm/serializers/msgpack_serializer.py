"""Messages as msgpack objects one after the other (pystorm.serializers.msgpack_serializer)."""

import io
import os
from collections.abc import Iterator
from typing import Any

import msgpack

from heronpy_compat.pystorm.exceptions import StormWentAwayError
from heronpy_compat.pystorm.serializers.serializer import Serializer


class MsgpackSerializer(Serializer):
    """Needs the matching class on Storm's side; there is no "end": msgpack knows its length."""

    CHUNK_SIZE = 1024**2

    def __init__(
        self, input_stream: Any, output_stream: Any, reader_lock: Any, writer_lock: Any
    ) -> None:
        raw = getattr(output_stream, "buffer", output_stream)
        super().__init__(input_stream, raw, reader_lock, writer_lock)
        self._messages = self._arriving()

    def _arriving(self) -> Iterator[Any]:
        unpacker = msgpack.Unpacker()
        while data := self._read():
            unpacker.feed(data)
            yield from unpacker
        raise StormWentAwayError

    def _read(self) -> bytes:
        """What has come so far; it waits for one byte at least, and is empty at the end."""
        with self._reader_lock:
            try:
                return os.read(self.input_stream.fileno(), self.CHUNK_SIZE)
            except io.UnsupportedOperation:  # no file, but a BytesIO as in unit tests
                data: bytes = self.input_stream.read(self.CHUNK_SIZE)
                return data

    def read_message(self) -> Any:
        """The next message."""
        return next(self._messages)

    def serialize_dict(self, msg_dict: dict[str, Any]) -> bytes:
        """One msgpack map."""
        data: bytes = msgpack.packb(msg_dict)
        return data
