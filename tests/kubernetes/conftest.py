"""One control plane for all of these tests; where the machine has none they are skipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.report import pytest_terminal_summary
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.kubernetes_support import KubernetesPlace
from tests.kubernetes.needs import missing

__all__ = ["pytest_terminal_summary"]


LONGEST = "test_an_api_server_that_is_away_for_a_minute_stops_no_data"
"""A minute and a half, while other processes of pytest-xdist do the rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test begins first: one that begins last is waited for alone."""
    items.sort(key=lambda item: item.name != LONGEST)


@pytest.fixture
def place(plane: ControlPlane, tmp_path: Path) -> Iterator[KubernetesPlace]:
    """A namespace with two nodes."""
    place = KubernetesPlace(tmp_path, plane)
    try:
        place.add_node()
        place.add_node()
        yield place
    finally:
        place.close()


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real API server and its data."""
    if (why := missing()) is not None:
        pytest.skip(why)
    plane = ControlPlane(tmp_path_factory.mktemp("plane"))
    try:
        plane.start()
        plane.start_controllers()
        yield plane
    finally:
        plane.close()
