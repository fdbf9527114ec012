"""Names that a command or an address would take for something else."""

import pytest

from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_core.validation import problems


def named(topology: str, component: str) -> TopologySpec:
    """A topology of one spout."""
    outputs = (StreamSpec("default", ("word",)),)
    return TopologySpec(topology, (ComponentSpec(component, True, "m.S", 1, outputs=outputs),))


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("-rf", "begin with '-'"),
        ("con%00trol", "contain '%'"),
        ("words\u202esdrow", "contain '\\u202e'"),
        ("no\u200bbody", "contain '\\u200b'"),
        ("latin\udcff1", "contain '\\udcff'"),
    ],
)
def test_a_name_that_reads_as_something_else_is_refused(name: str, bad: str) -> None:
    (of_topology,) = problems(named(name, "words"))
    assert of_topology == f"topology name {name!r} must not {bad}; choose another with -N"
    (of_component,) = problems(named("words", name))
    assert of_component.endswith(f"its name must not {bad}")


def test_a_dash_within_a_name_is_none_of_these() -> None:
    assert problems(named("word-count", "my-words")) == []
