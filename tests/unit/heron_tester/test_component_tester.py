"""One bolt or spout alone: what it emits, acks and raises, call by call."""

import os
import sys
import threading
import time
from typing import Any

import pytest

from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heron_core.errors import ComponentError, UsageError
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heronpy_compat import Bolt, Spout, Stream
from heronpy_compat.testing import ComponentTester, TesterError, TopologyTester
from tests.unit.heron_tester.tested_topologies import Clock, Count, Lines, Numbers, Split

WORDS = {"words": ["word"]}


def values(emitted):
    return [each.values for each in emitted]


def test_a_bolt_processes_tuple_by_tuple():
    with ComponentTester(Count, inputs=WORDS) as count:
        assert values(count.process(["storm"])) == [["storm", 1]]
        assert values(count.process(["storm"], tup_id="b")) == [["storm", 2]]
        assert count.component.counts == {"storm": 2}
        assert (count.acked, count.failed) == ([1, "b"], [])
        assert values(count.emitted) == [["storm", 1], ["storm", 2]]
        (total,) = count.finish()
        assert (total.values, total.stream) == ([2], "totals")
        assert count.metrics()["user"] == {"processed": 2}


def test_what_it_raises_is_raised_and_fails_its_tuple():
    with ComponentTester(Count, inputs=WORDS) as count:
        with pytest.raises(TypeError, match="unhashable"):
            count.process([["no", "word"]])
        assert (count.acked, count.failed) == ([], [1])
        assert count.errors[0].where == "process"
        assert values(count.process(["storm"])) == [["storm", 1]]


def test_a_class_may_stand_inside_of_a_test():
    class Both(Bolt):
        outputs = ["from", Stream(fields=["value"], name="odd")]

        def process(self, tup):
            self.emit([f"{tup.component}:{tup.stream}"], anchors=[tup])
            if tup.values[0] % 2:
                self.emit(tup.values, stream="odd", anchors=[tup])
                self.ack(tup)
            else:
                self.fail(tup)

    inputs: dict[str, Any] = {
        "a": {"default": ["value"], "errors": ["value"]},
        "b": ["value"],
    }
    with ComponentTester(Both, inputs=inputs) as both:
        assert values(both.process([1])) == [["a:default"], [1]]
        assert values(both.process([2], stream="errors")) == [["a:errors"]]
        assert values(both.process([3], component="b")) == [["b:default"], [3]]
        assert (both.acked, both.failed) == ([1, 3], [2])
        with pytest.raises(UsageError, match="does not read c:default"):
            both.process([1], component="c")


def test_a_bolt_whose_outputs_are_its_topologys():
    class Passing(Bolt):
        def process(self, tup):
            self.emit(tup.values, stream="out")

    with ComponentTester(Passing, inputs=WORDS, outputs={"out": ["word"]}) as passing:
        assert values(passing.process(["storm"])) == [["storm"]]


def test_anchors_of_a_comfortable_bolt():
    with ComponentTester(Split, inputs={"lines": ["line"]}) as split:
        storm, heron = split.process(["storm heron"])
        assert [each.values for each in storm.anchors] == [["storm heron"]]
        assert storm.anchors == heron.anchors
        assert split.acked == [1]


def test_a_spout_is_called_acked_and_failed():
    with ComponentTester(Lines) as lines:
        (first,) = lines.next_tuple()
        assert (first.values, first.tup_id) == (["storm heron"], 0)
        assert values(lines.next_tuple(calls=5)) == [["storm"], ["heron storm"]]
        assert lines.finished
        lines.ack(0)
        assert lines.fail(1) == []
        assert (lines.component.acked, lines.component.failed) == ([0], [1])
        assert values(lines.next_tuple()) == [["storm"]]
        assert (lines.acked, lines.failed) == ([0], [1])
        with pytest.raises(UsageError, match=r"no tuple 0 under way; it has \[2, 1\]"):
            lines.ack(0)


def test_a_spout_that_emits_to_one_task():
    class Told(Spout):
        outputs = [Stream(fields=["n"], name="direct", direct=True)]

        def initialize(self, config, context):
            (self.task,) = context.get_component_tasks("reader")

        def next_tuple(self):
            self.emit([1], tup_id="a", stream="direct", direct_task=self.task)

    with ComponentTester(Told) as told:
        (emitted,) = told.next_tuple()
        assert emitted.direct_task == told.component.task
        told.ack("a")
        assert told.acked == ["a"]


def test_ticks_now_and_in_time():
    with ComponentTester(
        Clock, inputs=WORDS, config={"topology.tick.tuple.freq.secs": 10}
    ) as clock:
        start = clock.now
        assert values(clock.tick()) == [[start, 100_000.0, start]]
        assert [each.time - start for each in clock.advance(25)] == [10.0, 20.0]


def test_config_of_the_class_and_of_the_test():
    class Configured(Bolt):
        outputs = ["seen"]

        def initialize(self, config, context):
            self.seen = config["my.key"], config["topology.reliability.mode"]

        def process(self, tup):
            self.emit([self.seen])

    with ComponentTester(Configured, inputs=WORDS, config={"my.key": 7}) as tested:
        assert values(tested.process(["x"])) == [[(7, "ATLEAST_ONCE")]]


# --- windows --------------------------------------------------------------------------------------


class Sliding(SlidingWindowBolt):
    outputs = ["start", "end", "words"]

    def processWindow(self, window_info, tuples):  # noqa: N802
        words = [tup.values[0] for tup in tuples]
        self.emit([window_info.start, window_info.end, words], anchors=tuples)


class Tumbling(TumblingWindowBolt):
    outputs = ["start", "end", "words"]

    def processWindow(self, window_info, tuples):  # noqa: N802
        words = [tup.values[0] for tup in tuples]
        self.emit([window_info.start, window_info.end, words], anchors=tuples)


def test_windows_slide_in_virtual_time():
    config = {Sliding.WINDOW_DURATION_SECS: 60, Sliding.WINDOW_SLIDEINTERVAL_SECS: 20}
    with ComponentTester(
        Sliding, inputs=WORDS, config={**config, "topology.message.timeout.secs": 300}
    ) as window:
        start = int(window.now)
        window.process(["a"])
        window.advance(30)
        window.process(["b"])
        found = window.advance(70)
        assert [(first - start, end - start, words) for first, end, words in values(found)] == [
            (-20, 40, ["a", "b"]),
            (0, 60, ["a", "b"]),
            (20, 80, ["b"]),
            (40, 100, []),
        ]
        assert window.acked == [1, 2]


def test_windows_tumble_in_virtual_time():
    with ComponentTester(
        Tumbling, inputs=WORDS, config={Tumbling.WINDOW_DURATION_SECS: 10}
    ) as window:
        start = int(window.now)
        window.process(["a"])
        assert window.acked == []
        found = window.advance(20)
        assert values(found) == [[start, start + 10, ["a"]], [start + 10, start + 20, []]]
        assert window.acked == [1]


# --- threads and timers ---------------------------------------------------------------------------


class InThread(Bolt):
    """Works in a thread and lets the main thread emit."""

    outputs = ["word"]
    working = 0

    def process(self, tup):
        self.working += 1
        threading.Thread(target=self.work, args=(tup,)).start()

    def work(self, tup):
        self.delegate.call_soon(lambda: self.done(tup))

    def done(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)
        self.working -= 1

    def is_idle(self):
        return not self.working


def test_what_is_done_in_threads_is_waited_for():
    with ComponentTester(InThread, inputs=WORDS) as bolt:
        for number in range(20):
            assert values(bolt.process([number])) == [[number]]
        assert len(bolt.acked) == 20


def test_a_thread_that_never_ends_is_named():
    class Stuck(InThread):
        def work(self, tup):
            pass

    text = r"stuck\[2\] is not idle after 0.05 real seconds"
    with (
        ComponentTester(Stuck, inputs=WORDS, wait_secs=0.05) as bolt,
        pytest.raises(TesterError, match=text),
    ):
        bolt.process(["x"])


def test_other_threads_live_in_real_time():
    class Asking(Bolt):
        outputs = ["here", "there"]

        def process(self, tup):
            found = []
            thread = threading.Thread(target=lambda: found.append(time.time()))
            thread.start()
            thread.join()
            self.emit([time.time(), *found])

    with ComponentTester(Asking, inputs=WORDS) as asking:
        ((here, there),) = values(asking.process(["x"]))
        assert here == asking.now
        assert there == pytest.approx(time.time(), abs=60)


def test_timers_ring_in_virtual_time():
    class Later(Bolt):
        outputs = ["word"]

        def process(self, tup):
            secs, word = tup.values
            self.delegate.call_later(secs, lambda: self.emit([word]))

    with ComponentTester(Later, inputs={"words": ["secs", "word"]}) as later:
        assert later.process([5, "five"]) == later.process([3, "three"]) == []
        assert later.advance(2.9) == []
        start = later.now
        words = later.advance(3)
        assert [each.values for each in words] == [["three"], ["five"]]
        assert [each.time - start for each in words] == pytest.approx([0.1, 2.1])


# --- what is wrong --------------------------------------------------------------------------------


def test_what_a_start_raises_is_raised():
    class Broken(Bolt):
        def initialize(self, config, context):
            raise ValueError("no database")

    with pytest.raises(ValueError, match="no database") as raised:
        ComponentTester(Broken, inputs=WORDS)
    assert raised.value.__notes__ == ["raised at the start of broken[2]"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ComponentTester(Count), "Count is a bolt: name its inputs"),
        (lambda: ComponentTester(42), "42 is not a component"),
        (lambda: ComponentTester(Count, inputs=WORDS).next_tuple(), "only a spout has next_tuple"),
        (lambda: ComponentTester(Numbers).tick(), "only a bolt has tick"),
        (lambda: ComponentTester(Numbers).process([1]), "only a bolt has process"),
    ],
)
def test_wrong_calls_are_one_line(make, text):
    with pytest.raises(UsageError, match=text) as raised:
        make()
    assert "\n" not in str(raised.value)


# --- other languages ------------------------------------------------------------------------------

UPPER = """
import json, sys

def read():
    lines = []
    while (line := sys.stdin.readline()) != "end\\n":
        if not line:
            sys.exit(0)
        lines.append(line)
    return json.loads("".join(lines))

def say(message):
    print(json.dumps(message), "end", sep="\\n", flush=True)

setup = read()
open(f"{setup['pidDir']}/1", "w").close()
say({"pid": 1})
while True:
    tup = read()
    if tup.get("stream") == "__heartbeat":
        say({"command": "sync"})
    elif tup["tuple"][0] == "bad":
        say({"command": "fail", "id": tup["id"]})
    else:
        words = [tup["tuple"][0].upper()]
        say({"command": "emit", "tuple": words, "anchors": [tup["id"]], "need_task_ids": False})
        say({"command": "ack", "id": tup["id"]})
"""


def test_a_component_of_another_language_runs_in_its_process(tmp_path):
    (tmp_path / "upper.py").write_text(UPPER)
    command = [sys.executable, str(tmp_path / "upper.py")]
    with ComponentTester(command, inputs=WORDS, outputs=["word"]) as upper:
        (emitted,) = upper.process(["storm"])
        assert emitted.values == ["STORM"]
        assert [each.values for each in emitted.anchors] == [["storm"]]
        assert upper.process(["bad"]) == []
        assert (upper.acked, upper.failed) == ([1], [2])


COUNTING = (
    UPPER.split("while True:\n    tup")[0]
    + """
n = 0
while True:
    command = read()
    if command["command"] == "next":
        n += 1
        say({"command": "emit", "tuple": [n], "id": n, "need_task_ids": False})
    elif command["command"] == "fail":
        say({"command": "emit", "tuple": [-command["id"]], "need_task_ids": False})
    say({"command": "sync"})
"""
)


def test_a_spout_of_another_language(tmp_path):
    (tmp_path / "counting.py").write_text(COUNTING)
    command = [sys.executable, str(tmp_path / "counting.py")]
    with ComponentTester(command, outputs=["number"]) as counting:
        assert values(counting.next_tuple(calls=2)) == [[1], [2]]
        assert counting.ack(1) == []
        assert values(counting.fail(2)) == [[-2]]
        assert (counting.acked, counting.failed) == ([1], [2])


def test_a_child_does_not_outlive_its_instance(tmp_path):
    program = UPPER.replace('tup["tuple"][0].upper()', "__import__('os').getpid()")
    (tmp_path / "telling.py").write_text(program)
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    stream = (StreamSpec("default", ("word",)),)
    command = [sys.executable, str(tmp_path / "telling.py")]
    words = ComponentSpec("words", True, f"{Numbers.__module__}.Numbers", 1, stream)
    telling = ComponentSpec(
        "telling", False, "heron_frontends.adapters.multilang.ShellBolt", 1, stream,
        (InputSpec("words", "default", shuffle),), {"heronpy.shell.command": command},
    )  # fmt: skip
    with TopologyTester(TopologySpec("t", (words, telling))) as tester:
        for _ in range(2):
            tester.feed("words", ["x"])
            tester.run()
            tester.crash("telling")
        pids = [pid for (pid,) in tester.values("telling")]
    assert len(set(pids)) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_program_that_is_not_there():
    with pytest.raises(ComponentError, match="no_such_program"):
        ComponentTester(["no_such_program"], inputs=WORDS, outputs=["word"])
