"""Configuration and plan: what a topology was given, how it is wired, what runs where."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core.errors import shortened
from heron_core.number_text import size
from heron_core.topology import TopologySpec
from heron_graph.graph import grouping_text
from heron_tracker.model.config_view import shown_config
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cells import PageCell, PageColumn, PageRow, PageTable
from heron_tracker.pages.links import component_page

VALUE_CHARACTERS_MAX = 300
CONFIG = (PageColumn("owner", "Of"), PageColumn("key", "Key"), PageColumn("value", "Value"))
STREAMS = (
    PageColumn("source", "From"),
    PageColumn("stream", "Stream"),
    PageColumn("fields", "Fields"),
    PageColumn("grouping", "Grouping"),
    PageColumn("target", "To"),
)
PLAN = (
    PageColumn("container", "Container", is_number=True),
    PageColumn("instances", "Instances"),
    PageColumn("cpu", "CPU", is_number=True),
    PageColumn("ram", "RAM", is_number=True),
)


@dataclass(frozen=True, slots=True)
class ConfigurationPage:
    """What it shows."""

    summary: tuple[tuple[str, str], ...]
    config: PageTable
    streams: PageTable
    plan: PageTable


def configuration_page(snapshot: TopologySnapshot) -> ConfigurationPage:
    """The page; secrets are hidden."""
    spec = snapshot.spec
    summary = (
        ("Submitted by", f"{snapshot.role} on {snapshot.host}"),
        ("Cluster", snapshot.cluster),
        ("Environment", snapshot.environ),
        ("Epoch", str(snapshot.physical.epoch if snapshot.physical is not None else 0)),
        ("Id", snapshot.id),
    )
    return ConfigurationPage(
        summary,
        PageTable(CONFIG, () if spec is None else _config(spec)),
        PageTable(STREAMS, () if spec is None else _streams(spec)),
        PageTable(PLAN, _plan(snapshot)),
    )


def _config(spec: TopologySpec) -> tuple[PageRow, ...]:
    owners: list[tuple[str, Mapping[str, Any]]] = [("topology", spec.config)]
    owners += [(component.name, component.config) for component in spec.components]
    return tuple(
        PageRow(
            f"{owner} {key}",
            {"owner": PageCell(owner), "key": PageCell(key), "value": PageCell(_text(value))},
        )
        for owner, config in owners
        for key, value in sorted(shown_config(config).items())
    )


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return shortened(text, VALUE_CHARACTERS_MAX)


def _streams(spec: TopologySpec) -> tuple[PageRow, ...]:
    rows = []
    for component in spec.components:
        for entry in component.inputs:
            source = spec.by_name.get(entry.component)
            stream = source.stream(entry.stream) if source is not None else None
            cells = {
                "source": PageCell(
                    entry.component, href=component_page(spec.name, entry.component)
                ),
                "stream": PageCell(entry.stream),
                "fields": PageCell(", ".join(stream.fields) if stream is not None else ""),
                "grouping": PageCell(grouping_text(entry)),
                "target": PageCell(component.name, href=component_page(spec.name, component.name)),
            }
            rows.append(PageRow(f"{entry.component} {entry.stream} {component.name}", cells))
    return tuple(rows)


def _plan(snapshot: TopologySnapshot) -> tuple[PageRow, ...]:
    return tuple(
        PageRow(
            str(container.id),
            {
                "container": PageCell(container.id),
                "instances": PageCell(
                    ", ".join(
                        f"{x.component}[{x.index}] (task {x.task})" for x in container.instances
                    )
                ),
                "cpu": PageCell(container.resource.cpu, f"{container.resource.cpu:g}"),
                "ram": PageCell(container.resource.ram_bytes, size(container.resource.ram_bytes)),
            },
        )
        for container in snapshot.packing.containers
    )
