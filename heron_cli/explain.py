"""Output of `--explain`: each value of a topology's configuration, and its origin."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import click

from heron_cli.configure import config_layer
from heron_cli.options.topology import JSON_FORM, TopologyOptions
from heron_cli.project import CONFIG_FILE
from heron_cli.resolve_source import TopologySource
from heron_core import config as keys
from heron_core.config.effects import TOPOLOGY_KEYS, idle_keys
from heron_core.errors import shortened
from heron_core.topology import ComponentSpec, TopologySpec

DEFAULT = "default"
DERIVED = "other keys"
"""Origin of a value derived from other keys: packing maps from Storm's resources."""
VALUE_CHARACTERS_MAX = 60
"""Longest value in a table; JSON has the full value."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and its origin."""

    key: str
    value: Any
    origin: str
    no_effect: str = ""
    """Reason why the value has no effect, or empty."""


@dataclass(frozen=True, slots=True)
class Settling:
    """The topology as loaded and as configured, with the origins of changes."""

    loaded: TopologySpec
    topology: TopologySpec
    source: TopologySource
    options: TopologyOptions
    is_query: bool

    def of_topology(self) -> list[Setting]:
        """Its whole config, by key; the defaults come last."""
        layers = self._layers()
        merged, idle = keys.with_defaults(self.topology.config), self._idle()
        return [
            Setting(key, merged[key], _origin(key, layers), idle.get(("", key), ""))
            for key in sorted(merged, key=lambda key: (_origin(key, layers) == DEFAULT, key))
        ]

    def of_component(self, component: ComponentSpec) -> list[Setting]:
        """Component config that differs from the topology's, by key."""
        return [
            Setting(
                key,
                component.config[key],
                self._origin_in(component, key),
                self._idle().get((component.name, key), ""),
            )
            for key in sorted(component.config)
        ]

    def _layers(self) -> list[Mapping[str, str]]:
        """Key -> origin for each layer, the highest first."""
        environment = self.source.environment
        named = f" ({environment.name})" if environment.name else ""
        project = dict.fromkeys(config_layer(environment.options), f"{CONFIG_FILE}{named}")
        own, api = config_layer(self.loaded.config), config_layer(self.loaded.defaults)
        return [
            self.options.origins(),
            dict.fromkeys(own, self._file),
            {**project, **environment.origins},
            dict.fromkeys(api, "default of the API"),
            {keys.TOPOLOGY_NAME: "its name", keys.ORIGINAL_NAME: "-N"},
            {key: DEFAULT for key in keys.DEFAULTS if key not in self.topology.config},
        ]

    @property
    def _file(self) -> str:
        return os.path.basename(self.loaded.main_file or self.source.request.file)

    def _origin_in(self, component: ComponentSpec, key: str) -> str:
        own = self.loaded.by_name[component.name].config
        if key not in TOPOLOGY_KEYS and key in self.topology.overrides:
            return f"{self.options.origins().get(key, '-o')}, over {_text(_shown(key, own[key]))}"
        return self._file

    def _idle(self) -> dict[tuple[str, str], str]:
        without_effect = idle_keys(self.topology, self.is_query)
        return {(each.owner, each.key): each.why for each in without_effect}


def show_config(settling: Settling, form: str) -> None:
    """Print tables, or JSON."""
    whole = settling.of_topology()
    parts = {
        component.name: settling.of_component(component)
        for component in settling.topology.components
    }
    if form == JSON_FORM:
        components = {name: _as_json(settings) for name, settings in parts.items()}
        data = {"name": settling.topology.name, "topology": _as_json(whole)}
        click.echo(json.dumps({**data, "components": components}, indent=2, default=str))
        return
    click.echo(f"topology {settling.topology.name}")
    click.echo("\n".join(_table(whole)))
    for component in settling.topology.components:
        own = parts[component.name]
        click.echo(f"\n{component.label}, instances: {component.parallelism}")
        rest = "  all as the topology says"
        click.echo("\n".join(_table(own)) if own else rest)


def _as_json(settings: list[Setting]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for each in settings:
        data = asdict(each)
        data["value"] = _shown(each.key, each.value)
        data["from"] = data.pop("origin")
        key = data.pop("key")
        shown[key] = {name: value for name, value in data.items() if name != "no_effect" or value}
    return shown


def _table(settings: list[Setting]) -> Iterator[str]:
    rows = [("KEY", "VALUE", "FROM")]
    for each in settings:
        idle = f"; has no effect {each.no_effect}" if each.no_effect else ""
        rows.append((each.key, _text(_shown(each.key, each.value)), f"{each.origin}{idle}"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for key, value, origin in rows:
        yield f"  {key.ljust(widths[0])}  {value.ljust(widths[1])}  {origin}"


def _origin(key: str, layers: list[Mapping[str, str]]) -> str:
    return next((layer[key] for layer in layers if key in layer), DERIVED)


def _shown(key: str, value: Any) -> Any:
    """Without secrets and pickles."""
    from heron_tracker.model.config_view import shown_config  # rarely used import

    return shown_config({key: value})[key]


def _text(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = str(value)
    return shortened(text, VALUE_CHARACTERS_MAX)
