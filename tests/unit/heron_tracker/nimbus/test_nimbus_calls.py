"""Calls in Thrift's binary protocol: calls by the installed thriftpy2 are read, and answers are
read by thriftpy2."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.transport import TMemoryBuffer

from heron_core.errors import TopologyError
from heron_core.thrift.calls import (
    INTERNAL_ERROR,
    PROTOCOL_ERROR,
    AuthorizationException,
    TApplicationException,
    ThriftCall,
    parse_arguments,
    parse_call,
    refusal,
    reply,
)
from heron_core.thrift.foreign_clients import foreign_client
from heron_core.thrift.structs import Reader, Struct
from heron_tracker.nimbus import structs
from heron_tracker.nimbus.calls import unknown_method
from heron_tracker.nimbus.methods import METHODS
from heronpy_compat.streamparse import thrift as ours
from tests.unit.heron_tracker.nimbus.installed_storm import installed
from tests.unit.heron_tracker.nimbus.nimbus_support import storm_topology

ON_THE_WIRE = {18: 11}
"""thriftpy2's number of binary, equal to a text's on the wire."""
CALL = ThriftCall("killTopology", 7, b"\0")


def call_bytes(method: str, body: bytes, kind: int = 1) -> bytes:
    """A call as every client of today sends it."""
    return struct.pack("!Ii", 0x80010000 | kind, len(method)) + method.encode() + (
        struct.pack("!i", 7) + body
    )  # fmt: skip


def theirs(kind: Any, data: bytes) -> Any:
    buffer = TMemoryBuffer(data)
    found = kind()
    TBinaryProtocol(buffer, decode_response=True).read_struct(found)
    return found


def by_field(found: Any) -> Any:
    """A struct of either library as names and values, without None."""
    if isinstance(found, dict):
        return {str(by_field(key)): by_field(value) for key, value in found.items()}
    if isinstance(found, list):
        return [by_field(each) for each in found]
    if hasattr(found, "thrift_spec") or isinstance(found, Struct):
        return {name: by_field(each) for name, each in vars(found).items() if each is not None}
    return found


def of_field(spec: tuple[Any, ...]) -> tuple[int, str]:
    """Type and name in thriftpy2's description of a field."""
    return ON_THE_WIRE.get(spec[0], spec[0]), spec[1]


def test_every_struct_has_the_fields_and_types_of_storms_interface() -> None:
    """By name and number, as streamparse's storm.thrift says; optional ones may be missing."""
    checked = 0
    for module in (structs, ours):
        for name, kind in vars(module).items():
            original = getattr(installed, name, None)
            if not (isinstance(kind, type) and issubclass(kind, Struct) and kind.FIELDS):
                continue
            if original is None or not hasattr(original, "thrift_spec"):
                continue
            for field in kind.FIELDS:
                assert (name, *of_field(original.thrift_spec[field.number])) == (
                    name, field.type.code, field.name
                )  # fmt: skip
            checked += 1
    assert checked > 30


def test_every_method_has_the_arguments_and_exceptions_of_storms_interface() -> None:
    """Methods of Storm 2 are absent from streamparse's file."""
    of_storm_2 = set(METHODS) - set(installed.Nimbus.thrift_services)
    assert of_storm_2 == {
        "getTopologyInfoByName", "getTopologyInfoByNameWithOpts", "getTopologySummaries",
        "getTopologySummary", "getTopologySummaryByName",
    }  # fmt: skip
    for name in set(METHODS) - of_storm_2:
        arguments = getattr(installed.Nimbus, f"{name}_args").thrift_spec
        found = {x.number: (x.type.code, x.name) for x in METHODS[name].arguments.FIELDS}
        assert found == {n: of_field(each) for n, each in arguments.items()}, name
        result = getattr(installed.Nimbus, f"{name}_result").thrift_spec
        throws = [result[number][2].__name__ for number in sorted(result) if number]
        assert [each.__name__ for each in METHODS[name].throws] == throws, name
        assert (0 in result) == (METHODS[name].result is not None), name


def test_a_topology_is_read_as_the_client_wrote_it() -> None:
    """Through both libraries."""
    topology = storm_topology()
    read = theirs(installed.StormTopology, topology.write())
    assert by_field(read) == by_field(topology)


@given(st.binary(max_size=200))
def test_no_bytes_are_more_than_one_line_of_error(data: bytes) -> None:
    """Whatever a client sends."""
    for body in (data, call_bytes("submitTopology", data)):
        try:
            call = parse_call(body)
            parse_arguments(METHODS["submitTopology"], call)
        except (TopologyError, TApplicationException) as error:
            lines = str(error).splitlines()
        else:
            lines = [""]
        assert len(lines) == 1


def test_a_field_that_only_a_newer_storm_has_is_skipped() -> None:
    buffer = TMemoryBuffer()
    options = installed.TopologyInfo(
        id="a", name="b", uptime_secs=1, executors=[], status="ACTIVE", errors={},
        component_debug={"x": installed.DebugOptions(enable=True, samplingpct=1.0)},
        requested_cpu=2.0,
    )  # fmt: skip
    TBinaryProtocol(buffer).write_struct(options)
    found = structs.TopologyInfo.read(Reader(buffer.getvalue()))
    assert (found.id, found.status) == ("a", "ACTIVE")


def test_what_is_nested_without_end_is_an_error() -> None:
    """Each level costs a client three bytes."""
    with pytest.raises(TopologyError, match="nested too deep"):
        structs.TopologyInfo.read(Reader(b"\x0c\x7f\x00" * 500))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"\x0b\0\x01\x7f\xff\xff\xff", "the bytes end too soon"),
        (b"\x08\0\x01\0\0\0\1\0", "not a arguments of Storm's interface"),
        (b"\x0b\0\x01\0\0\0\1\xff\0", "is not UTF-8"),
        (b"\x42\0\x09", "unknown type code 66"),
    ],
)
def test_malformed_arguments_are_named(body: bytes, line: str) -> None:
    """With the method."""
    with pytest.raises(TApplicationException) as caught:
        parse_arguments(METHODS["killTopology"], ThriftCall("killTopology", 1, body))
    assert caught.value.type == PROTOCOL_ERROR
    assert line in str(caught.value)
    assert str(caught.value).startswith("the arguments of killTopology are malformed: ")


def test_the_older_form_of_a_call_is_read() -> None:
    """Name, kind and number without a version in front."""
    frame = struct.pack("!i", 8) + b"activate" + b"\x01" + struct.pack("!i", 3) + b"\0"
    assert parse_call(frame) == ThriftCall("activate", 3, b"\0")


@pytest.mark.parametrize("frame", [b"", b"\x80", b"\x7f\xff\xff\xff", call_bytes("x", b"", kind=2)])
def test_what_is_not_a_call_is_refused(frame: bytes) -> None:
    with pytest.raises(TopologyError):
        parse_call(frame)


def test_an_exception_is_answered_as_the_method_declares_it() -> None:
    """The client raises the declared class."""
    error = AuthorizationException("not you")
    head, body = refusal(CALL, METHODS["killTopology"], error).split(b"\0\0\0\x07", 1)
    assert head.endswith(b"killTopology")
    found = theirs(installed.Nimbus.killTopology_result, body)
    assert found.aze.msg == "not you"
    assert found.e is None


def test_any_other_error_is_an_application_exception() -> None:
    """With its sentence."""
    frame = refusal(CALL, METHODS["killTopology"], ValueError("it broke"))
    found = TApplicationException.read(Reader(frame.split(b"\0\0\0\x07", 1)[1]))
    assert (found.message, found.type) == ("it broke", INTERNAL_ERROR)


def test_an_unknown_method_names_the_known_ones() -> None:
    text = str(unknown_method(ThriftCall("debug", 1, b""), METHODS))
    assert text.startswith("Nimbus of heronpy has no method 'debug', it has: activate, ")


def test_a_result_is_read_by_the_client() -> None:
    """A bool, as isTopologyNameAllowed has it."""
    frame = reply(
        ThriftCall("isTopologyNameAllowed", 7, b""), METHODS["isTopologyNameAllowed"], True
    )
    found = theirs(installed.Nimbus.isTopologyNameAllowed_result, frame.split(b"\0\0\0\x07", 1)[1])
    assert found.success is True


@pytest.mark.parametrize(
    ("first", "what"),
    [
        (b"\x80\x01\0\x01", "a Thrift client without TFramedTransport"),
        (b"\x01\0\0\0", "a Thrift client with SASL"),
        (b"GET ", "an HTTP client"),
        (b"\x16\x03\x01\x02", "a client with TLS"),
        (b"\x82!\0\x07", "a Thrift client with TCompactProtocol"),
        (b'[1,"', "a Thrift client with TJSONProtocol"),
    ],
)
def test_other_clients_are_known_by_their_first_bytes(first: bytes, what: str) -> None:
    found = foreign_client(first, "Nimbus", "`heronpy ui`")
    assert found is not None
    assert found.kind == what


def test_the_length_of_a_frame_is_none_of_them() -> None:
    assert foreign_client(struct.pack("!i", 60_000), "Nimbus", "`heronpy ui`") is None
