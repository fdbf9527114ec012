"""The control plane's messages: each comes back from its bytes, anything else is refused."""

from collections.abc import Mapping
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import OtherProtocol, ProtocolError
from heron_core.version import PROTOCOL, VERSION
from heron_core.wire import message_codec, messages, query_messages

_CLASSES: list[type] = sorted(
    (
        each
        for each in vars(messages).values()
        if isinstance(each, type)
        and issubclass(each, msgspec.Struct)
        and each.__module__ in (messages.__name__, query_messages.__name__)
        and each is not messages.Registration
    ),
    key=lambda each: each.__name__,
)

_SAMPLES: dict[Any, Any] = {
    bool: True,
    str: "wörter",
    messages.QueryOutcome: messages.QueryOutcome.TOO_LARGE,
    tuple[tuple[bytes, str], ...]: ((b"sstorm", '{"key":"storm","value":7}'),),
    messages.Whole: 7,
    messages.Json: {"a": [1, None, 2.5], "nested": {"b": "c"}},
    tuple[messages.Whole, ...]: (3, 4),
    tuple[messages.SetLevel, ...]: (messages.SetLevel("count", "", 10, 7.5),),
    tuple[str, ...]: ("count", "zähler"),
    Mapping[str, messages.Whole]: {"asked": 2},
    Mapping[str, messages.Amount]: {"failed_for_good": 2.0},
    Mapping[messages.Whole, messages.Json]: {7: {"executed": 1}},
    Mapping[messages.Whole, messages.PauseStatistics]: {
        7: messages.PauseStatistics((1, 2), 0.5, 0.25, 0.1)
    },
}


def _sample(kind: type) -> Any:
    fields = [each for each in msgspec.structs.fields(kind) if each.name != "protocol"]
    return kind(**{each.name: _SAMPLES[each.type] for each in fields})


@pytest.mark.parametrize("kind", _CLASSES, ids=lambda kind: kind.__name__)
def test_every_message_comes_back(kind: type) -> None:
    # A message that is added without its place in the table would be refused by its receiver.
    sent = _sample(kind)
    found: Any = message_codec.decode(message_codec.encode(sent))
    assert type(found) is kind
    assert found == sent


def test_there_are_messages_to_test() -> None:
    assert {"RegisterInstance", "RegisterStreamManager", "Plan", "Reply"} <= {
        each.__name__ for each in _CLASSES
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"GET / HTTP/1.1",
        msgpack.packb(7),
        msgpack.packb([]),
        msgpack.packb(["RegisterInstance"]),
        msgpack.packb(["RegisterInstance", PROTOCOL, "9", 4]),
        msgpack.packb(["NoSuchMessage", 1]),
        msgpack.packb(["RegisterInstance", "3", 1, 2, 3]),
        msgpack.packb(["RegisterInstance", 1, 2, 3]) + b"more",
        msgpack.packb([["RegisterInstance"], 1, 2, 3]),
    ],
    ids=repr,
)
def test_garbage_is_a_protocol_error(data: bytes) -> None:
    # A stranger on the port, a cut message, another release: dropped with a line in the log.
    with pytest.raises(ProtocolError, match="not a control message"):
        message_codec.decode(data)


OTHER = PROTOCOL + 1


@pytest.mark.parametrize(
    ("data", "who"),
    [
        (["RegisterInstance", OTHER, "9", "more"], f"instance runs heronpy 9 (protocol {OTHER})"),
        (["RegisterStreamManager", OTHER, "9"], f"manager runs heronpy 9 (protocol {OTHER})"),
        (["RegisterStreamManager", 1, 77, "tcp://1"], "heronpy 0.1 or older (protocol 2)"),
    ],
)  # fmt: skip
def test_an_engine_of_another_protocol_is_told_apart_by_its_registration(
    data: list[Any], who: str
) -> None:
    """Whatever else stands in it. The line names both engines and the remedy."""
    with pytest.raises(OtherProtocol) as refused:
        message_codec.decode(msgpack.packb(data))
    line = str(refused.value)
    assert who in line
    assert f"not compatible with heronpy {VERSION} (protocol {PROTOCOL}) here" in line
    assert "`heronpy kill --savepoint`" in line


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_else(data: bytes) -> None:
    try:
        message_codec.decode(data)
    except ProtocolError:
        pass


def test_a_message_for_many_receivers_is_encoded_once() -> None:
    encoder = message_codec.Encoder()
    plan = messages.Plan({"epoch": 1})
    first = encoder.encode(plan)
    assert encoder.encode(plan) is first
    assert message_codec.decode(encoder.encode(messages.Pause(True))) == messages.Pause(True)
    assert message_codec.decode(encoder.encode(plan)) == plan
