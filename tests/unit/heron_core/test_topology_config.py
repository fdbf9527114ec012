"""Which config wins: door's defaults < environment < topology < command line."""

import pytest

from heron_core.config import (
    ATLEAST_ONCE,
    ATMOST_ONCE,
    RELIABILITY_MODE,
    STORM_ACKERS,
    WHOLE_NUMBER_MAX,
    whole_number,
)
from heron_core.errors import TopologyError
from heron_core.topology import Config, TopologySpec

AT_LEAST = {RELIABILITY_MODE: ATLEAST_ONCE}
AT_MOST = {RELIABILITY_MODE: ATMOST_ONCE}
NO_ACKERS = {STORM_ACKERS: 0}
NOTHING: Config = {}


def test_the_command_line_wins_over_the_topology_over_the_environment_over_the_door() -> None:
    names = ("a", "b", "c", "d")
    door, environment, own, line = (
        dict.fromkeys(names[index:], where)
        for index, where in enumerate(("door", "environment", "own", "line"))
    )
    topology = TopologySpec("T", (), own, defaults=door)
    settled = topology.with_config(line, environment)
    assert settled.config == {"a": "door", "b": "environment", "c": "own", "d": "line"}
    assert settled.defaults == {}


@pytest.mark.parametrize(
    ("door", "environment", "own", "line", "expected"),
    [
        (AT_LEAST, NOTHING, NOTHING, NOTHING, AT_LEAST),
        # No ackers, wherever it is said, means that the door's default is not meant.
        (AT_LEAST, NO_ACKERS, NOTHING, NOTHING, NO_ACKERS),
        (AT_LEAST, NOTHING, NO_ACKERS, NOTHING, NO_ACKERS),
        (AT_LEAST, NOTHING, NOTHING, NO_ACKERS, NO_ACKERS),
        # A mode beside or above it is meant as it says.
        (AT_LEAST, NOTHING, {**NO_ACKERS, **AT_LEAST}, NOTHING, {**NO_ACKERS, **AT_LEAST}),
        (AT_LEAST, NO_ACKERS, AT_LEAST, NOTHING, {**NO_ACKERS, **AT_LEAST}),
        (NOTHING, NOTHING, AT_MOST, {STORM_ACKERS: 2}, {STORM_ACKERS: 2}),
        # Storm's null is no number of ackers.
        (AT_LEAST, NOTHING, {STORM_ACKERS: None}, NOTHING, {STORM_ACKERS: None, **AT_LEAST}),
    ],
)
def test_storms_ackers_decide_over_a_mode_that_lies_below(
    door: Config, environment: Config, own: Config, line: Config, expected: Config
) -> None:
    topology = TopologySpec("T", (), own, defaults=door)
    assert topology.with_config(line, environment).config == expected


@pytest.mark.parametrize("absurd", [10**20, str(10**20), 1 << 63, 1e300])
def test_a_number_that_is_too_large_is_told_the_most(absurd: object) -> None:
    with pytest.raises(TopologyError, match=f"must be at most {WHOLE_NUMBER_MAX}, not"):
        whole_number({"topology.workers": absurd}, "topology.workers", 1)


@pytest.mark.parametrize(
    "absurd", ["1e300", "nan", float("nan"), float("inf"), True, 1.5, "", "x", None]
)
def test_what_is_no_whole_number_is_told_the_least(absurd: object) -> None:
    with pytest.raises(TopologyError, match=r"must be a whole number of at least 1"):
        whole_number({"topology.workers": absurd}, "topology.workers", 1)
