"""H13: Thrift's bytes, compared with those of thriftpy2, and whatever else may arrive."""

import struct
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.parser import load_fp
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.thrift import TMessageType
from thriftpy2.transport import TMemoryBuffer

from heron_connectors.requests.thrift_messages import (
    DEPTH_MAX,
    LENGTH_BYTES,
    MalformedMessage,
    MessageKind,
    ThriftMessage,
    decoded,
    encoded,
    list_of,
    number_of,
    struct_of,
    text_of,
)

IDL = """
struct DRPCRequest { 1: required string func_args; 2: required string request_id; }
exception DRPCExecutionException { 1: required string msg; 2: optional i32 type; }
service Drpc {
  string execute(1: string functionName, 2: string funcArgs) throws (1: DRPCExecutionException e);
  list<DRPCRequest> awaitRequests(1: string functionName, 2: i32 most, 3: i32 wait);
}
struct Everything {
  1: bool a; 2: byte b; 3: i16 c; 4: i32 d; 5: i64 e; 6: double f; 7: string g;
  8: list<i32> h; 9: set<string> i; 10: map<string, DRPCRequest> j;
}
"""
binary_protocol: Any = TBinaryProtocol
memory_buffer: Any = TMemoryBuffer
peer: Any = load_fp(StringIO(IDL), "peer_thrift")


def written(method: str, kind: int, fields: Any) -> bytes:
    buffer = memory_buffer()
    protocol = binary_protocol(buffer)
    protocol.write_message_begin(method, kind, 7)
    fields.write(protocol)
    return bytes(buffer.getvalue())


@given(function=st.text(), arguments=st.text())
def test_a_call_is_what_thriftpy2_writes(function: str, arguments: str) -> None:
    fields = peer.Drpc.execute_args(functionName=function, funcArgs=arguments)
    theirs = written("execute", TMessageType.CALL, fields)
    ours = encoded(ThriftMessage("execute", MessageKind.CALL, 7, {1: function, 2: arguments}))
    assert ours == struct.pack(">i", len(theirs)) + theirs
    read = decoded(theirs)
    assert (read.method, read.kind, read.number) == ("execute", MessageKind.CALL, 7)
    assert [text_of(read.fields[each]) for each in (1, 2)] == [function, arguments]


@given(st.lists(st.tuples(st.text(), st.text())))
def test_thriftpy2_reads_an_answer_with_structs(pairs: list[tuple[str, str]]) -> None:
    answer = {0: [{1: arguments, 2: request_id} for arguments, request_id in pairs]}
    frame = encoded(ThriftMessage("awaitRequests", MessageKind.REPLY, 7, answer))
    protocol = binary_protocol(memory_buffer(frame[LENGTH_BYTES:]))
    assert protocol.read_message_begin() == ("awaitRequests", TMessageType.REPLY, 7)
    result = peer.Drpc.awaitRequests_result()
    result.read(protocol)
    assert [(each.func_args, each.request_id) for each in result.success] == pairs


def test_every_type_of_a_field_is_read() -> None:
    request = peer.DRPCRequest(func_args="x", request_id="y")
    everything = peer.Everything(
        True, 2, 3, 4, 5, 6.5, "seven", [8, 9], {"nine"}, {"ten": request}
    )  # fmt: skip
    assert dict(decoded(written("m", TMessageType.CALL, everything)).fields) == {
        1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6.5, 7: b"seven", 8: [8, 9], 9: [b"nine"],
        10: [(b"ten", {1: b"x", 2: b"y"})],
    }  # fmt: skip


HEAD = struct.pack(">Ii", 0x8001_0001, 1) + b"m" + struct.pack(">i", 1)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        struct.pack(">bhbi", 15, 1, 1, 2**31 - 1),  # a list of a type that takes no bytes
        struct.pack(">bhbi", 15, 1, 8, 2**31 - 1),
        struct.pack(">bhbi", 14, 1, 8, -1),
        struct.pack(">bhbbi", 13, 1, 1, 1, 2**31 - 1),
        struct.pack(">bhi", 11, 1, 2**31 - 1),
        struct.pack(">bhi", 11, 1, -5) + b"abc",
        struct.pack(">bh", 12, 1) * (DEPTH_MAX + 1) + bytes(DEPTH_MAX + 2),
        struct.pack(">bh", 99, 1) + bytes(9),
        struct.pack(">bhi", 8, 1, 5),  # the struct does not end
    ],
)
def test_a_malformed_struct_is_refused_at_once(body: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decoded(HEAD + body)


@pytest.mark.parametrize(
    "head", [b"", b"GET / HTTP/1.1\r\n", bytes(9), b"\x80\x01\x00\x09" + bytes(9)]
)
def test_another_protocol_is_refused(head: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decoded(head)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        decoded(HEAD + data)
    except MalformedMessage:
        pass


@pytest.mark.parametrize("read", [text_of, number_of, struct_of, list_of])
def test_a_field_of_another_type_is_refused(read: Any) -> None:
    values: list[Any] = [
        None,
        {} if read is list_of else [],
        b"\xff" if read is text_of else b"text",
    ]
    for value in values:
        with pytest.raises(MalformedMessage):
            read(value)
