"""Calls that Nimbus does not take: methods that it lacks, and clients of another protocol. Pure."""

from collections.abc import Mapping
from typing import Any

from heron_core.errors import shown
from heron_core.thrift.calls import (
    PROTOCOL_ERROR,
    UNKNOWN_METHOD,
    TApplicationException,
    ThriftCall,
    refusal,
)
from heron_core.thrift.structs import BINARY


def unknown_method(call: ThriftCall, known: Mapping[str, Any]) -> TApplicationException:
    """The error of a method that is not offered."""
    names = ", ".join(sorted(known))
    return TApplicationException(
        f"Nimbus of heronpy has no method {shown(call.method)}, it has: {names}", UNKNOWN_METHOD
    )


def foreign_answer(first: bytes) -> tuple[str, bytes] | None:
    """What a client is that does not send frames, by its first four bytes, and what it is answered
    before it is left; None for the length of a frame."""
    if first[:2] == b"\x80\x01":
        error = TApplicationException(
            "Nimbus takes framed messages (TFramedTransport)", PROTOCOL_ERROR
        )
        answer = refusal(ThriftCall("", 0, b""), None, error)
        return "a Thrift client without TFramedTransport", answer
    if first == b"\x01\0\0\0":
        text = b"this Nimbus takes no SASL: set storm.thrift.transport to SimpleTransportPlugin"
        return "a Thrift client with SASL", b"\x03" + BINARY.write(text)
    if first in _HTTP:
        text = b"this port is Nimbus' Thrift interface; `heronpy ui` serves HTTP\n"
        return "an HTTP client", b"HTTP/1.0 400 Bad Request\r\n\r\n" + text
    if first[:2] == b"\x16\x03":
        return "a client with TLS", b""
    return None


_HTTP = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI")
