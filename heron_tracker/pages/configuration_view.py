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
from heron_tracker.pages.cells import Cell, Column, Row, Table
from heron_tracker.pages.links import component_page

VALUE_CHARACTERS_MAX = 300
CONFIG = (Column("owner", "Of"), Column("key", "Key"), Column("value", "Value"))
STREAMS = (
    Column("source", "From"),
    Column("stream", "Stream"),
    Column("fields", "Fields"),
    Column("grouping", "Grouping"),
    Column("target", "To"),
)
PLAN = (
    Column("container", "Container", is_number=True),
    Column("instances", "Instances"),
    Column("cpu", "CPU", is_number=True),
    Column("ram", "RAM", is_number=True),
)


@dataclass(frozen=True, slots=True)
class ConfigurationPage:
    """What it shows."""

    facts: tuple[tuple[str, str], ...]
    config: Table
    streams: Table
    plan: Table


def configuration_page(snapshot: TopologySnapshot) -> ConfigurationPage:
    """The page; secrets are hidden."""
    spec = snapshot.spec
    facts = (
        ("Submitted by", f"{snapshot.role} on {snapshot.host}"),
        ("Cluster", snapshot.cluster),
        ("Environment", snapshot.environ),
        ("Epoch", str(snapshot.physical.epoch if snapshot.physical is not None else 0)),
        ("Id", snapshot.id),
    )
    return ConfigurationPage(
        facts,
        Table(CONFIG, () if spec is None else _config(spec)),
        Table(STREAMS, () if spec is None else _streams(spec)),
        Table(PLAN, _plan(snapshot)),
    )


def _config(spec: TopologySpec) -> tuple[Row, ...]:
    owners: list[tuple[str, Mapping[str, Any]]] = [("topology", spec.config)]
    owners += [(component.name, component.config) for component in spec.components]
    return tuple(
        Row(
            f"{owner} {key}",
            {"owner": Cell(owner), "key": Cell(key), "value": Cell(_text(value))},
        )
        for owner, config in owners
        for key, value in sorted(shown_config(config).items())
    )


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return shortened(text, VALUE_CHARACTERS_MAX)


def _streams(spec: TopologySpec) -> tuple[Row, ...]:
    rows = []
    for component in spec.components:
        for entry in component.inputs:
            source = spec.by_name.get(entry.component)
            stream = source.stream(entry.stream) if source is not None else None
            cells = {
                "source": Cell(entry.component, href=component_page(spec.name, entry.component)),
                "stream": Cell(entry.stream),
                "fields": Cell(", ".join(stream.fields) if stream is not None else ""),
                "grouping": Cell(grouping_text(entry)),
                "target": Cell(component.name, href=component_page(spec.name, component.name)),
            }
            rows.append(Row(f"{entry.component} {entry.stream} {component.name}", cells))
    return tuple(rows)


def _plan(snapshot: TopologySnapshot) -> tuple[Row, ...]:
    return tuple(
        Row(
            str(container.id),
            {
                "container": Cell(container.id),
                "instances": Cell(
                    ", ".join(
                        f"{x.component}[{x.index}] (task {x.task})" for x in container.instances
                    )
                ),
                "cpu": Cell(container.resource.cpu, f"{container.resource.cpu:g}"),
                "ram": Cell(container.resource.ram_bytes, size(container.resource.ram_bytes)),
            },
        )
        for container in snapshot.packing.containers
    )
