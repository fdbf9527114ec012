"""A topology as the bytes of a picture, in each of the formats."""

import pytest

from heron_core.topology import ComponentSpec, TopologySpec
from heron_graph.render import FORMATS, render

TOPOLOGY = TopologySpec("alone", (ComponentSpec("lines", True, "words.Lines", 1),))
BEGINNINGS = {"svg": b"<svg ", "png": b"\x89PNG", "dot": b"digraph "}


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_begins_as_its_readers_expect(form: str) -> None:
    """A topology of one spout has a picture too."""
    assert render(TOPOLOGY, form).startswith(BEGINNINGS[form])


def test_another_format_is_a_mistake_of_the_caller() -> None:
    """The command checks the word before."""
    with pytest.raises(ValueError, match="no format 'gif'"):
        render(TOPOLOGY, "gif")
