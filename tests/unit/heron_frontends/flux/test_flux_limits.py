"""A Flux file that asks for more than can be is refused in one line."""

from collections.abc import Callable

from tests.unit.heron_frontends.flux.flux_texts import WORDS


def test_a_milliard_instances_are_refused_before_any_of_them_is_planned(
    refused: Callable[..., str],
) -> None:
    line = refused(WORDS.replace("parallelism: 2", "parallelism: 1000000000", 1))
    assert "1000000002 instances exceed topology.instances.max" in line
