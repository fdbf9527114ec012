"""Clients that send no frames of Thrift's binary protocol, told by their first bytes. Pure.

A client of another Storm version or another port waits for an answer in its own protocol: a closed
connection alone names neither the fault nor the remedy.
"""

from heron_core.thrift.calls import PROTOCOL_ERROR, TApplicationException, ThriftCall, refusal
from heron_core.thrift.structs import BINARY

SASL_START = b"\x01\0\0\0"
"""A SASL client's first status, and the beginning of a length below 16 MiB."""
HTTP_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI")


def foreign_answer(first: bytes, server: str, http_server: str) -> tuple[str, bytes] | None:
    """Kind of client by the first four bytes, and the answer before the connection is closed; None
    for the length of a frame. `server` serves the port, `http_server` is the place for HTTP."""
    if first[:2] == b"\x80\x01":
        error = TApplicationException(
            f"{server} takes framed messages (TFramedTransport)", PROTOCOL_ERROR
        )
        answer = refusal(ThriftCall("", 0, b""), None, error)
        return "a Thrift client without TFramedTransport", answer
    if first == SASL_START:
        text = f"{server} takes no SASL: set storm.thrift.transport to SimpleTransportPlugin"
        return "a Thrift client with SASL", b"\x03" + BINARY.write(text.encode())
    if first in HTTP_METHODS:
        text = f"this port is the Thrift interface of {server}; {http_server} serves HTTP\n"
        return "an HTTP client", b"HTTP/1.0 400 Bad Request\r\n\r\n" + text.encode()
    if first[:2] == b"\x16\x03":
        return "a client with TLS", b""
    return None
