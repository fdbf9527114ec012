"""Which config wins: door's defaults < environment < topology < command line."""

import pytest

from heron_core.config import (
    ATLEAST_ONCE,
    ATMOST_ONCE,
    RELIABILITY_MODE,
    STORM_ACKERS,
    WHOLE_NUMBER_MAX,
    check,
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


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("topology.initial.state", "PUASED", "must be RUNNING or PAUSED, not 'PUASED'"),
        ("topology.initial.state", "paused", "must be RUNNING or PAUSED, not 'paused'"),
        ("topology.auto.task.hooks", 3, "must be a list of texts, not 3"),
        ("topology.auto.task.hooks", ["a.B", 3], r"must be a list of texts, not \['a.B', 3\]"),
        ("topology.serializer.classname", 7, "must be a text, not 7"),
        ("topology.checkpoint.store", 12, "must be a text, not 12"),
        ("topology.state.folder", True, "must be a text, not True"),
        ("topology.warm.containers", -3, "must be a whole number of at least 0, not -3"),
    ],
)
def test_a_value_that_means_nothing_is_refused_before_anything_starts(
    key: str, value: object, said: str
) -> None:
    """Spouts of a topology that was to be paused would emit."""
    with pytest.raises(TopologyError, match=f"{key} {said}"):
        check({key: value})
    check({"topology.initial.state": "PAUSED", "topology.state.folder": "/disk"})
