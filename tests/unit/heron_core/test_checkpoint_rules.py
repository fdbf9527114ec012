"""Which topologies cannot run effectively once, and what their authors are told."""

import pytest

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.validation import check_native

EXACT = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE}


def topology(edges: dict[str, tuple[str, ...]], **config: str) -> TopologySpec:
    """name -> what it reads; a spout reads nothing."""
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    components = tuple(
        ComponentSpec(
            name, not reads, "m.C", 1, (StreamSpec("default", ("a",)),),
            tuple(InputSpec(each, "default", shuffle) for each in reads),
        )
        for name, reads in edges.items()
    )  # fmt: skip
    return TopologySpec("t", components, {**EXACT, **config})


def test_bolts_in_a_circle_are_named() -> None:
    circle = {"spout": (), "a": ("spout", "c"), "b": ("a",), "c": ("b",), "sink": ("c",)}
    with pytest.raises(TopologyError, match="and a, b, c send to each other in a circle"):
        check_native(topology(circle))
    with pytest.raises(TopologyError, match="and b send to each other in a circle"):
        check_native(topology({"spout": (), "b": ("spout", "b")}))
    check_native(topology({"spout": (), "a": ("spout",), "b": ("spout", "a"), "c": ("a", "b")}))


def test_a_circle_is_allowed_in_other_modes() -> None:
    own = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
    check_native(topology({"spout": (), "b": ("spout", "b")}, **own))


def test_dropping_tuples_is_refused() -> None:
    drop = {keys.BACKPRESSURE_MODE: keys.DROP}
    with pytest.raises(TopologyError, match="loses tuples"):
        check_native(topology({"spout": (), "b": ("spout",)}, **drop))
