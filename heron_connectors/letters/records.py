"""A dead letter as a record of JSON, in files and in Kafka, and back. Pure.

    {"id": "5f…", "component": "parse", "instance": "parse[0]", "time_ms": 1764121680000,
     "attempt": 4, "exception": "ValueError: no number", "traceback": "…",
     "source": "lines", "stream": "default", "task": 1, "fields": ["line"],
     "values": ["12;x"], "packed": "ka…"}

`values` are for people and other programs: values without a form in JSON stand
there as Python shows them.
`packed` has the exact values in base64, in the form of streams: a replay makes the tuple of these.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from heron_connectors.json_values import document_of
from heron_core.dead_letters import FIELDS
from heron_core.errors import HeronError
from heron_core.wire.values import pack_any, packer, unpacker

VALUES = "values"
PACKED = "packed"


def record_of(values: Sequence[Any]) -> bytes:
    """The record of a letter, whose values are those of the stream `errors`."""
    letter: dict[str, Any] = dict(zip(FIELDS, values, strict=True))
    exact = letter[VALUES]
    letter[VALUES] = [_readable(each) for each in exact]
    letter[PACKED] = base64.b64encode(pack_any(packer(), list(exact))).decode("ascii")
    text = json.dumps(letter, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace")


def _readable(value: Any) -> Any:
    """The value as JSON, or its repr."""
    try:
        return json.loads(document_of(value))
    except ValueError:
        return repr(value)


def letter_of(line: bytes | str) -> dict[str, Any]:
    """A record as a dict; HeronError if invalid."""
    try:
        letter = json.loads(line)
    except ValueError as error:
        raise HeronError(f"not a dead letter: {error}") from None
    if not isinstance(letter, dict) or not {*FIELDS, PACKED} <= letter.keys():
        raise HeronError("not a dead letter: a line of another program")
    return letter


def values_of(letter: Mapping[str, Any], *, pickles: bool = True) -> list[Any]:
    """The original values of the tuple; HeronError for damaged values, missing classes, or
    pickles if not permitted."""
    try:
        values = unpacker(pickles=pickles)(base64.b64decode(letter[PACKED]))
    except Exception as error:
        raise HeronError(f"letter {letter.get('id')}: its values cannot be read: {error}") from None
    return list(values)
