"""From whatever a user calls a topology to its checked value, configured as a run would do it."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from heron_core import validation
from heron_core.dead_letters import routed
from heron_core.storm_settings import settled
from heron_core.topology import TopologySpec
from heron_frontends.loading.topology_sources import topology_from


def topology_of(
    source: Any, name: str | None, environment: str | None, config: Mapping[str, Any]
) -> TopologySpec:
    """The topology that `source` is or makes, with `config` laid over its own.

    UsageError for what is no topology, TopologyError for one that cannot run.
    """
    loaded = topology_from(source, name, environment, config).with_config(config)
    topology = routed(settled(loaded), os.path.abspath)
    validation.check(topology)
    validation.check_native(topology)
    return topology


@contextmanager
def own_search_path() -> Iterator[None]:
    """Whatever a topology's file and classes need on sys.path is gone again at the end."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before
