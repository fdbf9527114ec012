"""Messages and bytes: framing, partial reads, strays between messages, values made sayable."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest

from heron_core.errors import ProtocolError
from heron_frontends.adapters.multilang import json_codec, protocol
from heron_frontends.adapters.multilang.in_flight import ChildInFlight
from heron_frontends.adapters.multilang.json_codec import JsonCodec
from heron_frontends.adapters.multilang.msgpack_codec import MsgpackCodec
from heron_frontends.adapters.multilang.protocol import check_text, emit_of
from heron_frontends.adapters.multilang.response_timer import ResponseTimer

ACK = {"command": "ack", "id": "5"}
LOG = {"command": "log", "msg": "line\nbreak, end\nend\n, Gr\u00fc\u00dfe \u4f60\u597d \U0001f600"}


class Colour(Enum):
    RED = "red"


def framed(*messages: Any) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\nend\n" for each in messages)


def a_tuple(*values: Any) -> SimpleNamespace:
    return SimpleNamespace(component="lines", stream="default", task=4, values=list(values))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 10_000])
def test_json_messages_arrive_whole_however_they_are_cut(size: int) -> None:
    data = framed(ACK, LOG, ACK, {"pid": 7})
    codec, found = JsonCodec(), []
    for begin in range(0, len(data), size):
        found += codec.feed(data[begin : begin + size])
    assert found == [ACK, LOG, ACK, {"pid": 7}]
    assert codec.strays == []


@pytest.mark.parametrize("size", [1, 3, 64, 10_000])
def test_stray_prints_are_told_from_messages(size: int) -> None:
    """Before, between, on the line of, behind the JSON of, and after messages; also a stray `end`,
    JSON that is no message, and Windows line ends."""
    data = (
        b"starting [INFO] up\nend\n"
        + framed(ACK)
        + b"progress: 10%\n\n"
        + framed(LOG)
        + b'no line end{"command": "sync"}\nlate print\nend\n'
        + b'{"a": 1}\nend\n'
        + b'[1, 2]\n{broken\n{"command": "fail",\r\n "id": "6"}\r\nend\r\n'
        + framed(ACK)
    )
    codec, found = JsonCodec(), []
    for begin in range(0, len(data), size):
        found += codec.feed(data[begin : begin + size])
    assert found == [ACK, LOG, {"command": "sync"}, {"command": "fail", "id": "6"}, ACK]
    assert codec.strays == [
        "starting [INFO] up", "progress: 10%", "no line end", "late print", '{"a": 1}', "[1, 2]",
        "{broken",
    ]  # fmt: skip


def test_a_stray_line_is_known_before_the_next_message_comes() -> None:
    codec = JsonCodec()
    assert codec.feed(b"hello\nwor") == []
    assert codec.strays == ["hello"]


def test_bytes_that_are_no_utf_8_do_not_break_a_message() -> None:
    assert JsonCodec().feed(b'{"command": "log", "msg": "caf\xe9"}\nend\n') == [
        {"command": "log", "msg": "caf?"}
    ]


@pytest.mark.parametrize("codec", [JsonCodec(), MsgpackCodec()])
def test_a_text_of_an_emit_that_is_no_utf_8_is_told_and_no_other_is_changed(codec: Any) -> None:
    good = {"command": "emit", "tuple": ["caf\xe9", ["\U0001f600"], {"\u4f60": None}]}
    bad = {"command": "emit", "tuple": [1, ["caf\xe9"]]}
    if isinstance(codec, JsonCodec):
        data = json.dumps(good, ensure_ascii=False).encode() + b"\nend\n"
        data += json.dumps(bad, ensure_ascii=False).encode("latin-1") + b"\nend\n"
    else:
        data = msgpack.packb(good) + msgpack.packb(bad).replace(b"\xa5caf\xc3\xa9", b"\xa4caf\xe9")
    kept, broken = codec.feed(data)
    assert kept == good
    check_text(kept["tuple"])
    with pytest.raises(ValueError, match=r"b'caf\\xe9' is not text in UTF-8 \(at character 3"):
        check_text(broken["tuple"])
    assert codec.strays == []


def test_too_much_garbage_in_a_row_ends_it_and_a_message_starts_the_count_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_codec, "GARBAGE_BYTES_MAX", 10)
    codec = JsonCodec()
    codec.feed(b"12345678\n" + framed(ACK) + b"12345678\n")
    with pytest.raises(ProtocolError, match="that are not a message"):
        codec.feed(b"123\n")


def test_a_message_without_end_is_not_collected_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_codec, "MESSAGE_BYTES_MAX", 100)
    with pytest.raises(ProtocolError, match="without the line `end`"):
        JsonCodec().feed(b'{"command": "' + b"x" * 100)


def test_a_json_tuple_is_one_that_any_storm_library_reads() -> None:
    data = JsonCodec().encode_tuple("12", a_tuple("a\nend\nb", 1, None, {"k": [True]}))
    text = data.decode("ascii")
    assert text.endswith("\nend\n")
    assert text.count("\n") == 2
    assert json.loads(text[:-4]) == {
        "id": "12", "comp": "lines", "stream": "default", "task": 4,
        "tuple": ["a\nend\nb", 1, None, {"k": [True]}],
    }  # fmt: skip


def test_values_that_json_cannot_say_are_said_as_documented() -> None:
    values = [
        (1, (2,)), {3}, b"caf\xc3\xa9", datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), date(2020, 1, 2),
        timedelta(minutes=1), Decimal("1.10"), Colour.RED, float("nan"), [float("-inf")], {1: 2},
    ]  # fmt: skip
    said = json.loads(JsonCodec().encode_tuple("1", a_tuple(*values))[:-4])["tuple"]
    assert said == [
        [1, [2]], [3], "caf\u00e9", "2020-01-02T03:04:05+00:00", "2020-01-02", 60.0, "1.10", "red",
        None, [None], {"1": 2},
    ]  # fmt: skip


@pytest.mark.parametrize("value", [object(), b"\xff", {(1, 2): 3}])
def test_values_that_nothing_stands_for_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        JsonCodec().encode_tuple("1", a_tuple(value))


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = [float("nan")]
    value.append(value)
    with pytest.raises((ValueError, RecursionError)):
        JsonCodec().encode_tuple("1", a_tuple(value))


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_msgpack_messages_arrive_whole_however_they_are_cut(size: int) -> None:
    data = b"".join(map(msgpack.packb, [ACK, LOG, {"pid": 7}]))
    codec, found = MsgpackCodec(), []
    for begin in range(0, len(data), size):
        found += codec.feed(data[begin : begin + size])
    assert found == [ACK, LOG, {"pid": 7}]


def test_msgpack_says_what_json_says_and_bytes_as_they_are() -> None:
    codec = MsgpackCodec()
    data = codec.encode_tuple("1", a_tuple(b"\xff", {3}, date(2020, 1, 2), Decimal("1.1")))
    assert msgpack.unpackb(data) == {
        "id": "1", "comp": "lines", "stream": "default", "task": 4,
        "tuple": [b"\xff", [3], "2020-01-02", "1.1"],
    }  # fmt: skip
    with pytest.raises((TypeError, OverflowError)):
        codec.encode_tuple("2", a_tuple(1 << 70))
    assert msgpack.unpackb(codec.encode([7])) == [7], "the refused tuple left nothing behind"


@pytest.mark.parametrize("data", [b"hello\n", b"\xc1", msgpack.packb([1]), msgpack.packb({"a": 1})])
def test_what_is_no_message_ends_a_msgpack_stream(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        MsgpackCodec().feed(msgpack.packb(ACK) + data)


def test_an_emit_has_what_storm_takes_for_granted() -> None:
    emit = emit_of({"command": "emit", "tuple": [1]})
    assert (emit.values, emit.stream, emit.task, emit.wants_tasks, emit.anchors, emit.id) == (
        [1], "default", None, True, [], None,
    )  # fmt: skip
    emit = emit_of(
        {"tuple": [], "stream": "s", "task": 0, "need_task_ids": None, "anchors": "5", "id": [1]}
    )
    assert (emit.stream, emit.task, emit.wants_tasks, emit.anchors) == ("s", None, True, ["5"])
    assert emit.id == [1]
    assert not emit_of({"tuple": [], "need_task_ids": False}).wants_tasks
    direct = emit_of({"tuple": [], "task": 9, "need_task_ids": True})
    assert (direct.task, direct.wants_tasks) == (9, False), "Storm answers no direct emit"


@pytest.mark.parametrize("wrong", [{}, {"tuple": "x"}, {"tuple": [], "task": "nine"}])
def test_an_emit_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="an emit whose"):
        emit_of({"command": "emit", **wrong})


def test_ticks_and_heartbeats_are_storms() -> None:
    assert protocol.tick(8, 2.0) == {
        "id": "-8", "comp": "__system", "stream": "__tick", "task": -1, "tuple": [2],
    }  # fmt: skip
    assert protocol.tick(8, 0.5)["tuple"] == [0.5]
    assert protocol.heartbeat(9) == {
        "id": "-9", "comp": None, "stream": "__heartbeat", "task": -1, "tuple": [],
    }  # fmt: skip


# --- what is in the child ------------------------------------------------------------------------


def test_a_tuple_is_answered_by_its_ack_or_by_a_heartbeat_written_behind_it() -> None:
    flight = ChildInFlight()
    first, second = flight.add("a"), flight.add("b")
    flight.ask()
    third = flight.add("c")
    assert (flight.unanswered, len(flight)) == (3, 3)
    assert flight.settle(first) == "a"
    assert flight.unanswered == 2
    flight.answer()
    assert (flight.unanswered, len(flight)) == (1, 2), "b is read, c may not be"
    assert flight.settle(second) == "b"
    assert flight.unanswered == 1, "b was not among them any more"
    assert flight.settle(third) == "c"
    assert flight.unanswered == 0
    with pytest.raises(KeyError):
        flight.settle(third)


def test_a_tick_is_answered_by_its_ack_or_by_a_heartbeat_written_behind_it() -> None:
    """Programs that look at the protocol alone leave ticks without an ack."""
    flight = ChildInFlight()
    flight.ask()
    acked, left = flight.add_tick(), flight.add_tick()
    flight.answer()
    assert flight.has_tick, "that heartbeat was written before them"
    flight.settle_own(f"-{acked}")
    flight.ask()
    newer = flight.add_tick()
    flight.answer()
    assert flight.has_tick
    flight.settle_own(f"-{left}")  # late, and nothing comes of it
    flight.settle_own(f"-{newer}")
    assert not flight.has_tick
    flight.add_tick()
    assert flight.clear() == []
    assert not flight.has_tick, "it went with its child"
    assert (len(flight), flight.unanswered) == (0, 0)


def test_a_tuple_that_failed_here_is_in_the_child_until_that_settles_it() -> None:
    flight = ChildInFlight()
    key, other = flight.add("a"), flight.add("b")
    assert flight.mark_failed(key) == "a"
    assert flight.mark_failed(key) is None
    assert flight.anchors([key, other, "77", "-3"]) == (["b"], ["77"])
    assert flight.settle(key) is None
    key = flight.add("c")
    flight.mark_failed(key)
    assert flight.clear() == ["b"]
    assert (len(flight), flight.unanswered) == (0, 0)


def test_silence_counts_from_the_question_or_the_last_word() -> None:
    timer = ResponseTimer(timeout_secs=30.0)
    assert not timer.is_overdue(1e9)
    timer.ask(100.0)
    timer.ask(120.0)
    assert not timer.is_overdue(130.0)
    assert timer.is_overdue(130.5)
    timer.heard_at = 110.0
    assert not timer.is_overdue(140.0)
    assert timer.is_overdue(140.5)
    timer.answered()
    assert not timer.is_overdue(1e9)
