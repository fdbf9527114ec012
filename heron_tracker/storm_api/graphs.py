"""A topology's graph, and the links to its stacks, as Storm's UI tells them."""

import re
from typing import Any
from urllib.parse import quote, urlencode
from zlib import crc32

from heron_core.stats import ComponentStats
from heron_core.topology import ComponentSpec, InputSpec
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.profiling import worker_of
from heron_tracker.storm_api.views import container_secs, readers

Json = dict[str, Any]
STREAMS_A_ROW = 4
"""Of the table of streams, as Storm lays it out."""


def plain_stream(stream: str) -> str:
    """Storm's HTML id of a stream: letters, and a distinguishing number."""
    return f"{re.sub('[^A-Za-z]', '_', stream)}{crc32(stream.encode())}"


def stream_table(snapshot: TopologySnapshot) -> Json:
    """The streams; names starting with __ are initially hidden."""
    names = sorted({stream for spec in _specs(snapshot) for stream in _names(spec)})
    cells = [
        {
            ":stream": name,
            ":sani-stream": plain_stream(name),
            ":checked": not name.startswith("__"),
        }
        for name in names
    ]
    rows = [cells[at : at + STREAMS_A_ROW] for at in range(0, len(cells), STREAMS_A_ROW)]
    return {"visualizationTable": [{":row": row} for row in rows]}


def graph(snapshot: TopologySnapshot) -> Json:
    """component -> kind, metrics and inputs."""
    components = snapshot.components
    return {
        each.name: _node(snapshot, each, components[each.name])
        for each in _specs(snapshot)
        if each.name in components
    }


def _specs(snapshot: TopologySnapshot) -> tuple[ComponentSpec, ...]:
    return snapshot.spec.components if snapshot.spec is not None else ()


def _names(spec: ComponentSpec) -> list[str]:
    return [each.name for each in spec.outputs]


def _node(snapshot: TopologySnapshot, spec: ComponentSpec, stats: ComponentStats) -> Json:
    latency = stats.latency.complete if spec.is_spout else stats.latency.execute
    rows = [instance for instance in snapshot.instances if instance.component == spec.name]
    return {
        ":type": "spout" if spec.is_spout else "bolt",
        ":capacity": stats.capacity,
        ":latency": "NA" if latency.mean_ms is None else f"{latency.mean_ms:.3f}",
        ":transferred": sum(_transferred(snapshot, spec, stats.emitted_by_stream).values()),
        ":stats": [
            {
                ":host": snapshot.host_of(row.container),
                ":port": row.container,
                ":uptime_secs": int(container_secs(snapshot, row.container)),
                ":transferred": _transferred(snapshot, spec, row.emitted_by_stream),
            }
            for row in rows
        ],
        ":link": f"/api/v1/topology/{quote(snapshot.id, safe='')}/component/"
        f"{quote(spec.name, safe='')}",
        ":inputs": [_input(entry) for entry in spec.inputs],
    }


def _transferred(snapshot: TopologySnapshot, spec: ComponentSpec, emitted: Any) -> dict[str, int]:
    """Stream -> deliveries."""
    return {each: emitted.get(each, 0) * readers(snapshot, spec, each) for each in _names(spec)}


def _input(given: InputSpec) -> Json:
    return {
        ":component": given.component,
        ":stream": given.stream,
        ":sani-stream": plain_stream(given.stream),
        ":grouping": given.grouping.kind.value.replace("_", "-"),
    }


def stack_links(snapshot: TopologySnapshot, host_port: str, base_url: str) -> Json:
    """Where the stacks of a worker's instances are; the worker is HOST-CONTAINER or HOST:…, as the
    executors of a component tell it."""
    worker, rows = worker_of(snapshot, host_port)
    links = [stack_link(snapshot, each.instance, base_url) for each in rows]
    return {"id": worker.id, "status": "ok", "links": links}


def stack_link(snapshot: TopologySnapshot, instance: str, base_url: str) -> str:
    """Of an instance's Python stack."""
    query = urlencode({"topology": snapshot.name, "instance": instance})
    return f"{base_url.rstrip('/')}/topologies/jstack?{query}"
