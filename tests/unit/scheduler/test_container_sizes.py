"""Where all containers keep one size, an update that needs larger ones is refused."""

import pytest

from heron_core.errors import UsageError
from heron_core.plans import GIB, ContainerPlan, PackingPlan, Resource
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.spark import render
from heron_engine.scheduler.backends.spark.masters import parse_master
from heron_engine.scheduler.container_sizes import CONTAINER_SIZE, check_fits


def plan(*sizes: Resource) -> PackingPlan:
    """Containers of these sizes."""
    return PackingPlan("t", tuple(ContainerPlan(n, (), each) for n, each in enumerate(sizes, 1)))


HAVE = Resource(2.0, 2 * GIB, 8 * GIB)
NODE = {CONTAINER_SIZE: to_json(HAVE)}


@pytest.mark.parametrize(
    ("need", "told"),
    [
        (Resource(2.5, GIB, GIB), "container 2 would need 2.5 cores, and its containers were"),
        (Resource(2.5, GIB, GIB), "with 2: use more containers, or submit it again with a larger "),
        (Resource(1.0, 3 * GIB, GIB), "3072 MiB of memory, and its containers were submitted with"),
        (Resource(1.0, GIB, 9 * GIB), "9216 MiB of disk"),
    ],
)
def test_a_container_that_would_be_larger_than_all_is_refused(need: Resource, told: str) -> None:
    with pytest.raises(UsageError, match="t is not updated") as caught:
        check_fits("t", NODE, plan(HAVE, need))
    assert told in str(caught.value)


def test_what_fits_or_is_not_limited_is_not_refused() -> None:
    check_fits("t", NODE, plan(HAVE, HAVE, Resource(0.1 + 0.2 + 1.7, GIB, GIB)))
    check_fits("t", {"kind": "local"}, plan(Resource(900.0, GIB, GIB)))
    check_fits("t", None, plan(HAVE))


def test_sparks_executors_are_as_large_as_the_largest_container_of_the_submit() -> None:
    submitted = plan(HAVE, Resource(1.5, 3 * GIB, GIB))
    for name, size in (
        ("yarn", {"cpu": 2.0, "ram_bytes": 3 * GIB}),
        ("spark://m:7077", {"cpu": 2.0}),  # its workers do not limit memory outside of the JVM
        ("local[8]", {}),
    ):
        master = parse_master(name, 8)
        chosen = render.settings(submitted, master, render.DriverOptions(name), None)
        assert render.container_size(master, chosen) == size
