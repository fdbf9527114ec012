"""Messages as JSON, each followed by a line "end" (pystorm.serializers.json_serializer)."""

import io
import json
from typing import Any

from heronpy_compat.pystorm.exceptions import StormWentAwayError
from heronpy_compat.pystorm.serializers.serializer import Serializer

END = "end\n"


class JSONSerializer(Serializer):
    """Storm's default: text in UTF-8 whatever the locale says."""

    def __init__(
        self, input_stream: Any, output_stream: Any, reader_lock: Any, writer_lock: Any
    ) -> None:
        super().__init__(
            self._wrap_stream(input_stream),
            self._wrap_stream(output_stream),
            reader_lock,
            writer_lock,
        )

    @staticmethod
    def _wrap_stream(stream: Any) -> Any:
        """Text in UTF-8 over the bytes of a stream; a text stream without bytes below stays."""
        raw = getattr(stream, "buffer", stream)
        is_text = isinstance(raw, io.TextIOBase)
        return raw if is_text else io.TextIOWrapper(raw, encoding="utf-8")

    def read_message(self) -> Any:
        """The next message; blank lines are ignored, what is no JSON raises ValueError."""
        lines: list[str] = []
        while True:
            with self._reader_lock:
                line = self.input_stream.readline()
            if line == "":
                raise StormWentAwayError
            if line == END:
                return json.loads("".join(lines))
            if line != "\n":
                lines.append(line)

    def serialize_dict(self, msg_dict: dict[str, Any]) -> str:
        """One line of JSON and the line that ends it."""
        return f"{json.dumps(msg_dict)}\n{END}"
