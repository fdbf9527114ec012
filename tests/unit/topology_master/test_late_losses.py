"""Deliveries counted as lost turn up after all: in time for on_finish of the bolt, or too late."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.wire.messages import QuiescenceReport
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.termination import Ended, Finish, Termination
from tests.unit.topology_master.test_master_core import FIRST, LAST, PACKED, SPOUT, TOPOLOGY

STEPS_MAX = 50
LEVELS = {FIRST: 1, LAST: 2}


class Cut:
    """The end of spout -> FIRST -> LAST behind a network that is cut for some deliveries."""

    def __init__(self, at: dict[int, list[int]], emitted: int = 0) -> None:
        """`at[task]`: when each delivery on its way to the task turns up, before on_finish of the
        first bolt (1), of the last one (2), at the end (3), or never (4)."""
        self._at = at
        self._emitted = emitted
        """What FIRST emits in on_finish."""
        on_their_way = sum(map(len, at.values()))
        self._sent = {SPOUT: on_their_way, FIRST: 0, LAST: 0}
        self._processed = {SPOUT: 0, FIRST: 0, LAST: 0}
        self._now = 0.0
        self._end = Termination(TOPOLOGY, PACKED, MasterOptions.of(TOPOLOGY.config), 0)

    @property
    def lost(self) -> int:
        """Deliveries missing at on_finish of the bolt, in truth."""
        return sum(step > LEVELS[task] for task, steps in self._at.items() for step in steps)

    def told(self) -> int:
        """Report of the loss at the end."""
        self._end.spout_finished(SPOUT, True)
        self._end.advance()
        self._turn_up(1)
        for _ in range(STEPS_MAX):
            step = self._answered()
            if isinstance(step, Ended):
                return step.lost
            if isinstance(step, Finish):
                self._finish(step)
        raise AssertionError("the end is not found")

    def _answered(self) -> object:
        self._now += 1.0
        number = self._end.next_round(self._now)
        assert number is not None
        for task in PACKED.instances:
            sent, processed = self._sent[task], self._processed[task]
            self._end.take(QuiescenceReport(task, number, sent, processed, True, 1), self._now)
        return self._end.advance()

    def _finish(self, step: Finish) -> None:
        (bolt,) = step.tasks
        if bolt == FIRST:
            self._sent[FIRST] += self._emitted
            self._processed[LAST] += self._emitted
        self._end.bolt_finished(bolt)
        self._turn_up(LEVELS[bolt] + 1)

    def _turn_up(self, at: int) -> None:
        for task, steps in self._at.items():
            self._processed[task] += steps.count(at)


LATER = st.lists(st.integers(1, 4), max_size=4)


@given(first=LATER, last=LATER, emitted=st.integers(0, 3))
def test_the_end_tells_what_on_finish_did_without(
    first: list[int], last: list[int], emitted: int
) -> None:
    cut = Cut({FIRST: first, LAST: last}, emitted)
    assert cut.told() == cut.lost


@pytest.mark.parametrize(
    ("at", "lost"),
    [
        pytest.param({FIRST: [1, 1]}, 0, id="all in time"),
        pytest.param({FIRST: [4, 4]}, 2, id="never"),
        pytest.param({FIRST: [2, 3]}, 2, id="both after on_finish"),
        pytest.param({LAST: [2]}, 0, id="the bolt has not finished yet"),
        pytest.param({LAST: [3]}, 1, id="after its on_finish, at the end"),
        pytest.param({FIRST: [2, 4], LAST: [2]}, 2, id="one of each kind"),
    ],
)
def test_a_loss_is_taken_back_only_in_time(at: dict[int, list[int]], lost: int) -> None:
    assert Cut(at).told() == lost
