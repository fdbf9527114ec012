"""The same life of a topology on the back ends that need no cluster of servers.

Spark's is in tests/spark, beside the standalone cluster that its tests share, YARN's in
tests/cluster.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.checks import Deployment, whole_life
from tests.conformance.exact_life import a_machine_of_a_container, everything, exact_life
from tests.conformance.scaling import scales_with_its_load
from tests.process.aurora_support import AuroraPlace
from tests.process.process_support import Place

WAIT_SECS = 90.0


def local(path: Path) -> Deployment:
    """Processes of this machine."""
    place = Place(path)
    return Deployment("local", place, (), (), place.store_url, WAIT_SECS, is_self_running=False)


def aurora(path: Path) -> Deployment:
    """Instances of a job of Aurora's stand-in."""
    cache = path / "runtime"
    cache.mkdir()
    place = AuroraPlace(path, cache)
    on = ("--cluster", "west")
    return Deployment(
        "aurora", place, on, on, place.store_url, WAIT_SECS, place.left, gets_new_code=True
    )


@pytest.fixture(params=[local, aurora], ids=lambda each: each.__name__)
def deployment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deployment]:
    """A back end; what is left of the topology there is killed at the end."""
    made: Deployment = request.param(tmp_path)
    yield made
    made.place.close()


@pytest.mark.timeout(600)
def test_a_topology_s_whole_life(
    deployment: Deployment, record_property: Callable[[str, object], None]
) -> None:
    whole_life(deployment, record_property)


@pytest.mark.timeout(600)
def test_a_life_with_state_is_exact(deployment: Deployment) -> None:
    """With a kill, a rescale, a savepoint and a reboot."""
    exact_life(deployment, everything if deployment.kind == "local" else a_machine_of_a_container)


@pytest.mark.timeout(600)
def test_a_bolt_is_scaled_with_its_load(deployment: Deployment) -> None:
    scales_with_its_load(deployment)
