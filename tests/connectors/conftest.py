"""What tests of several connectors begin with."""

from collections.abc import Iterator

import pytest

from tests.connectors.postgres_shop_support import Shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A table of Postgres with a publication and a slot."""
    made = Shop()
    yield made
    made.drop_slot()
    made.connection.close()
