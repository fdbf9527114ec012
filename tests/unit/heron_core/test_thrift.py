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

from heron_core.errors import TopologyError
from heron_core.thrift.calls import (
    EXCEPTION,
    LENGTH_BYTES,
    PROTOCOL_ERROR,
    REPLY,
    AuthorizationException,
    TApplicationException,
    ThriftAnswer,
    ThriftCall,
    ThriftMethod,
    arguments,
    call_message,
    framed,
    parse_answer,
    parse_arguments,
    parse_call,
    parse_result,
    refusal,
    reply,
)
from heron_core.thrift.structs import (
    BOOL,
    DOUBLE,
    I32,
    I64,
    STRING,
    Bytes,
    ListOf,
    MalformedMessage,
    MapOf,
    Reader,
    Struct,
    fields,
)

IDL = """
struct Request { 1: required string func_args; 2: required string request_id; }
exception AuthorizationException { 1: required string msg; }
service Drpc {
  string execute(1: string functionName, 2: string funcArgs) throws (1: AuthorizationException e);
  list<Request> awaitRequests(1: string functionName, 2: i32 most, 3: i32 wait);
}
struct Everything {
  1: bool a; 2: byte b; 3: i16 c; 4: i32 d; 5: i64 e; 6: double f; 7: string g;
  8: list<i32> h; 9: set<string> i; 10: map<string, Request> j;
}
"""
binary_protocol: Any = TBinaryProtocol
memory_buffer: Any = TMemoryBuffer
peer: Any = load_fp(StringIO(IDL), "peer_thrift")


class Request(Struct):
    FIELDS = fields((1, "func_args", STRING, True), (2, "request_id", STRING, True))


class Everything(Struct):
    """Without the fields 2, 3 and 9, which are skipped."""

    FIELDS = fields(
        (1, "a", BOOL), (4, "d", I32), (5, "e", I64), (6, "f", DOUBLE), (7, "g", STRING),
        (8, "h", ListOf(I32)), (10, "j", MapOf(STRING, Request)),
    )  # fmt: skip


EXECUTE = ThriftMethod(
    arguments((1, "functionName", STRING, True), (2, "funcArgs", STRING)),
    STRING,
    (AuthorizationException,),
)
AWAIT = ThriftMethod(arguments((1, "functionName", STRING)), ListOf(Request))
FORGET = ThriftMethod(arguments(), None, (AuthorizationException,))
CALL = ThriftCall("m", 7, b"\0")


def written(method: str, kind: int, values: Any) -> bytes:
    buffer = memory_buffer()
    protocol = binary_protocol(buffer)
    protocol.write_message_begin(method, kind, 7)
    values.write(protocol)
    return bytes(buffer.getvalue())


@given(function=st.text(), text=st.text())
def test_a_call_is_what_thriftpy2_writes(function: str, text: str) -> None:
    values = peer.Drpc.execute_args(functionName=function, funcArgs=text)
    theirs = written("execute", TMessageType.CALL, values)
    assert call_message("execute", EXECUTE, 7, function, text) == theirs
    assert framed(theirs) == struct.pack(">i", len(theirs)) + theirs
    call = parse_call(theirs)
    assert (call.method, call.kind, call.sequence) == ("execute", TMessageType.CALL, 7)
    assert parse_arguments(EXECUTE, call) == {"functionName": function, "funcArgs": text}


@given(st.lists(st.tuples(st.text(), st.text())))
def test_thriftpy2_reads_an_answer_with_structs(pairs: list[tuple[str, str]]) -> None:
    answer = reply(ThriftCall("awaitRequests", 7, b""), AWAIT, [Request(*pair) for pair in pairs])
    protocol = binary_protocol(memory_buffer(answer))
    assert protocol.read_message_begin() == ("awaitRequests", TMessageType.REPLY, 7)
    result = peer.Drpc.awaitRequests_result()
    result.read(protocol)
    assert [(each.func_args, each.request_id) for each in result.success] == pairs
    assert parse_result(AWAIT, parse_answer(answer)) == [Request(*pair) for pair in pairs]


def test_every_type_of_a_field_is_read_or_passed_over() -> None:
    request = peer.Request(func_args="x", request_id="y")
    everything = peer.Everything(
        True, 2, 3, 4, 5, 6.5, "seven", [8, 9], {"nine"}, {"ten": request}
    )  # fmt: skip
    body = parse_call(written("m", TMessageType.CALL, everything)).body
    expected = Everything(True, 4, 5, 6.5, "seven", [8, 9], {"ten": Request("x", "y")})
    assert Everything.read(Reader(body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        struct.pack(">bhbi", 15, 1, 1, 2**31 - 1),  # a list of a type that takes no bytes
        struct.pack(">bhbi", 15, 8, 8, 2**31 - 1),
        struct.pack(">bhbi", 14, 1, 8, -1),
        struct.pack(">bhbbi", 13, 1, 1, 1, 2**31 - 1),
        struct.pack(">bhi", 11, 7, 2**31 - 1),
        struct.pack(">bhi", 11, 7, -5) + b"abc",
        struct.pack(">bh", 12, 90) * 60 + bytes(61),
        struct.pack(">bh", 99, 1) + bytes(9),
        struct.pack(">bhi", 8, 1, 5),  # another type than its field's
        struct.pack(">bhi", 8, 4, 5),  # the struct does not end
        struct.pack(">bhbbii", 13, 10, 11, 12, 1, 0) + b"\0\0",  # a required field is missing
    ],
)
def test_a_malformed_struct_is_refused_at_once(body: bytes) -> None:
    with pytest.raises(MalformedMessage):
        Everything.read(Reader(body))


@pytest.mark.parametrize(
    "head", [b"", b"GET / HTTP/1.1\r\n", bytes(9), b"\x80\x01\x00\x09" + bytes(9)]
)
def test_another_protocol_is_refused(head: bytes) -> None:
    for parse in (parse_call, parse_answer):
        with pytest.raises(MalformedMessage):
            parse(head)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (parse_call, parse_answer, lambda data: Everything.read(Reader(data))):
        try:
            read(data)
        except MalformedMessage:
            pass


def test_a_required_argument_that_is_missing_is_named() -> None:
    with pytest.raises(TApplicationException, match="execute are malformed: functionName is mis"):
        parse_arguments(EXECUTE, ThriftCall("execute", 1, b"\0"))


def test_a_client_gets_what_the_method_declares() -> None:
    """Its exceptions are raised; anything else is an application exception."""
    for method in (EXECUTE, FORGET):
        with pytest.raises(AuthorizationException, match="not you"):
            parse_result(method, answered(method, AuthorizationException("not you")))
        with pytest.raises(TApplicationException, match="it broke"):
            parse_result(method, answered(method, ValueError("it broke")))
    assert parse_result(FORGET, parse_answer(reply(CALL, FORGET, None))) is None
    assert parse_result(EXECUTE, parse_answer(reply(CALL, EXECUTE, "done"))) == "done"
    for answer in (ThriftAnswer(REPLY, 1, b"\0"), ThriftAnswer(EXCEPTION, 1, b"\x08")):
        with pytest.raises(MalformedMessage):
            parse_result(EXECUTE, answer)


def answered(method: ThriftMethod, error: Exception) -> ThriftAnswer:
    answer = parse_answer(refusal(CALL, method, error))
    assert answer.sequence == CALL.sequence
    return answer


def test_half_a_character_is_an_error_or_a_question_mark() -> None:
    lossy = arguments((1, "text", Bytes(True, errors="replace")))
    assert lossy.read(Reader(lossy("a\ud83d").write())).text == "a?"
    with pytest.raises(TopologyError, match=r"func_args cannot be 'a\\ud83d'"):
        Request("a\ud83d", "x").write()


def test_constants_are_those_of_thrift() -> None:
    assert (REPLY, EXCEPTION) == (TMessageType.REPLY, TMessageType.EXCEPTION)
    assert (LENGTH_BYTES, PROTOCOL_ERROR) == (4, 7)
