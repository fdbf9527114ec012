"""A Grafana dashboard of what /metrics serves: `heronpy ui --grafana > heronpy.json`, to import.

Pure: a table of panels, and the JSON that Grafana 10 and later import.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
SCHEMA_VERSION = 39
"""Grafana 10.3's; later ones convert it."""
GRID_WIDTH, PANEL_WIDTH, PANEL_HEIGHT = 24, 12, 8
SOURCE = {"type": "prometheus", "uid": "${source}"}
OF_TOPOLOGY = 'topology=~"$topology"'
OF_COMPONENT = f'{OF_TOPOLOGY},component=~"$component"'
RATE = "$__rate_interval"


@dataclass(frozen=True, slots=True)
class Panel:
    """One graph."""

    title: str
    unit: str
    """Of Grafana."""
    queries: Sequence[tuple[str, str]]
    """PromQL, and what its series are called."""
    kind: str = "timeseries"
    description: str = ""


def _rate(metric: str, selector: str = OF_COMPONENT, by: str = "topology,component") -> str:
    return f"sum by ({by}) (rate({metric}_total{{{selector}}}[{RATE}]))"


def _highest(metric: str) -> str:
    return f"max by (topology,component) ({metric}{{{OF_COMPONENT}}})"


def _quantile(kind: str) -> str:
    return f'heron_component_latency_seconds{{{OF_COMPONENT},kind="{kind}",quantile="0.99"}}'


DURATIONS = "heron_component_duration_seconds_bucket"
PAUSED = "heron_instance_paused_seconds_total"
NAME = "{{topology}} {{component}}"
PANELS: tuple[Panel, ...] = (
    Panel(
        "State", "none",
        (
            (f"heron_topology_state{{{OF_TOPOLOGY}}}", "{{topology}}: {{state}}"),
            (f"heron_topology_master_up{{{OF_TOPOLOGY}}}", "{{topology}}: master answers"),
        ),
        "stat",
    ),
    Panel(
        "Problems", "none",
        (
            (
                f"heron_topology_problems{{{OF_TOPOLOGY}}} > 0",
                f"{NAME}: {{{{kind}}}}, {{{{cause}}}}",
            ),
        ),
        "stat", "What holds a topology back; only the service of `heronpy ui` tells it.",
    ),
    Panel(
        "Executed tuples", "ops", ((_rate("heron_component_executed_tuples"), NAME),)
    ),
    Panel("Emitted tuples", "ops", ((_rate("heron_component_emitted_tuples"), NAME),)),
    Panel(
        "Emitted tuples by stream", "ops",
        (
            (
                _rate("heron_stream_emitted_tuples", by="topology,component,stream"),
                f"{NAME} → {{{{stream}}}}",
            ),
        ),
    ),
    Panel(
        "Busiest instance", "percentunit",
        ((_highest("heron_instance_busy_ratio"), NAME),),
        description="Above 90 % the component holds the others back.",
    ),
    Panel(
        "Execute latency, 99 %", "s", ((_quantile("execute"), NAME),),
        description="One call of the component.",
    ),
    Panel(
        "Complete latency, 99 %", "s", ((_quantile("complete"), NAME),),
        description="From a spout's emit until all that came of the tuple is acked.",
    ),
    Panel(
        "Distribution of execute latency", "s",
        (
            (
                f'sum by (le) (rate({DURATIONS}{{{OF_COMPONENT},kind="execute"}}[{RATE}]))',
                "{{le}}",
            ),
        ),
        "heatmap",
    ),
    Panel(
        "Failed tuples and errors", "ops",
        (
            (_rate("heron_component_failed_tuples"), f"{NAME} failed"),
            (_rate("heron_component_expired_tuples"), f"{NAME} expired"),
            (_rate("heron_component_errors"), f"{NAME} errors"),
        ),
    ),
    Panel(
        "Longest queue", "s", ((_highest("heron_instance_queue_seconds"), NAME),),
        description="How long the slowest instance needs for what waits for it.",
    ),
    Panel(
        "Held back by back-pressure", "percentunit",
        ((f"max by (topology,component) (rate({PAUSED}{{{OF_COMPONENT}}}[{RATE}]))", NAME),),
    ),
    Panel(
        "CPU", "none",
        ((f"sum by (topology,component) (heron_instance_cpu_cores{{{OF_COMPONENT}}})", NAME),),
        description="Cores.",
    ),
    Panel(
        "Memory", "bytes",
        ((f"sum by (topology,component) (heron_instance_memory_bytes{{{OF_COMPONENT}}})", NAME),),
    ),
    Panel(
        "Network", "Bps",
        (
            (_rate("heron_instance_received_bytes"), f"{NAME} received"),
            (_rate("heron_instance_sent_bytes"), f"{NAME} sent"),
        ),
        description="Between instances and their stream managers.",
    ),
    Panel(
        "Processes and containers", "none",
        (
            (f"sum by (topology,component) (heron_instance_restarts{{{OF_COMPONENT}}})",
             f"{NAME} restarts"),
            (f"count by (topology) (heron_instance_up{{{OF_TOPOLOGY}}} == 0)",
             "{{topology}} instances down"),
            (f"heron_topology_containers{{{OF_TOPOLOGY}}}", "{{topology}} containers {{which}}"),
        ),
    ),
    Panel(
        "Deliveries in flight, and lost", "none",
        (
            (f"heron_topology_in_flight_tuples{{{OF_TOPOLOGY}}}", "{{topology}} in flight"),
            (f"heron_topology_lost_tuples{{{OF_TOPOLOGY}}}", "{{topology}} lost"),
        ),
    ),
    Panel(
        "Checkpoints", "s",
        ((f"heron_checkpoint_age_seconds{{{OF_TOPOLOGY}}}", "{{topology}} age"),),
    ),
    Panel(
        "Size of checkpoints", "bytes",
        ((f"heron_checkpoint_size_bytes{{{OF_TOPOLOGY}}}", "{{topology}}"),),
    ),
)  # fmt: skip


def dashboard() -> Json:
    """All of it."""
    return {
        "title": "heronpy topologies",
        "uid": "heronpy-topologies",
        "tags": ["heronpy"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Prometheus", "type": "datasource",
                 "query": "prometheus"},
                _variable("topology", "label_values(heron_topology_state, topology)"),
                _variable(
                    "component",
                    "label_values(heron_component_executed_tuples_total"
                    f"{{{OF_TOPOLOGY}}}, component)",
                ),
            ]
        },
        "panels": [_panel(number, each) for number, each in enumerate(PANELS)],
    }  # fmt: skip


def _variable(name: str, query: str) -> Json:
    """What one chooses from above the panels: all at first."""
    return {
        "name": name, "type": "query", "datasource": SOURCE, "refresh": 2, "multi": True,
        "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"},
        "definition": query, "query": {"query": query, "refId": name},
    }  # fmt: skip


def _panel(number: int, panel: Panel) -> Json:
    row, column = divmod(number, GRID_WIDTH // PANEL_WIDTH)
    is_heatmap = panel.kind == "heatmap"
    return {
        "id": number + 1,
        "title": panel.title,
        "description": panel.description,
        "type": panel.kind,
        "datasource": SOURCE,
        "gridPos": {
            "x": column * PANEL_WIDTH, "y": row * PANEL_HEIGHT, "w": PANEL_WIDTH,
            "h": PANEL_HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": SOURCE, "expr": query,
             "legendFormat": legend, "format": "heatmap" if is_heatmap else "time_series"}
            for at, (query, legend) in enumerate(panel.queries)
        ],
    }  # fmt: skip
