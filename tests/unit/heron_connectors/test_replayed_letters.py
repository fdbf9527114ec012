"""The hidden spout that emits dead letters again."""

from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from heron_connectors.letters.folder import request_replay, waiting_requests
from heron_connectors.letters.records import record_of
from heron_connectors.letters.replayed import ReplayedLetters
from heron_core.dead_letters import FIELDS, replay_stream
from heron_core.errors import ComponentError, HeronError

BY_SPLIT = replay_stream("split", "lines", "default")
BY_AUDIT = replay_stream("audit", "lines", "default")
DIRECT = replay_stream("split", "lines", "direct")


class Context:
    """Of a spout that may emit to `split`, with the tasks 5 and 6, and to `audit`."""

    def get_component_id(self) -> str:
        return "__replayed"

    def get_task_id(self) -> int:
        return 9

    def get_component_tasks(self, name: str) -> list[int]:
        return {"__replayed": [9], "split": [5, 6]}.get(name, [7])

    def to_storm(self) -> dict[str, Any]:
        streams = {BY_SPLIT: "split", BY_AUDIT: "audit", DIRECT: "split"}
        return {
            "stream->outputfields": {stream: ["line"] for stream in streams},
            "stream->target->grouping": {
                stream: {reader: {"type": "DIRECT" if stream == DIRECT else "SHUFFLE"}}
                for stream, reader in streams.items()
            },
        }


class Delegate:
    """What the spout asks of its engine."""

    logger = None

    def __init__(self) -> None:
        self.emitted: list[tuple[Any, ...]] = []
        self.is_open = True
        self.timers: list[Any] = []
        self.errors: list[str] = []

    def emit(self, values: Any, tup_id: Any, stream: str, task: Any, need: bool) -> None:
        self.emitted.append((values, tup_id, stream, task))

    def finish(self) -> None:
        self.is_open = False

    def reopen(self) -> None:
        self.is_open = True

    def call_later(self, secs: float, call: Any) -> None:
        self.timers.append(call)

    def record_error(self, what: str, text: str) -> None:
        self.errors.append(text)


class Running:
    """One life of the spout."""

    def __init__(
        self, folder: Path, mode: str, state: dict[str, Any] | None = None, pickles: bool = True
    ) -> None:
        self.delegate = Delegate()
        self.state: Any = cast(Any, State(state or {}))
        self.spout = ReplayedLetters(self.delegate)
        self.spout.init_state(self.state)
        config = {
            "topology.reliability.mode": mode,
            "file.folder": str(folder),
            "topology.values.pickle": pickles,
        }
        self.spout.initialize(config, Context())

    def run(self, calls: int = 50) -> list[Any]:
        """Until it finishes, or so often; the values that it has emitted."""
        before = len(self.delegate.emitted)
        for _ in range(calls):
            if not self.delegate.is_open:
                break
            self.spout.next_tuple()
        return [each[0][0] for each in self.delegate.emitted[before:]]


class State(dict[str, Any]):
    put: Any = dict.__setitem__


def letter(value: str, **more: Any) -> bytes:
    given: dict[str, Any] = dict.fromkeys(FIELDS, "") | {
        "id": value, "component": "split", "instance": "split[1]", "time_ms": 1, "task": 1,
        "source": "lines", "stream": "default", "fields": ["line"], "values": [value],
    }  # fmt: skip
    given |= more
    return record_of([given[each] for each in FIELDS])


def ask(folder: Path, *values: str) -> None:
    request_replay(str(folder), [letter(each) for each in values])


def test_exactly_once_it_goes_on_where_the_checkpoint_was(tmp_path: Path) -> None:
    ask(tmp_path, "a", "b")
    ask(tmp_path, "c")
    first = Running(tmp_path, "EFFECTIVELY_ONCE")
    assert first.run(1) == ["a"]
    first.spout.pre_save(1)
    saved = dict(first.state)
    assert first.run() == ["b", "c"]
    again = Running(tmp_path, "EFFECTIVELY_ONCE", saved)
    assert again.run() == ["b", "c"]
    assert waiting_requests(str(tmp_path)) == [1, 2]
    again.spout.pre_save(2)
    again.spout.post_save(2)
    assert waiting_requests(str(tmp_path)) == []


def test_a_request_whose_file_outlived_its_checkpoint_is_not_sent_again(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    first = Running(tmp_path, "EFFECTIVELY_ONCE")
    first.run()
    first.spout.pre_save(1)  # it dies here: complete, but nobody was told
    again = Running(tmp_path, "EFFECTIVELY_ONCE", dict(first.state))
    assert again.run() == []
    assert waiting_requests(str(tmp_path)) == []


def test_at_most_once_a_request_is_done_when_it_begins(tmp_path: Path) -> None:
    ask(tmp_path, "a", "b")
    first = Running(tmp_path, "ATMOST_ONCE")
    first.run(1)
    assert Running(tmp_path, "ATMOST_ONCE").run() == []
    assert first.run() == ["b"]


def test_at_least_once_a_request_is_done_with_its_last_ack(tmp_path: Path) -> None:
    ask(tmp_path, "a", "b")
    running = Running(tmp_path, "ATLEAST_ONCE")
    assert running.run() == ["a", "b"]
    first, second = (each[1] for each in running.delegate.emitted)
    running.spout.ack(first)
    assert waiting_requests(str(tmp_path)) == [1]
    assert Running(tmp_path, "ATLEAST_ONCE").run() == ["a", "b"]
    running.delegate.reopen()  # as the engine does it for a fail
    running.spout.fail(second)
    assert running.run() == ["b"]
    running.spout.ack(second)
    assert waiting_requests(str(tmp_path)) == []


def test_a_request_that_comes_later_opens_the_spout_again(tmp_path: Path) -> None:
    running = Running(tmp_path, "EFFECTIVELY_ONCE")
    assert running.run() == []
    assert not running.delegate.is_open
    running.delegate.timers.pop()()
    assert not running.delegate.is_open
    ask(tmp_path, "a")
    running.delegate.timers.pop()()
    assert running.run() == ["a"]
    running.spout.close()
    running.delegate.timers.pop()()
    assert running.delegate.timers == []


def test_a_batch_that_is_repeated_emits_the_same(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    spark = Running(tmp_path, "ATMOST_ONCE")
    spark.spout.begin_batch(0)
    before = spark.spout.__getstate__()
    assert spark.run() == ["a"]
    repeated = Running(tmp_path, "ATMOST_ONCE")
    vars(repeated.spout).update(before)
    repeated.spout.begin_batch(0)
    assert repeated.run() == ["a"]
    repeated.delegate.reopen()
    ask(tmp_path, "b")
    repeated.spout.begin_batch(1)
    assert waiting_requests(str(tmp_path)) == [2]
    assert repeated.run() == ["b"]


def test_a_request_made_during_a_query_of_spark_is_seen_by_its_next_batch(tmp_path: Path) -> None:
    spark = Running(tmp_path, "ATMOST_ONCE")
    spark.spout.begin_batch(0)
    assert spark.run() == []
    ask(tmp_path, "a")
    spark.spout.begin_batch(1)
    assert spark.run() == ["a"]


def test_a_letter_goes_to_who_gave_it_up_and_of_a_source_to_all(tmp_path: Path) -> None:
    lines = [letter("a"), letter("b", component="lines"), letter("c", stream="direct")]
    request_replay(str(tmp_path), lines)
    running = Running(tmp_path, "ATMOST_ONCE")
    running.run()
    assert [(values[0], stream, task) for values, _, stream, task in running.delegate.emitted] == [
        ("a", BY_SPLIT, None), ("b", BY_SPLIT, None), ("b", BY_AUDIT, None), ("c", DIRECT, 6),
    ]  # fmt: skip


def test_a_topology_that_opens_no_pickles_opens_none_of_a_letter(tmp_path: Path) -> None:
    request_replay(str(tmp_path), [letter("a", values=[Decimal("1.5")])])
    running = Running(tmp_path, "ATMOST_ONCE", pickles=False)
    with pytest.raises(HeronError, match=r"its values cannot be read: .*topology\.values\.pickle"):
        running.run()
    assert running.delegate.emitted == []


def test_a_letter_that_nobody_reads_any_more_is_named_and_the_next_one_comes(
    tmp_path: Path,
) -> None:
    request_replay(str(tmp_path), [letter("a", fields=["text"]), letter("b")])
    running = Running(tmp_path, "ATMOST_ONCE")
    with pytest.raises(ComponentError, match="dead letter a is not sent again: split does not"):
        running.run()
    assert running.run() == ["b"]
