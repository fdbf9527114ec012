"""The folder shared by a topology and Spark: looked up in the state store, or given by path."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from heron_connectors.spark.folder import FOLDER
from heron_core.errors import UsageError
from heron_core.state_tree import topology_path
from heron_core.topology import ComponentSpec, TopologySpec, topology_from_json
from heron_core.validation import choices
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.opening import open_store


@dataclass(frozen=True, slots=True)
class Shared:
    """A shared folder, with the topology's description of the content."""

    folder: str
    label: str
    fields: tuple[str, ...] = ()
    """For a spout: the required columns."""
    schema: str = ""
    """Of a sink whose input has declared types."""


def shared_with(options: Mapping[str, str], *, is_sink: bool) -> Shared:
    """The folder named by a data source's options; UsageError in one line if unknown."""
    path, name = options.get("path"), options.get("topology")
    if path:
        if not os.path.isabs(path.removeprefix("file:")):
            raise UsageError(f"path {path!r}: the folder that is shared has an absolute path")
        return Shared(path.removeprefix("file:"), f"folder {path}")
    if not name:
        raise UsageError(
            "name a topology: the option topology with the name of a running one, or path, the "
            f"folder in the component's {FOLDER}"
        )
    store = open_store(options.get("store") or Home.of_user().store_url)
    try:
        stored = store.get(topology_path(name))
    finally:
        store.close()
    if stored is None:
        raise UsageError(
            f"topology {name} is not running: first submit the topology, or give the option "
            f"path, the folder in the component's {FOLDER}, and a schema"
        )
    return shared_by(topology_from_json(stored), options.get("component"), is_sink=is_sink)


def shared_by(topology: TopologySpec, component: str | None, *, is_sink: bool) -> Shared:
    """The folder of a topology's only sink for Spark, or spout, or of that component."""
    kind = "bolt" if is_sink else "spout"
    shared = {
        component.name: component
        for component in topology.components
        if component.is_spout is not is_sink and FOLDER in component.config
    }
    if not shared:
        needed = "SparkSink" if is_sink else "SparkSpout"
        raise UsageError(
            f"topology {topology.name} has no {kind} with {FOLDER} in its config: add a {needed} "
            "of heron_connectors.spark.folder"
        )
    if component is None and len(shared) > 1:
        raise UsageError(
            f"topology {topology.name} has several: give the option component, one of "
            f"{', '.join(sorted(shared))}"
        )
    chosen = shared.get(component or next(iter(shared)))
    if chosen is None:
        hint = choices(f"{kind}s for Spark", str(component), shared)
        raise UsageError(f"topology {topology.name} has no {kind} {component!r} for Spark; {hint}")
    label = f"{kind} {chosen.name!r} of topology {topology.name}"
    fields = () if is_sink else tuple(field for out in chosen.outputs for field in out.fields)
    schema = schema_of(topology, chosen) if is_sink else ""
    return Shared(str(chosen.config[FOLDER]), label, fields, schema)


def schema_of(topology: TopologySpec, sink: ComponentSpec) -> str:
    """SQL types declared by the sink's inputs; empty without declared types."""
    for each in sink.inputs:
        stream = topology.by_name[each.component].stream(each.stream)
        if stream is not None and stream.types:
            pairs = zip(stream.fields, stream.types, strict=True)
            return ", ".join(f"`{name}` {kind}" for name, kind in pairs)
    return ""
