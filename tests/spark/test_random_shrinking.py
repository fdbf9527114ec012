"""Random topologies by the tester alone, and how one that goes wrong is made smaller.

HERON_SIM_SEEDS=1000:1200 chooses other seeds, as in the simulation.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from random_rounds import TESTER, Round
from random_shrinking import shrunk
from random_topologies import Node, described, expected, made_of, part_of, parts_of

SEEDS = 2


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"1:{SEEDS + 1}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_the_tester_gives_what_plain_python_gives(seed: int, tmp_path: Path) -> None:
    assert list(Round(seed, tmp_path, None, [TESTER]).complaints()) == [""]


def test_every_kind_of_bolt_occurs_and_makes_something() -> None:
    """In few seeds: else the rounds would prove less than they say."""
    made = {
        node.kind
        for seed in range(1, 3)
        for part in parts_of(seed)
        for got in [expected(part)]
        for node in part
        if node.reads and made_of(node, got[node.name])
    }
    assert made == {"state", "timer", "tumbling", "sliding", "session"}


def test_what_goes_wrong_is_made_smaller() -> None:
    """Say that sessions over something else than a spout are wrong."""

    def is_wrong(part: Sequence[Node]) -> bool:
        spouts = {each.name for each in part if not each.reads}
        return any(
            each.kind == "session" and not {read.source for read in each.reads} <= spouts
            for each in part
        )

    wrong = [part for seed in range(15) for part in parts_of(seed) if is_wrong(part)]
    assert len(wrong) > 2
    for part in wrong:
        smallest = shrunk(part, is_wrong, tries=400)
        kinds = [each.kind for each in smallest if each.reads]
        assert sorted(kinds) == ["mix", "session"]
        assert len(smallest) == 3
        assert all(each.par == 1 and len(each.reads) <= 1 for each in smallest)
        assert part_of(described(smallest)) == smallest
