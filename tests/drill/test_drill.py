"""Each trouble is named where an operator reads, in time, and is gone in time after its cure."""

import os
from collections.abc import Iterator

import pytest

from tests.drill.drill import Drill
from tests.drill.drilled_topology import Observers
from tests.drill.trouble import Trouble
from tests.drill.troubles import TROUBLES
from tests.process.process_support import Place

pytestmark = pytest.mark.skipif(
    os.environ.get("HERONPY_DRILL") != "1", reason="it takes minutes: make test-drill"
)

AT_ONCE = 4
"""Topologies at a time: two cores name as many troubles in time."""


def batches() -> Iterator[tuple[Trouble, ...]]:
    """Troubles of about the same limit run together; the longest begin."""
    by_limit = sorted(TROUBLES, key=lambda each: -each.named_secs - (each.gone_secs or 0.0))
    for first in range(0, len(by_limit), AT_ONCE):
        yield tuple(by_limit[first : first + AT_ONCE])


@pytest.mark.parametrize(
    "troubles", list(batches()), ids=lambda troubles: "+".join(each.name for each in troubles)
)
def test_troubles_are_named_in_time(
    runs: Place, observers: Observers, troubles: tuple[Trouble, ...]
) -> None:
    Drill(runs, troubles, observers).run()
