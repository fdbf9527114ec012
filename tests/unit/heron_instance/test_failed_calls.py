"""Calls that are about no single tuple, and raise: counts, and topology.bolt.on.exception."""

from typing import Any

import pytest

from heron_core.errors import ComponentError, TopologyStopped
from heronpy_compat import Bolt
from tests.unit.heron_instance.instance_support import SHUFFLE, make, reads


class Ticking(Bolt):
    def process(self, tup: Any) -> None:
        pass

    def process_tick(self, tup: Any) -> None:
        raise ValueError("a tick")

    def on_finish(self) -> None:
        raise ValueError("the end")


def test_without_letters_it_counts_as_raised_outside_of_a_tuple() -> None:
    """A tick that raised was logged, with exit code 0."""
    made = make(Ticking, reads(SHUFFLE))
    made.core.run_tick(made.now)
    made.core.finish()
    assert made.core.metrics.callback_errors == 2
    assert made.core.counts()[2], "it is idle"


@pytest.mark.parametrize(
    ("policy", "raised"), [("exit", ComponentError), ("stop", TopologyStopped)]
)
def test_it_follows_the_policy_of_exceptions(policy: str, raised: type[Exception]) -> None:
    made = make(Ticking, reads(SHUFFLE), config={"topology.bolt.on.exception": policy})
    with pytest.raises(raised, match=r"process_tick raised, and topology\.bolt\.on\.exception is"):
        made.core.run_tick(made.now)
    with pytest.raises(raised, match="on_finish raised"):
        made.core.finish()


class Losing(Bolt):
    def process(self, tup: Any) -> None:
        self.delegate.record_error("it is slow", "nothing is lost")

    def process_tick(self, tup: Any) -> None:
        self.delegate.record_loss("a file is gone", "its rows are lost")


def test_data_that_a_component_has_lost_makes_the_run_incomplete() -> None:
    """Rows of a removed file were an error in the statistics, and the exit code was 0."""
    made = make(Losing, reads(SHUFFLE))
    made.core.run_tick(made.now)
    metrics = made.core.metrics
    assert (metrics.errors, metrics.callback_errors) == (1, 1)
    assert metrics.last_error == "its rows are lost"
