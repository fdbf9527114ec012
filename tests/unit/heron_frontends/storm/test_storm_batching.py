"""BatchingBolt and TicklessBatchingBolt: time of the processing of batches, and anchors."""

from typing import Any

import pytest

from heron_core.errors import ComponentError
from heron_core.wire.frames import FrameKind
from tests.unit.heron_frontends.storm.storm_support import ROOT, Running, start


def batching(storm: Any, kind: str = "BatchingBolt", **members: Any) -> type:
    """A bolt that groups by the word and emits (word, size of the batch)."""

    def group_key(self: Any, tup: Any) -> Any:
        return tup.values.word

    def process_batch(self: Any, key: Any, tups: list[Any]) -> None:
        if key == "bad":
            raise ValueError("bad batch")
        self.emit([key, len(tups)])

    base = getattr(storm, kind)
    return type("Batching", (base,), {"group_key": group_key, "process_batch": process_batch,
                                      **members})  # fmt: skip


def three(made: Running) -> None:
    """Two tuples of the word a (roots 0 and 2) and one of b (root 1)."""
    made.feed(["a", 1], ["b", 1], ["a", 1])


def test_batches_are_processed_on_the_second_tick(storm: Any) -> None:
    made = start(batching(storm), tick_secs=1)
    three(made)
    made.tick()
    assert (made.values(), made.acked()) == ([], [])
    made.tick()
    assert sorted(made.values()) == [["a", 2], ["b", 1]]
    assert sorted(made.acked()) == [0, 1, 2]
    assert made.core.statistics().acked == 3


def test_the_first_tick_after_a_long_rest_processes_at_once(storm: Any) -> None:
    """The counter goes on while idle."""
    made = start(batching(storm), tick_secs=1)
    made.tick()
    made.tick()
    three(made)
    made.tick()
    assert len(made.values()) == 2


def test_more_ticks_between_batches(storm: Any) -> None:
    made = start(batching(storm, ticks_between_batches=3), tick_secs=1)
    three(made)
    for _ in range(3):
        made.tick()
    assert made.values() == []
    made.tick()
    assert len(made.values()) == 2


def test_an_emit_is_anchored_to_its_whole_batch(storm: Any) -> None:
    made = start(batching(storm, group_key=lambda self, tup: None), tick_secs=1)
    made.feed(["a", 1], ["b", 1], roots=[(ROOT, 7), (ROOT + 1, 9)])
    made.tick()
    made.tick()
    made.core.flush()
    (sent,) = made.batches()
    edge = sent.ids[1]
    assert made.words_of(FrameKind.ACK) == [ROOT, 7 ^ edge, ROOT + 1, 9 ^ edge]


def test_a_batching_bolt_is_never_told_task_ids(storm: Any) -> None:
    told = []

    def process_batch(self: Any, key: Any, tups: list[Any]) -> None:
        told.append(self.emit([key, 1], need_task_ids=True))

    made = start(batching(storm, process_batch=process_batch), tick_secs=1)
    three(made)
    made.tick()
    made.tick()
    assert told == [None, None]


def test_without_auto_ack_the_batch_is_the_users(storm: Any) -> None:
    made = start(batching(storm, auto_ack=False), tick_secs=1)
    three(made)
    made.tick()
    made.tick()
    assert (len(made.values()), made.acked()) == (2, [])


@pytest.mark.parametrize("own", [{}, {"exit_on_exception": False}])
def test_a_batch_that_raises_fails_alone(storm: Any, own: dict[str, Any]) -> None:
    """The previous batch is acked, the next waits for its time."""
    made = start(batching(storm, **own), tick_secs=1)
    made.feed(["a", 1], ["bad", 1], ["bad", 1], ["c", 1])
    made.tick()
    made.tick()
    assert (made.acked(), made.failed()) == ([0], [1, 2])
    assert "ValueError: bad batch" in made.errors[0]
    made.tick()
    assert made.acked() == [0, 3]
    assert made.failed() == [1, 2]


def test_exit_on_exception_fails_every_batch_and_ends_the_process(storm: Any) -> None:
    made = start(batching(storm, exit_on_exception=True), tick_secs=1)
    made.feed(["bad", 1], ["b", 1])
    made.tick()
    with pytest.raises(ComponentError, match="tested: exit_on_exception"):
        made.tick()
    assert made.words_of(FrameKind.FAIL) == [ROOT, ROOT + 1]


def test_a_group_key_that_raises_fails_its_tuple(storm: Any) -> None:
    def group_key(self: Any, tup: Any) -> Any:
        return 1 // tup.values.n

    made = start(batching(storm, group_key=group_key), tick_secs=1)
    made.feed(["a", 0], ["a", 1])
    assert made.failed() == [0]
    made.tick()
    made.tick()
    assert made.acked() == [1]


def test_the_users_own_process_batches(storm: Any) -> None:
    """A batch ended by its size."""

    class BySize(batching(storm)):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            super().process(tup)
            if sum(map(len, self._batches.values())) == 2:
                self.process_batches()

        def process_batches(self) -> None:
            self.log("own")
            super().process_batches()

    made = start(BySize)
    three(made)
    assert sorted(made.acked()) == [0, 1]
    assert ("INFO", "own") in made.lines


def test_the_end_of_a_finite_run_processes_what_is_held(storm: Any) -> None:
    made = start(batching(storm), tick_secs=1)
    made.feed(["bad", 1], ["a", 1], ["b", 1])
    assert not made.component.is_idle()
    made.core.finish()
    assert (sorted(made.acked()), made.failed()) == ([1, 2], [0])
    assert made.component.is_idle()


def test_without_ticks_there_is_a_warning_and_nobody_waits(storm: Any) -> None:
    made = start(batching(storm))
    three(made)
    assert made.component.is_idle()
    (warning,) = [text for level, text in made.lines if level == "WARNING"]
    assert warning.endswith("set topology.tick.tuple.freq.secs")


# --- TicklessBatchingBolt ------------------------------------------------------------------------


def tickless(storm: Any, **members: Any) -> type:
    """As `batching`, by time."""
    return batching(storm, "TicklessBatchingBolt", **members)


def test_batches_are_processed_when_it_is_time(storm: Any) -> None:
    made = start(tickless(storm, secs_between_batches=0.5), tick_secs=1)
    three(made)
    made.tick()
    made.tick()
    assert made.values() == []
    assert not made.component.is_idle()
    assert made.run_later() == 0.5
    assert sorted(made.values()) == [["a", 2], ["b", 1]]
    assert sorted(made.acked()) == [0, 1, 2]
    assert made.component.is_idle()
    assert len(made.later) == 1


def test_a_batch_that_raises_does_not_end_batching(storm: Any) -> None:
    made = start(tickless(storm, exit_on_exception=False))
    made.feed(["bad", 1], ["b", 1])
    made.run_later()
    assert made.failed() == [0]
    made.run_later()
    assert made.acked() == [1]
    three(made)
    assert made.run_later() == 2
    assert max(made.acked()) == 2


def test_a_tickless_batch_that_raises_may_end_the_process(storm: Any) -> None:
    made = start(tickless(storm, exit_on_exception=True))
    made.feed(["bad", 1])
    with pytest.raises(ComponentError, match="tested: exit_on_exception"):
        made.run_later()
    assert made.words_of(FrameKind.FAIL) == [ROOT]


def test_the_clock_stops_at_the_end(storm: Any) -> None:
    made = start(tickless(storm))
    made.component.close()
    made.run_later()
    assert made.later == []


def test_the_users_own_batcher_runs_in_its_thread(storm: Any) -> None:
    """Emits and acks come to the main thread; an exception does not end the thread."""
    turns = iter(["raise", "process", "wait"])

    class Own(tickless(storm, secs_between_batches=0.001)):  # type: ignore[misc]
        def initialize(self, conf: Any, ctx: Any) -> None:
            from threading import Event

            self.go, self.done, self.end = Event(), Event(), Event()

        def _batch_entry_run(self) -> None:
            self.go.wait()
            turn = next(turns)
            if turn == "raise":
                raise ValueError("in the thread")
            if turn == "process":
                with self._batch_lock:
                    self.process_batches()
            else:
                self.done.set()
                self.end.wait()

    made = start(Own)
    three(made)
    made.component.close()  # no further turn after the last one
    made.component._closed = False
    made.user.go.set()
    assert made.user.done.wait(10)
    made.component._closed = True
    made.user.end.set()
    made.run_soon()
    assert sorted(made.acked()) == [0, 1, 2]
    assert any("in the thread" in each for each in made.errors)
