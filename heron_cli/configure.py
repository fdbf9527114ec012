"""From a loaded topology and command-line options to a checked topology and packing plan."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from heron_cli.config_notes import config_notes
from heron_cli.options.topology import TopologyOptions
from heron_cli.resolve_source import TopologySource
from heron_core import config as keys
from heron_core.dead_letter_target import FileTarget, target_of
from heron_core.dead_letters import routed
from heron_core.errors import TopologyError, UsageError
from heron_core.placement import machine_labels, unmet_labels
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.state.backup import check_containers
from heron_core.storm_settings import settled
from heron_core.topology import Config, TopologySpec
from heron_core.validation import check, check_native
from heronpy_compat.aliases import other_heronpy

LOG_LEVEL = "pystorm.log.level"

OWN_KEYS = {
    keys.STORM_WORKERS: keys.STMGRS,
    keys.STORM_ACKERS: keys.RELIABILITY_MODE,
    keys.HERON_DROP_TUPLES: keys.BACKPRESSURE_MODE,
}
"""Key of Storm or old Heron -> equivalent heronpy key."""


def config_layer(config: Config) -> dict[str, Any]:
    """One layer of config, with heronpy keys added for Storm keys set alone.

    Without the translation, -w 3 would lose to `topology.stmgrs: 1` of the topology, a lower
    layer.
    """
    if config.get(keys.STORM_WORKERS) is not None:
        keys.value_of(config, keys.STORM_WORKERS)
    merged = keys.with_defaults(config)
    ours = {
        own: merged[own]
        for other, own in OWN_KEYS.items()
        if config.get(other) is not None and own not in config
    }
    return {**config, **ours}


def configured(
    loaded: TopologySpec, source: TopologySource, options: TopologyOptions, is_query: bool = False
) -> TopologySpec:
    """The topology with its name and all layers of config; TopologyError if invalid.

    `is_query`: the topology will be a query of Spark.
    """
    original = source.name or loaded.name
    name = original if options.override_name is None else options.override_name
    topology = replace(
        loaded,
        name=name,
        config=config_layer(loaded.config),
        defaults=config_layer(loaded.defaults),
    )
    topology = topology.with_config(
        config_layer(options.config()), config_layer(source.environment.options)
    )
    added: dict[str, Any] = {}
    if name != original:
        added[keys.ORIGINAL_NAME] = original
    if keys.flag(keys.with_defaults(topology.config), keys.DEBUG):
        added[LOG_LEVEL] = "debug"
    topology = routed(replace(topology, config={**topology.config, **added}), os.path.abspath)
    check(topology)
    topology = settled(topology)
    keys.check_instances(
        topology.config, sum(component.parallelism for component in topology.components)
    )
    _check_letters(topology)
    _check_tracing(topology)
    for note in config_notes(loaded, topology, options.config(), is_query):
        click.echo(note, err=True)
    if other := other_heronpy():
        click.echo(
            f"note: {other} is another heronpy, which `python FILE` would use: pip uninstall "
            "heronpy, or start with `heronpy run FILE`",
            err=True,
        )
    return topology


def _check_letters(topology: TopologySpec) -> None:
    """UsageError for a dead-letter target that is not a folder."""
    target = target_of(topology.config, keys.DEAD_LETTER)
    if isinstance(target, FileTarget) and os.path.isfile(target.folder):
        raise UsageError(f"{keys.DEAD_LETTER}: {target.folder} is a file, not a folder")


def _check_tracing(topology: TopologySpec) -> None:
    """UsageError if tracing is enabled and the exporter is not installed."""
    if keys.trace_sample(keys.with_defaults(topology.config)):
        from heron_io.span_exporter import NotInstalled, check_installed

        try:
            check_installed()
        except NotInstalled as error:
            raise UsageError(str(error)) from None


def reconfigured(topology: TopologySpec, options: Mapping[str, Any]) -> TopologySpec:
    """The topology with the config returned by a hook, checked again."""
    before = topology.config
    unchanged = {key: value for key, value in before.items() if key in options}
    new = {
        key: value for key, value in options.items() if key not in before or before[key] != value
    }
    layer = config_layer(new)
    components = tuple(component.overruled(layer) for component in topology.components)
    overrides = tuple(dict.fromkeys((*topology.overrides, *layer)))
    topology = replace(
        topology, config={**unchanged, **layer}, components=components, overrides=overrides
    )
    topology = routed(topology, os.path.abspath)
    check(topology)
    return settled(topology)


def refuse_autoscaling(topology: TopologySpec, where: str) -> None:
    """TopologyError for autoscaling on a target (`where`) without support."""
    mode = keys.autoscale_mode(keys.with_defaults(topology.config))
    if mode != keys.OFF:
        raise TopologyError(
            f"{keys.AUTOSCALE_MODE} is {mode}, and {where} topologies are not scaled "
            "automatically: "
            "leave it off, and use `heronpy advise` and `heronpy update`"
        )


MACHINE_LABELS = "HERONPY_LABELS"
"""Environment variable: the labels of this machine, for topologies that run on it alone."""
WITH_NODE_LABELS = ("local", "kubernetes", "yarn", "aurora")
WITH_CONSTRAINTS = ("local", "kubernetes", "yarn")
"""Schedulers that select nodes by label. The instances of an Aurora job have equal constraints.
YARN's only label is `partition`; the workers of a standalone Spark have none."""
SCHEDULERS_OF_KEYS: Mapping[str, tuple[str, ...]] = {
    keys.STANDBY_CONTAINERS: ("yarn",),
    keys.NODE_LABELS: WITH_NODE_LABELS,
    keys.CONSTRAINTS: WITH_CONSTRAINTS,
}
"""Key of a topology's config -> schedulers that support the key."""
REQUIREMENTS = (keys.NODE_LABELS, keys.CONSTRAINTS)
"""Keys with requirements: on a different scheduler the topology would run in a wrong place."""


def check_scheduler(topology: TopologySpec, kind: str, *, refuses: bool = True) -> None:
    """Note the keys unsupported by the scheduler.

    TopologyError for an unmet requirement, unless `refuses` is false: a foreground run tries out
    a topology meant for a different scheduler.
    """
    config = keys.with_defaults(topology.config)
    if kind == "local" and (reason := _unmet_here(topology)):
        if refuses:
            raise TopologyError(reason)
        click.echo(reason, err=True)
    for key, schedulers in SCHEDULERS_OF_KEYS.items():
        if kind in schedulers or not keys.value_of(config, key):
            continue
        effect = f"{key} has no effect with the scheduler {kind}, only with"
        reason = f"{effect} {_in_words(schedulers)}"
        if refuses and key in REQUIREMENTS:
            raise TopologyError(f"{reason}: leave the key out (-o '{key}={{}}')")
        click.echo(reason, err=True)


def _in_words(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _unmet_here(topology: TopologySpec) -> str:
    """Labels that this machine lacks, in one line; empty if the topology may run here."""
    text = os.environ.get(MACHINE_LABELS, "")
    for component, labels in unmet_labels(topology, machine_labels(text)).items():
        label, value = labels[0]
        return (
            f"{component} needs a machine with the label {label}={value}, and this machine has "
            f"{text or 'none'}: set {MACHINE_LABELS}={label}={value} if it is one, or leave out "
            f"{' and '.join(key for key in REQUIREMENTS if keys.value_of(topology.config, key))}"
        )
    return ""


def packing_plan(topology: TopologySpec) -> PackingPlan:
    """The packing plan, by the algorithm in the config."""
    from heron_connectors.spark.frames import check_without_spark
    from heron_engine.scheduler.packing import pack

    check_native(topology)
    check_without_spark(topology)
    packing = pack(topology)
    check_containers(topology, packing)
    return packing
