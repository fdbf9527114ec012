"""T1, T3: a replayed batch, for each kind of spout and each kind of state."""

import pytest

from heronpy_compat.testing import TopologyTester
from heronpy_compat.trident import MemoryMapState, StateFactory, Sum, TridentTopology
from heronpy_compat.trident.spouts import TridentSpout
from tests.unit.heronpy_compat.trident.trident_support import (
    AT_ONCE,
    SEEN,
    FailBatches,
    Opaque,
    Queue,
    Transactional,
    see,
)

NUMBERS = (1, 2, 3, 4, 5, 6)
EXACT = sum(NUMBERS)
NON_TRANSACTIONAL = MemoryMapState.non_transactional()
TRANSACTIONAL = MemoryMapState.transactional()
OPAQUE = MemoryMapState.opaque()
# The first attempt of batch 1 has 1, 2 and 3; the state has it, and then the batch fails.
SAME = Transactional(NUMBERS, shrinks=True)
"""The second attempt of batch 1 would have other tuples without the stored metadata."""
OTHER = Opaque(NUMBERS)
"""The second attempt of batch 1 has 1 and 2."""
LATER = Queue(*NUMBERS, replays=True)
"""The second attempt of batch 1 has 4, 5 and 6, and batch 2 the other numbers."""
LOST = Queue(*NUMBERS)
"""The second attempt of batch 1 has 4, 5 and 6, and batch 2 is empty."""


@pytest.mark.parametrize(
    ("spout", "state", "total"),
    [
        pytest.param(LATER, NON_TRANSACTIONAL, EXACT + 6, id="1-2-3-doubled"),
        pytest.param(LATER, TRANSACTIONAL, 6 + 6, id="4-5-6-skipped-and-1-2-3-doubled"),
        pytest.param(LOST, OPAQUE, 4 + 5 + 6, id="1-2-3-lost"),
        pytest.param(SAME, NON_TRANSACTIONAL, EXACT + 6, id="transactional-doubled"),
        pytest.param(SAME, TRANSACTIONAL, EXACT, id="transactional-exact"),
        pytest.param(SAME, OPAQUE, EXACT, id="transactional-opaque-exact"),
        pytest.param(OTHER, NON_TRANSACTIONAL, EXACT + 6, id="opaque-doubled"),
        pytest.param(OTHER, TRANSACTIONAL, EXACT + 3, id="opaque-3-doubled"),
        pytest.param(OTHER, OPAQUE, EXACT, id="opaque-exact"),
    ],
)
def test_a_batch_that_is_replayed_behind_its_update(
    spout: TridentSpout, state: StateFactory, total: int
) -> None:
    SEEN.clear()
    FailBatches.left["failing"] = 1
    topology = TridentTopology()
    values = topology.new_stream("numbers", spout)
    totals = values.persistent_aggregate(state, "value", Sum(), "total")
    totals.new_values_stream().each("total", FailBatches()).peek(see)
    with TopologyTester(topology.build("Totals", AT_ONCE)) as tester:
        tester.run_spouts()
        assert len(tester.failed("mastercoord-bg0")) == 1
    assert SEEN[-1] == [total]
