"""A peer of another release, a bug in ours, or somebody with the key sends what nobody expects.

A few hundred random sequences for each door in every `make check`; `python -m tests.fuzz` runs for
as long as one likes. What was found stands in test_found.py.
"""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .targets import TARGETS

EXAMPLES = {"parsers": 300, "values": 300, "instance": 60, "manager": 100, "master": 100,
            "plans": 300}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_anything_may_come(name: str) -> None:
    # Whoever sends garbage must not stop the others' topology.
    target = TARGETS[name]

    @settings(
        max_examples=EXAMPLES[name],
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.randoms(use_true_random=False))
    def check(rng: Random) -> None:
        target.run(target.make(rng))

    check()
