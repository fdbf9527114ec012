"""pystorm's classes over Storm's pipe: the messages equal the installed package's, word for
word."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

TICK = {"id": "t", "comp": "__system", "stream": "__tick", "task": -1, "tuple": [1]}
HEARTBEAT: dict[str, Any] = {
    "id": "h",
    "comp": None,
    "stream": "__heartbeat",
    "task": -1,
    "tuple": [],
}


def tuple_of(word: str, tup_id: str) -> dict[str, Any]:
    """A tuple as Storm sends it."""
    return {"id": tup_id, "comp": "words", "stream": "default", "task": 3, "tuple": [word]}


@pytest.fixture(autouse=True)
def logging_is_restored() -> Iterator[None]:
    """A component puts a handler on the root logger, and itself in place of stdout."""
    root, out = logging.getLogger(), sys.stdout
    handlers = list(root.handlers)
    yield
    root.handlers[:] = handlers
    logging.getLogger("pystorm").setLevel(logging.NOTSET)
    sys.stdout = out


class Pipe:
    """Runs a component on given messages to the end; returns its messages."""

    def __init__(self, folder: Path, serializer: str) -> None:
        self._folder = folder
        self._serializer = serializer

    def run(self, kind: Any, *messages: Any) -> list[Any]:
        conf = {"topology.name": "t", "topology.debug": False, "pystorm.log.level": "critical"}
        context = {
            "taskid": 4,
            "componentid": "tested",
            "source->stream->fields": {"words": {"default": ["word"]}},
        }
        hello = {"conf": conf, "context": context, "pidDir": str(self._folder)}
        source = io.BytesIO(b"".join(map(self._packed, (hello, *messages))))
        sink = io.BytesIO()
        made = kind(
            input_stream=source, output_stream=sink, rdb_signal=None, serializer=self._serializer
        )
        codes: list[int] = []

        def leave(code: int) -> None:
            codes.append(code)
            raise SystemExit(code)

        made._exit = leave
        with pytest.raises(SystemExit):
            made.run()
        said = self._unpacked(sink.getvalue())
        assert said.pop(0) == {"pid": made.pid}
        assert (self._folder / str(made.pid)).exists()
        assert said.pop(0)["command"] == "log"
        return [*said, codes[0]]

    def _packed(self, message: Any) -> bytes:
        if self._serializer == "msgpack":
            data: bytes = msgpack.packb(message)
            return data
        return f"{json.dumps(message)}\nend\n".encode()

    def _unpacked(self, data: bytes) -> list[Any]:
        if self._serializer == "msgpack":
            unpacker = msgpack.Unpacker()
            unpacker.feed(data)
            return list(unpacker)
        return [json.loads(each) for each in data.decode().split("\nend\n") if each]


@pytest.fixture(params=["json", "msgpack"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
    return Pipe(tmp_path, request.param).run


def emitted(values: list[Any], **more: Any) -> dict[str, Any]:
    """An emit that wants no task ids."""
    return {"command": "emit", "tuple": values, "need_task_ids": False, **more}


def test_a_bolts_conversation(storm: Any, run: Any) -> None:
    class Upper(storm.Bolt):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            self.emit([tup.values.word.upper()])

        def process_tick(self, tup: Any) -> None:
            self.emit(["tick"], stream="times", anchors=[])

    assert run(Upper, HEARTBEAT, tuple_of("a", "1"), TICK) == [
        {"command": "sync"},
        emitted(["A"], anchors=["1"]),
        {"command": "ack", "id": "1"},
        emitted(["tick"], stream="times", anchors=[]),
        {"command": "ack", "id": "t"},
        2,
    ]


def test_task_ids_come_between_tuples(storm: Any, run: Any) -> None:
    class Asking(storm.Bolt):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            tasks = self.emit(["x"], need_task_ids=True)
            direct = self.emit(["y"], direct_task=9, need_task_ids=True)
            self.log(f"{tup.values.word} {tasks} {direct}", "warn")

    said = run(Asking, tuple_of("a", "1"), tuple_of("b", "2"), [5], [6])
    assert [each["msg"] for each in said[:-1] if each["command"] == "log"] == [
        "a [5] [9]",
        "b [6] [9]",
    ]
    assert said[0] == {"command": "emit", "tuple": ["x"], "anchors": ["1"]}


@pytest.mark.parametrize(("exits", "code"), [(True, 1), (False, 2)])
def test_an_exception_is_an_error_and_a_fail(storm: Any, run: Any, exits: bool, code: int) -> None:
    class Bad(storm.Bolt):  # type: ignore[misc]
        exit_on_exception = exits

        def process(self, tup: Any) -> None:
            raise ValueError("bad")

    error, *rest = run(Bad, tuple_of("a", "1"))
    assert error["command"] == "error"
    assert error["msg"].startswith("Python ValueError raised while processing Tuple Tuple(id='1'")
    assert rest == [{"command": "sync"}, {"command": "fail", "id": "1"}, code]


def test_a_batching_bolts_conversation(storm: Any, run: Any) -> None:
    class Sizes(storm.BatchingBolt):  # type: ignore[misc]
        def process_batch(self, key: Any, tups: list[Any]) -> None:
            self.emit([len(tups)])

    assert run(Sizes, tuple_of("a", "1"), TICK, tuple_of("b", "2"), TICK) == [
        {"command": "ack", "id": "t"},
        {"command": "ack", "id": "t"},
        emitted([2], anchors=["1", "2"]),
        {"command": "ack", "id": "1"},
        {"command": "ack", "id": "2"},
        2,
    ]


def test_a_spouts_conversation(storm: Any, run: Any) -> None:
    class Words(storm.ReliableSpout):  # type: ignore[misc]
        max_fails = 1

        def next_tuple(self) -> None:
            self.emit(["a"], tup_id="one")

    next_one = {"command": "next"}
    failed = {"command": "fail", "id": "one"}
    sync = {"command": "sync"}
    activate = {"command": "activate"}
    word = emitted(["a"], id="one")
    said = run(Words, activate, next_one, failed, failed, next_one, {"command": "ack", "id": "one"})
    assert said == [sync, word, sync, word, sync, sync, word, sync, sync, 2]


def test_metrics(storm: Any, run: Any) -> None:
    class Measured(storm.Bolt):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            self.report_metric("size", 3)

    said = run(Measured, tuple_of("a", "1"))
    assert said[0] == {"command": "metrics", "name": "size", "params": 3}


def test_an_unknown_serializer_is_refused(storm: Any) -> None:
    with pytest.raises(ValueError, match="Unknown serializer"):
        storm.Bolt(serializer="xml")


# --- what ours does better -----------------------------------------------------------------------


def test_odd_field_names_are_read() -> None:
    from heronpy_compat.pystorm.bolt import values_class

    kind = values_class("my source", "a-b", ["user-id", "word", "word"])
    assert (kind.__name__, kind._fields) == ("My_SourceA_BTuple", ("_0", "word", "_2"))


def test_a_value_that_cannot_travel_is_no_silent_loss(tmp_path: Path) -> None:
    from heronpy_compat.pystorm import Bolt

    class Lost(Bolt):
        exit_on_exception = False

        def process(self, tup: Any) -> None:
            self.emit([object()])

    error, *rest = Pipe(tmp_path, "json").run(Lost, tuple_of("a", "1"))
    assert "TypeError" in error["msg"]
    assert rest == [{"command": "sync"}, {"command": "fail", "id": "1"}, 2]


def test_what_is_printed_does_not_get_between_the_messages(tmp_path: Path) -> None:
    """In a process of its own: stdout is the pipe."""
    code = (
        "from heronpy_compat.pystorm import Bolt\n"
        "class Chatty(Bolt):\n"
        "    def process(self, tup): print('hello', 'world')\n"
        "Chatty().run()\n"
    )
    hello = {"conf": {}, "context": {"taskid": 1, "componentid": "c"}, "pidDir": str(tmp_path)}
    tup = {"id": "1", "comp": "w", "stream": "default", "task": 3, "tuple": ["a"]}
    given = "".join(f"{json.dumps(each)}\nend\n" for each in (hello, tup))
    done = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, check=False
    )
    said = [json.loads(each) for each in done.stdout.split("\nend\n") if each]
    (log,) = [each for each in said if "hello world" in each.get("msg", "")]
    assert log["command"] == "log"
    assert said[-2] == {"command": "ack", "id": "1"}
    assert said[-1]["msg"].endswith("Exiting because parent Storm process went away.")
    assert done.returncode == 2


class Told:
    """A log in place of pystorm.component's own, as tests of components replace it."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __getattr__(self, level: str) -> Callable[..., None]:
        return lambda text, *values, **_: self.lines.append((level, text % values))


def test_a_test_may_replace_the_log_of_pystorms_module(
    storm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pystorm's own tests do: `patch("pystorm.component.log")`."""

    class Broken(storm.Bolt):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            raise ValueError("mine")

        def raise_exception(self, exception: BaseException, tup: Any = None) -> None:
            raise LookupError("while it is told")

    told = Told()
    (component,) = (each for each in storm.Bolt.__mro__ if each.__name__ == "Component")
    monkeypatch.setattr(sys.modules[component.__module__], "log", told)
    Pipe(tmp_path, "json").run(Broken, tuple_of("a", "1"))
    assert told.lines == [
        ("error", "Exception in Broken.run()"),
        ("error", "While trying to handle previous exception..."),
    ]
    told.lines.clear()
    Pipe(tmp_path, "json").run(storm.Bolt)
    assert told.lines == [("info", "Exiting because parent Storm process went away.")]
