"""A schema registry in memory, and a consumer with the records that a test gives."""

from collections.abc import Iterator

import confluent_kafka
import pytest

from tests.connectors.fake_registry import FakeRegistry, served
from tests.unit.heron_connectors.registry_support import Client


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with served() as made:
        yield made


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client([])
    monkeypatch.setattr(confluent_kafka, "Consumer", lambda settings, logger: made)
    return made
