"""What a user reads of their own mistakes: the place in their file, and no frame of the engine."""

import re
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from heron_api.user_errors import location, users_traceback
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.streamparse import Bolt as StormBolt
from heronpy_compat.testing import ComponentTester, TopologyTester

Write = Callable[[str, str], str]

PROGRAM = """\
def divide():
    return 1 / 0

def chained(engine):
    try:
        engine()
    except Exception as error:
        raise ValueError("mine") from error
"""


def raised(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return caught.value


def test_a_traceback_has_the_users_frames_alone(write: Write) -> None:
    path = write("words.py", PROGRAM)
    names: dict[str, Any] = {}
    exec(compile(PROGRAM, f"{path}", "exec"), names)
    error = raised(names["divide"])
    lines = users_traceback(error).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero (words.py:2)"
    assert not users_traceback(error, debug=True).rstrip().endswith(")")
    # A user's chained exception stays, even an exception of the engine.
    from heron_core.config import whole_number

    text = users_traceback(
        raised(lambda: names["chained"](lambda: whole_number({"a": "x"}, "a", 1)))
    )
    assert "heron_core/config.py" not in text
    assert "a must be a whole number of at least 1" in text
    assert text.splitlines()[-1] == "ValueError: mine (words.py:8)"


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        self.emit(["storm"], tup_id=1)


class Forgets(Bolt):
    """Never acks."""

    def process(self, tup: Any) -> None:
        pass


class Fails(Bolt):
    outputs = ["word"]

    def process(self, tup: Any) -> None:
        self.emit([1, 2])

    def process_tick(self, tup: Any) -> None:
        raise LookupError("in a tick")


class OfJava(Bolt):
    """As known to its author from Storm's OutputCollector."""

    outputs = ["word"]

    def process(self, tup: Any) -> None:
        getattr(self, tup.values[0])


class StormOfJava(StormBolt):
    outputs = ["word"]

    def process(self, tup: Any) -> None:
        getattr(self, tup.values[0])


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("reset_timeout", "raise topology.message.timeout.secs, or ack the tuple and keep"),
        ("resetTimeout", "raise topology.message.timeout.secs, or ack the tuple and keep"),
        ("collector", "as in self.emit(values)"),
        ("emitDirect", "as in self.emit(values, direct_task=task)"),
        ("emmit", ""),
    ],
)
@pytest.mark.parametrize("kind", [OfJava, StormOfJava])
def test_what_only_storms_collector_has_is_told_with_what_does_the_same(
    kind: Any, name: str, cure: str
) -> None:
    with ComponentTester(kind, inputs={"words": ["word"]}) as tester:
        with pytest.raises(AttributeError, match=name):
            tester.process([name])
        (problem,) = tester.errors
        last = problem.text.splitlines()[-1]
        assert cure in last
        assert (";" in last.partition("attribute")[2]) == bool(cure)
        assert tester.failed == [1]


class HoldsLong(Bolt):
    """Keeps a tuple for a minute, as a batch of the outside world takes."""

    auto_ack = False

    def initialize(self, config: Any, context: Any) -> None:
        self.retained: list[Any] = []

    def process(self, tup: Any) -> None:
        self.retained.append(tup)

    def process_tick(self, tup: Any) -> None:
        for each in self.retained:
            self.ack(each)
        self.retained.clear()


@pytest.mark.parametrize(("timeout_secs", "acked", "failed"), [(30, [], [1]), (90, [1], [])])
def test_a_tuple_that_is_held_for_a_minute_needs_a_longer_message_timeout(
    timeout_secs: int, acked: list[int], failed: list[int]
) -> None:
    """What PORTING.md says in place of collector.resetTimeout(tuple)."""
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.message.timeout.secs": timeout_secs,
        "topology.tick.tuple.freq.secs": 60,
    }

    class Holding(Topology):
        words = Words.spec()
        holds = HoldsLong.spec(inputs={words: Grouping.SHUFFLE})

    with TopologyTester(Holding, config=config) as tester:
        tester.run_spouts(1)
        tester.advance(61)
        tester.errors("holds")
        assert (tester.acked("words"), tester.failed("words")) == (acked, failed)


class Careless(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE", "topology.message.timeout.secs": 5}
    words = Words.spec()
    forgets = Forgets.spec(inputs={words: Grouping.SHUFFLE})
    fails = Fails.spec(
        inputs={words: Grouping.SHUFFLE}, config={"topology.tick.tuple.freq.secs": 1}
    )


def test_errors_of_a_run() -> None:
    with TopologyTester(Careless) as tester:
        tester.run_spouts(1)
        (wrong,) = tester.errors("fails")
        assert "engine" not in wrong.text
        assert "heron_instance" not in wrong.text
        last = wrong.text.splitlines()[-1]
        assert re.search(r"fields \['word'\] \(.*test_user_errors\.py:\d+\)$", last), last
        tester.advance(1)
        (tick,) = tester.errors("fails")[1:]
        assert tick.text.count("Traceback") == 1
        assert tester.errors("forgets") == []
        tester.advance(5)
        tester.run_spouts(1)
        (hint,) = tester.errors("forgets")
        assert hint.text == (
            "none of 2 tuples was acked in time (5 s), so they fail: call self.ack(tup), or set"
            " auto_ack = True in the class"
        )


def test_compiled_code_of_others_is_not_a_place_of_the_users() -> None:
    """The source has a relative path, as if in the working directory."""
    import msgpack

    error = raised(lambda: msgpack.packb(object()))
    frames = [each.filename for each in traceback.extract_tb(error.__traceback__)]
    assert any(each.endswith(".pyx") for each in frames), frames
    place = location(error)
    assert place is not None
    assert place.startswith("tests/unit/heron_api/test_user_errors.py:")
