"""Values of a tuple as the key, the value and the headers of a record of Kafka. Pure.

What has no bytes, or is larger than a record may be, is a ValueError in one line that names the
field and the cure: under EFFECTIVELY_ONCE and on Spark the brokers would refuse it only when its
transaction is committed, with all others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heron_connectors.json_values import document_of

Header = tuple[str, bytes | None]
Record = Sequence[Any]
"""(key, value), or (key, value, headers)"""

CLIENT_OVERHEAD_BYTES = 36
"""What librdkafka reckons for a record besides key, value and headers."""
BATCH_OVERHEAD_BYTES = 61
"""Size of a batch header, counted by brokers: a record may be alone in its batch."""
CLIENT_LIMIT_BYTES = 1_000_000
"""librdkafka's message.max.bytes if `kafka.producer` does not say it."""
NAME_LENGTH_BYTES = 10
"""Largest overhead of a header: the lengths of name and value."""
HEADERS_ARE = "headers are a dict or a list of pairs (text, text or bytes or None)"


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """How large a record may be, and which setting says so."""

    size_bytes: int
    setting: str

    def check(self, record: Record, field: str) -> None:
        """ValueError, beginning with the name of the field, for a record that is larger."""
        size = size_of(record)
        if size > self.size_bytes:
            raise ValueError(
                f"{field}: its record has {size:,} bytes, more than the {self.size_bytes:,} of"
                f" {self.setting}"
            )


def client_limit(settings: Mapping[str, Any]) -> SizeLimit:
    """Limits of the client with the producer's settings."""
    most = settings.get("message.max.bytes", CLIENT_LIMIT_BYTES)
    setting = "message.max.bytes (raise it in kafka.producer)"
    return SizeLimit(int(most) - CLIENT_OVERHEAD_BYTES, setting)


def topic_limit(most: int, topic: str) -> SizeLimit:
    """What a topic takes whose max.message.bytes is `most`."""
    overhead = BATCH_OVERHEAD_BYTES + CLIENT_OVERHEAD_BYTES
    return SizeLimit(most - overhead, f"the topic {topic} (raise its max.message.bytes)")


def size_of(record: Record) -> int:
    """The bytes of key, value and headers."""
    key, value, *rest = record
    size = len(key or b"") + len(value or b"")
    for name, content in rest[0] if rest else ():
        size += len(name.encode()) + len(content or b"") + NAME_LENGTH_BYTES
    return size


def bytes_of(value: Any, name: str = "") -> bytes | None:
    """Text as UTF-8, bytes and None unchanged, anything else as JSON; ValueError, starting with
    `name`, for an unsupported value."""
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        return document_of(value, name)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{name}{value!r}: half a character (a lone surrogate) is not text"
        ) from None


def headers_of(value: Any, name: str) -> list[Header]:
    """Pairs of text and bytes, in order; ValueError, starting with `name`, for invalid pairs."""
    if value is None:
        return []
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, (list, tuple)):
        raise ValueError(f"{name}{value!r:.60}: {HEADERS_ARE}")
    return [_header(each, name) for each in pairs]


def _header(pair: Any, name: str) -> Header:
    if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)):
        raise ValueError(f"{name}{pair!r:.60}: {HEADERS_ARE}")
    header, content = pair
    if not (content is None or isinstance(content, (str, bytes))):
        raise ValueError(f"{name}{header!r}: {content!r:.60}: {HEADERS_ARE}")
    if "\0" in header:
        raise ValueError(f"{name}{header!r}: the name of a header has no zero byte")
    bytes_of(header, name)
    return header, bytes_of(content, f"{name}{header!r}: ")
