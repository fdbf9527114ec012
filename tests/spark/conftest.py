"""One Spark for all of these tests: its start takes longer than any of them."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from heron_spark.options import SparkOptions
from heron_spark.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of two cores."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with session("tests", SparkOptions(master="local[2]")) as made:
        yield made
