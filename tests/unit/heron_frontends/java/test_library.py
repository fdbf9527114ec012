"""The built-in components do what their docstrings say."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_api.tuple import Tuple
from heron_core.errors import ComponentError
from heron_frontends.components import (
    CountTuples,
    CountWords,
    Discard,
    FileSpout,
    Log,
    Print,
    RandomIntegers,
    RandomWords,
    SplitWords,
    TotalOfCounts,
    random_sources,
)

NewContext = Callable[..., Any]


def received(*values: Any) -> Tuple:
    return Tuple("0", "upstream", "default", None, list(values))


@pytest.fixture
def new_spout(spout_delegate: Any, new_context: NewContext) -> Callable[..., Any]:
    def started(kind: Any, config: Any, **place: Any) -> Any:
        spout = kind(delegate=spout_delegate)
        spout.initialize(config, new_context("source", **place))
        return spout

    return started


def emitted(spout: Any) -> list[tuple[Any, Any]]:
    """Every (first value, id) until the spout finishes."""
    while not spout.delegate.finished:
        spout.next_tuple()
    found = [(each.values[0], each.id) for each in spout.delegate.emitted]
    spout.delegate.finished = 0
    spout.delegate.emitted.clear()
    return found


@pytest.fixture
def text(tmp_path: Path) -> str:
    file = tmp_path / "text.txt"
    file.write_bytes("one\r\ntwo\n\nvier ä".encode())
    return str(file)


def test_a_file_is_read_line_by_line(new_spout: Callable[..., Any], text: str) -> None:
    spout = new_spout(FileSpout, {"library.file.path": text})
    lines = ["one", "two", "", "vier ä"]
    assert emitted(spout) == [(line, number) for number, line in enumerate(lines, 1)]


def test_a_line_that_is_no_utf8_is_an_error_and_the_others_are_read(
    new_spout: Callable[..., Any], tmp_path: Path
) -> None:
    """A file that comes from elsewhere: no character is replaced by another one."""
    file = tmp_path / "latin.txt"
    file.write_bytes("one\ncafé\nthree\n".encode("latin-1"))
    spout = new_spout(FileSpout, {"library.file.path": str(file)})
    spout.next_tuple()
    with pytest.raises(ComponentError, match=r"line 2 is left out: it is not utf-8 \(.* at byte 3"):
        spout.next_tuple()
    spout.next_tuple()
    assert [each.values for each in spout.delegate.emitted] == [["one"], ["three"]]
    spout.delegate.emitted.clear()

    keys = {"library.file.path": str(file), "library.file.encoding": "latin-1"}
    assert [line for line, _ in emitted(new_spout(FileSpout, keys))] == ["one", "café", "three"]
    with pytest.raises(ComponentError, match="not an encoding of Python"):
        new_spout(FileSpout, {**keys, "library.file.encoding": "latin-0"})


def test_failed_lines_are_emitted_again_until_they_are_acked(
    new_spout: Callable[..., Any], text: str
) -> None:
    spout = new_spout(FileSpout, {"library.file.path": text})
    emitted(spout)
    spout.ack(1)
    spout.fail(2)
    spout.fail(1)
    assert emitted(spout) == [("two", 2)]
    spout.fail(2)
    assert emitted(spout) == [("two", 2)]
    spout.ack(2)
    assert emitted(spout) == []


def test_instances_share_the_lines(new_spout: Callable[..., Any], text: str) -> None:
    shares = [
        emitted(new_spout(FileSpout, {"library.file.path": text}, task=task, tasks=(4, 7, 9)))
        for task in (4, 7, 9)
    ]
    assert [[number for _, number in share] for share in shares] == [[1, 4], [2], [3]]


def test_nothing_is_remembered_at_most_once(new_spout: Callable[..., Any], text: str) -> None:
    config = {"library.file.path": text, "topology.reliability.mode": "ATMOST_ONCE"}
    assert [each[1] for each in emitted(new_spout(FileSpout, config))] == [None] * 4


def test_the_path_may_be_an_attribute(new_spout: Callable[..., Any], text: str) -> None:
    class Lines(FileSpout):
        path = text

    assert len(emitted(new_spout(Lines, {}))) == 4


def test_a_file_that_is_none(new_spout: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match=r"nowhere cannot be read: No such file"):
        new_spout(FileSpout, {"library.file.path": str(tmp_path / "nowhere")})
    with pytest.raises(ComponentError, match=r"source: no file to read: set its property 'path'"):
        new_spout(FileSpout, {})


class FakeClock:
    """Stands for the module time in random_sources."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 200_000.0


def test_random_words_come_at_their_pace(
    new_spout: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(random_sources, "time", clock)
    spout = new_spout(RandomWords, {"library.random.words": ["a", "b"]})
    for _ in range(3):
        spout.next_tuple()
        spout.next_tuple()
        clock.now += 0.1
    words = spout.delegate.emitted
    assert len(words) == 3
    assert {each.values[0] for each in words} <= {"a", "b"}
    assert [each.id for each in words] == [None] * 3
    assert spout.delegate.finished == 0


def test_random_integers_end_when_they_are_told_to(
    new_spout: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_sources, "time", FakeClock())
    config = {"library.random.interval.ms": 0, "library.random.count": 3}
    spout = new_spout(RandomIntegers, config)
    for _ in range(4):
        spout.next_tuple()
    rows = [each.values for each in spout.delegate.emitted]
    assert all(0 <= row[0] < 1000 for row in rows)
    assert [row[1:] for row in rows] == [[200_000_000 - 86_400_000, n] for n in (1, 2, 3)]
    assert [each.id for each in spout.delegate.emitted] == [1, 2, 3]
    assert spout.delegate.finished == 1


@pytest.mark.parametrize(
    ("kind", "inputs", "expected"),
    [
        (SplitWords, [[" to be  or\tnot "]], [["to"], ["be"], ["or"], ["not"]]),
        (CountWords, [["a"], ["b"], ["a"]], [["a", 1], ["b", 1], ["a", 2]]),
        (CountTuples, [["a"], [1, 2]], [[1], [2]]),
        (TotalOfCounts, [["a", 1], ["b", 4], ["a", 3]], [[1], [5], [7]]),
        (Discard, [["a"]], []),
    ],
)
def test_bolts(
    bolt_delegate: Any, new_context: NewContext, kind: Any, inputs: Any, expected: Any
) -> None:
    bolt = kind(delegate=bolt_delegate)
    bolt.initialize({}, new_context("bolt"))
    for values in inputs:
        bolt.process(received(*values))
    assert [each.values for each in bolt_delegate.emitted] == expected
    assert kind.auto_ack
    assert kind.auto_anchor or not expected


def test_tuples_are_logged_and_printed(
    bolt_delegate: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO):
        Log(delegate=bolt_delegate).process(received("a", 1))
    Print(delegate=bolt_delegate).process(received("b", None))
    assert caplog.messages == ["upstream:default ['a', 1]"]
    assert capsys.readouterr().out == "upstream:default ['b', None]\n"
