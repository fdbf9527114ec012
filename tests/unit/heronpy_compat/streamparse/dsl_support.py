"""Components of streamparse that the tests put together, and how a refusal is read."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_core.errors import TopologyError
from heronpy_compat.streamparse import (
    Bolt,
    Spout,
    Stream,
    Topology,
)
from heronpy_compat.streamparse.dsl.topology import TopologyType


class Words(Spout):
    outputs = ["word", "length"]


class Split(Spout):
    outputs = [Stream(fields=["word"]), Stream(fields=["reason"], name="errors")]


class Direct(Spout):
    outputs = [Stream(fields=["order"], direct=True)]


class Count(Bolt):
    outputs = ["word", "count"]
    par = 3
    config = {"topology.tick.tuple.freq.secs": 5}


class Sink(Bolt):
    pass


def topology(**members: Any) -> Any:
    """A class Trial with these attributes."""
    return TopologyType("Trial", (Topology,), members)


def message(kind: type[Exception], make: Callable[[], object]) -> str:
    """The one line that `make` is refused with; it is of the original's type and of ours."""
    with pytest.raises(TopologyError) as caught:
        make()
    assert isinstance(caught.value, kind)
    assert "\n" not in str(caught.value)
    return str(caught.value)
