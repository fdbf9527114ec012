"""Absurd numbers in the configuration: each is taken, or refused by one line that names its key."""

import math

import pytest

from heron_core import config as keys
from heron_core.config import spelling
from heron_core.errors import SHOWN_CHARACTERS_MAX, TopologyError
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_core.validation import check
from heron_engine.scheduler.packing import pack

ABSURD = (
    math.nan, math.inf, -math.inf, -1, 1e308, -1e308, 10**30, 10**5000, "nan", "inf", "1e999",
    "9" * 5000, True, [[1]],
)  # fmt: skip
LINE_MAX = 2 * SHOWN_CHARACTERS_MAX + 200
PACKING = ("topology.component.rammap", "topology.component.cpumap", "topology.component.diskmap")


def topology(key: str, value: object) -> TopologySpec:
    spout = ComponentSpec("words", True, "m.Words", 2, (StreamSpec("default", ("word",)),), (), {})
    return TopologySpec("t", (spout,), {key: value})


def refused(key: str, value: object) -> str:
    """The line by which it is refused; empty if it is taken."""
    try:
        made = topology(key, value)
        check(made)
        pack(made)
    except TopologyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("key", sorted(spelling.READ_HERE))
def test_an_absurd_number_is_taken_or_refused_in_one_line(key: str) -> None:
    for value in ABSURD:
        line = refused(key, value)
        assert "\n" not in line
        assert len(line) <= LINE_MAX
        assert not line or key in line or keys.STMGRS in line


@pytest.mark.parametrize("key", [
    each for each, value in keys.DEFAULTS.items() if type(value) in (int, float)
])  # fmt: skip
def test_a_number_that_is_none_is_refused_for_every_numeric_key(key: str) -> None:
    for value in (math.nan, math.inf, 1e308, 10**30):
        assert key in refused(key, value), f"{key}: {value!r:.50}"


@pytest.mark.parametrize("key", PACKING)
@pytest.mark.parametrize("amount", ["9" * 20, "nan", "inf", "-1", "1e308", "9" * 5000])
def test_an_absurd_size_of_a_component_is_refused(key: str, amount: str) -> None:
    line = refused(key, f"words:{amount}")
    assert key in line
    assert "\n" not in line
    assert len(line) <= LINE_MAX


@pytest.mark.parametrize("parallelism", [keys.DEFAULTS[keys.INSTANCES_MAX] + 1, 10**9, 10**30])
def test_a_limit_of_instances_is_named_before_any_list_is_made(parallelism: int) -> None:
    spout = ComponentSpec(
        "words", True, "m.Words", parallelism, (StreamSpec("default", ("word",)),)
    )
    with pytest.raises(TopologyError, match=r"exceed topology\.instances\.max"):
        check(TopologySpec("t", (spout,), {}))
