"""A spout that never waits and three stages, each slower than its predecessor: all queues are full.

In addition the numbers take a short way to the last stage, which so aligns barriers of a quick and
of a slow path. Every component reports the arrival of a barrier.
"""

import time
from typing import Any

from benchmarks.reports import report
from heron_api.state.stateful_component import StatefulComponent, TwoPhaseStatefulComponent
from heronpy_compat import Bolt, Grouping, Spout, Topology


class Numbers(Spout, TwoPhaseStatefulComponent):
    """As many as are taken."""

    outputs = ["number"]

    def init_state(self, stateful_state: Any) -> None:
        """Restore the position."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """From the beginning."""
        self.config, self.number = config, 0

    def next_tuple(self) -> None:
        """Emit a number."""
        self.emit([self.number])
        self.number += 1

    def pre_save(self, checkpoint_id: Any) -> None:
        """A checkpoint begins."""
        self.state.put("number", self.number)
        report(self.config, "barrier", stage=0, checkpoint=int(checkpoint_id))

    def post_save(self, checkpoint_id: Any) -> None:
        """Note the complete checkpoint."""
        report(self.config, "completed", checkpoint=int(checkpoint_id))


class Stage(Bolt, StatefulComponent):
    """Takes its time for each tuple."""

    outputs = ["number"]
    stage = 1
    seconds = 0.001

    def init_state(self, stateful_state: Any) -> None:
        """The component has no state."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing has come."""
        self.config = config

    def process(self, tup: Any) -> None:
        """Forward a number."""
        time.sleep(self.seconds)
        self.emit(tup.values)

    def pre_save(self, checkpoint_id: Any) -> None:
        """Report the barrier: all inputs are aligned, and all earlier tuples processed."""
        report(self.config, "barrier", stage=self.stage, checkpoint=int(checkpoint_id))


class Second(Stage):
    """Slower."""

    stage, seconds = 2, 0.002


class Third(Stage):
    """The slowest."""

    stage, seconds = 3, 0.004


class Barriers(Topology):
    """spout -> first -> second -> third, and spout -> third"""

    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}

    numbers = Numbers.spec()
    first = Stage.spec(par=2, inputs=[numbers])
    second = Second.spec(par=2, inputs=[first])
    third = Third.spec(par=2, inputs={second: Grouping.SHUFFLE, numbers: Grouping.SHUFFLE})
