"""From a loaded topology and the command line's words to a checked one and its packing plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import click

from heron_cli.options.common import Function, stacked
from heron_cli.resolve_source import Source
from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.plans import PackingPlan
from heron_core.topology import Config, TopologySpec
from heron_core.validation import check

ORIGINAL_NAME = "topology.original_name"
"""What a topology is called by its file when it runs under another name (streamparse)."""
LOG_LEVEL = "pystorm.log.level"

OWN_KEYS = {
    keys.STORM_WORKERS: keys.STMGRS,
    keys.STORM_ACKERS: keys.RELIABILITY_MODE,
    keys.HERON_DROP_TUPLES: keys.BACKPRESSURE_MODE,
}
"""Key of Storm or of old Heron -> the key that says the same here."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says about the topology itself."""

    override_name: str | None = None
    options: tuple[str, ...] = ()
    ackers: int | None = None
    containers: int | None = None
    debug: str | None = None

    def config(self) -> dict[str, Any]:
        """As a config, the highest layer; UsageError naming the word that is wrong."""
        short = {
            keys.STORM_ACKERS: self.ackers,
            keys.STORM_WORKERS: self.containers,
            keys.STMGRS: self.containers,
            keys.DEBUG: self.debug,
        }
        given = {key: value for key, value in short.items() if value is not None}
        return {**parse_options(self.options), **given}


topology_options = stacked(
    click.option(
        "-N",
        "--override-name",
        metavar="NAME",
        help="Run it under this name instead of its own.",
    ),
    click.option(
        "-o",
        "--option",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a config key; the value is read as YAML. Repeatable.",
    ),
    click.option(
        "-a",
        "--ackers",
        type=click.IntRange(min=0),
        metavar="N",
        help="topology.acker.executors: 0 means at most once, more means at least once.",
    ),
    click.option(
        "-w",
        "--workers",
        "--containers",
        "containers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Spread the instances over N containers (Storm's workers).",
    ),
    click.option(
        "-d",
        "--debug",
        metavar="[true|false]",
        help="Set topology.debug: debug lines in the logs. Alone it means true.",
    ),
    click.option("--dry-run", is_flag=True, help="Print the packing plan and start nothing."),
    click.option(
        "--dry-run-format",
        type=click.Choice(["raw", "table", "json"]),
        default="table",
        show_default=True,
        help="How to print it.",
    ),
)


def wishes_options(function: Function) -> Function:
    """The options that say how the topology runs; the function gets them as `wishes`."""
    import functools

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        wishes = Wishes(**{name: given.pop(name) for name in Wishes.__dataclass_fields__})
        return function(wishes=wishes, **given)

    return topology_options(command)


def parse_options(options: Iterable[str]) -> dict[str, Any]:
    """`key=value` words as a config; UsageError naming the word that is none."""
    found: dict[str, Any] = {}
    for word in options:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"-o {word!r} is not KEY=VALUE, as in -o topology.max.spout.pending=500"
            )
        found[key.strip()] = _yaml(word, value)
    return found


def _yaml(word: str, value: str) -> Any:
    import yaml  # 15 ms, and only -o needs it

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise UsageError(
            f"-o {word!r}: the value is no YAML: {' '.join(str(error).split())}"
        ) from None


def layer(config: Config) -> dict[str, Any]:
    """One layer of config in our keys besides Storm's, where it says only Storm's.

    Without this, -w 3 would lose to a `topology.stmgrs: 1` of the topology, which lies below.
    """
    if config.get(keys.STORM_WORKERS) is not None:
        keys.whole_number(config, keys.STORM_WORKERS, 1)
    merged = keys.with_defaults(config)
    ours = {
        own: merged[own]
        for other, own in OWN_KEYS.items()
        if config.get(other) is not None and own not in config
    }
    return {**config, **ours}


def configured(topology: TopologySpec, source: Source, wishes: Wishes) -> TopologySpec:
    """The topology with its name and all layers of its config; TopologyError if that is wrong."""
    name = wishes.override_name or source.name or topology.name
    original = source.name or topology.name
    topology = replace(
        topology, name=name, config=layer(topology.config), defaults=layer(topology.defaults)
    )
    topology = topology.with_config(layer(wishes.config()), layer(source.environment.options))
    added: dict[str, Any] = {}
    if name != original:
        added[ORIGINAL_NAME] = original
    if keys.flag(keys.with_defaults(topology.config), keys.DEBUG):
        added[LOG_LEVEL] = "debug"
    topology = replace(topology, config={**topology.config, **added})
    check(topology)
    return topology


def changed(topology: TopologySpec, options: Mapping[str, Any]) -> TopologySpec:
    """The topology with the config that a hook made of its own, checked again."""
    before = topology.config
    kept = {key: value for key, value in before.items() if key in options}
    new = {
        key: value for key, value in options.items() if key not in before or before[key] != value
    }
    topology = replace(topology, config={**kept, **layer(new)})
    check(topology)
    return topology


def packed(topology: TopologySpec) -> PackingPlan:
    """Its packing plan, by the algorithm in its config."""
    from heronpy_compat.connectors.frames import check_without_spark
    from scheduler.packing import pack

    check_without_spark(topology)
    return pack(topology)


def dry_run_text(topology: TopologySpec, packing: PackingPlan, form: str) -> str:
    """The packing plan as `--dry-run` prints it."""
    from scheduler.packing import algorithm_name
    from scheduler.packing.render import render

    return render(packing, algorithm_name(topology.config), form)
