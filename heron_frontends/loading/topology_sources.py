"""From whatever a user's program calls a topology to its value."""

import os
from collections.abc import Mapping
from typing import Any

from heron_api.submissions import capture_submissions
from heron_core.errors import UsageError
from heron_core.topology import TopologySpec
from heron_frontends.loading.load import load
from heron_frontends.loading.load_request import LoadRequest
from heron_frontends.loading.streamparse_topology import is_streamparse_topology, to_topology_spec


def topology_from(
    source: Any, name: str | None, environment: str | None, config: Mapping[str, Any]
) -> TopologySpec:
    """The topology that `source` is or makes; UsageError for what is none.

    `config` is what a file may look at while it is loaded; the caller lays it over the topology's.
    """
    if isinstance(source, TopologySpec):
        return source
    if isinstance(source, (str, os.PathLike)):
        request = LoadRequest(os.fspath(source), name, environment=environment, options=config)
        return load(request)
    if is_streamparse_topology(source):
        return to_topology_spec(source, name or source.__name__, environment)
    if isinstance(source, type) and hasattr(source, "to_spec"):
        topology = source.to_spec()
        if isinstance(topology, TopologySpec):
            return topology
    if hasattr(source, "build_and_submit"):
        return _submitted(source)
    raise UsageError(
        f"{source!r} is not a topology: give a Topology class, a TopologyBuilder, a TopologySpec, "
        "or"
        " the path of a Python or Flux file"
    )


def _submitted(builder: Any) -> TopologySpec:
    with capture_submissions() as found:
        builder.build_and_submit()
    if not found:
        raise UsageError(f"{builder!r} submitted no topology")
    return found[0]
