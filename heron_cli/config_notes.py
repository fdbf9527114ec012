"""Notes on the keys of a topology's config, printed once before the start."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heron_core import config
from heron_core.config import spelling
from heron_core.config.effects import Idle, idle_keys
from heron_core.number_text import counted
from heron_core.storm_settings import instances_of
from heron_core.topology import ComponentSpec, Config, TopologySpec


def config_notes(
    loaded: TopologySpec, topology: TopologySpec, options: Mapping[str, Any], is_query: bool = False
) -> Iterator[str]:
    """One line for keys without effect here, one for unknown keys, one per reason for further
    ineffective keys. One line for each key of `options` (-o) readable only by components' code, or
    overriding components; one for each changed parallelism.

    `loaded`: the topology of the file; `topology`: the topology to be run.
    """
    layers = [topology.config, *(component.config for component in loaded.components)]
    given = list(dict.fromkeys(key for layer in layers for key in layer))
    if idle := [key for key in given if spelling.is_of_others(key)]:
        yield f"note: these keys of Storm or Heron have no effect: {', '.join(idle)}"
    if unknown := spelling.unknown_keys(given):
        yield f"note: unknown keys, which only components can read: {', '.join(unknown)}"
    yield from _idle_notes(topology, is_query)
    for key in options:
        if not _is_read(key) and not _is_said(key, loaded):
            yield (
                f"note: the engine does not know {key}: only your components can read the "
                f"key{_hint(key, given, options)}"
            )
    yield from _overruled_notes(loaded, topology)
    yield from _parallelism_notes(loaded, topology)


def _is_read(key: str) -> bool:
    """Whether more than a user's components may read the key."""
    return key.startswith(spelling.KNOWN_PREFIXES) or key in spelling.OF_CONNECTORS


def _is_said(key: str, loaded: TopologySpec) -> bool:
    """Whether the file sets the key as well: then the key is intended."""
    return any(key in each.config for each in loaded.components)


def _idle_notes(topology: TopologySpec, is_query: bool) -> Iterator[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in idle_keys(topology, is_query):
        if not spelling.is_of_others(each.key) and not _says_the_query(each, is_query):
            reasons.setdefault((each.owner, each.why), []).append(each.key)
    for (owner, why), keys in reasons.items():
        whose = f"{topology.by_name[owner].label}: " if owner else ""
        verb = "has" if len(keys) == 1 else "have"
        yield f"note: {whose}{', '.join(keys)} {verb} no effect {why}"


def _says_the_query(idle: Idle, is_query: bool) -> bool:
    """Whether heron_spark.compile.plan reports the key, also without a command."""
    return is_query and not idle.owner


def _overruled_notes(loaded: TopologySpec, topology: TopologySpec) -> Iterator[str]:
    """-o overrides the components' own values: one note per key, with the components' names."""
    for key in topology.overrides:
        owners = [each.name for each in loaded.components if _differs(each, topology, key)]
        if owners:
            yield f"note: {key} of the command line replaces that of {', '.join(owners)}"


def _differs(component: ComponentSpec, topology: TopologySpec, key: str) -> bool:
    return key in component.config and bool(component.config[key] != topology.config.get(key))


def _parallelism_notes(loaded: TopologySpec, topology: TopologySpec) -> Iterator[str]:
    for component in loaded.components:
        as_it_runs = topology.by_name[component.name]
        number, before = instances_of(topology.config, as_it_runs), component.parallelism
        if number != before:
            has = counted(number, "instance")
            key = _tasks_key(topology.config, as_it_runs, number)
            yield f"note: {component.label} has {has}, not {before}, by {key}"


def _tasks_key(own: Config, component: ComponentSpec, number: int) -> str:
    tasks = {**own, **component.config}.get(config.STORM_TASKS)
    return (
        config.STORM_TASKS if tasks is not None and int(tasks) == number else config.STORM_TASKS_MAX
    )


def _hint(key: str, given: Iterable[str], options: Mapping[str, Any]) -> str:
    own = [each for each in given if each not in options]
    close = spelling.resembled(key, own)
    return f"; did you mean {close}?" if close else ""
