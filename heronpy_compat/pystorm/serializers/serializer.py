"""Common base of the serializers (pystorm.serializers.serializer)."""

import logging
from typing import Any

from heronpy_compat.pystorm.exceptions import StormWentAwayError

log = logging.getLogger("pystorm.serializers.serializer")
"""Alias that users' tests patch."""


class Serializer:
    """Reads messages from `input_stream` and writes dicts to `output_stream`.

    The two locks belong to the component; a thread with both locks has exclusive use of the pipe.
    """

    def __init__(
        self, input_stream: Any, output_stream: Any, reader_lock: Any, writer_lock: Any
    ) -> None:
        self.input_stream = input_stream
        self.output_stream = output_stream
        self._reader_lock = reader_lock
        self._writer_lock = writer_lock

    def read_message(self) -> Any:
        """The next message: a dict, or the list of task ids of an emit.

        StormWentAwayError at the end of the stream.
        """
        raise NotImplementedError

    def serialize_dict(self, msg_dict: dict[str, Any]) -> Any:
        """Encode a message for the stream."""
        raise NotImplementedError

    def send_message(self, msg_dict: dict[str, Any]) -> None:
        """Write and flush a message.

        StormWentAwayError if the pipe has no reader; a value that cannot be serialised raises
        (pystorm logs the error and loses the tuple).
        """
        data = self.serialize_dict(msg_dict)
        with self._writer_lock:
            try:
                self.output_stream.write(data)
                self.output_stream.flush()
            except OSError as error:
                raise StormWentAwayError from error
