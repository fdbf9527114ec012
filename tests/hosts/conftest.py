"""One laboratory for all of these tests; where the machine cannot have one they are skipped."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from tests.hosts.laboratory import Laboratory, laboratory
from tests.hosts.needs import missing


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def lab() -> Iterator[Laboratory]:
    """It is removed again, after SIGTERM too."""
    if (why := missing()) is not None:
        pytest.skip(why)
    before = signal.signal(signal.SIGTERM, _interrupt)
    with laboratory() as made:
        yield made
    signal.signal(signal.SIGTERM, before)
