"""Storm's slot table, from the packing plans."""

from heron_cli.commands.workers import slots_text


def test_slots_of_two_topologies_on_two_hosts() -> None:
    """Containers, and instances in brackets; a topology that is not on a host has 0 (0) there."""
    used = {"words": {"a": {1: 2, 2: 3}}, "clicks": {"b": {1: 1}}}
    assert slots_text(used).splitlines() == [
        "Host  words  clicks",
        "a     2 (5)   0 (0)",
        "b     0 (0)   1 (1)",
    ]
