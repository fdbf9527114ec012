"""From the command line's words to a checked topology and its packing plan."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import click

from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_core.validation import check

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says about the topology itself."""

    file: str
    topology: str | None
    name: str | None
    options: tuple[str, ...]
    containers: int | None


def topology_options(command: Command) -> Command:
    """The arguments that `run` and `submit` share."""
    for decorate in reversed(
        [
            click.argument("file"),
            click.option(
                "--topology",
                metavar="NAME",
                help="Which topology of the file, when it has several.",
            ),
            click.option(
                "--name", "-n", metavar="NAME", help="Run it under this name instead of its own."
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
                "--containers",
                type=click.IntRange(min=1),
                metavar="N",
                help="Spread the instances over N containers.",
            ),
            click.option(
                "--dry-run", is_flag=True, help="Print the packing plan and start nothing."
            ),
            click.option(
                "--dry-run-format",
                type=click.Choice(["raw", "table", "json"]),
                default="table",
                show_default=True,
                help="How to print it.",
            ),
        ]
    ):
        command = decorate(command)
    return command


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


def configured(topology: TopologySpec, wishes: Wishes) -> TopologySpec:
    """The topology with the command line's config and name; TopologyError if that is wrong."""
    extra = parse_options(wishes.options)
    if wishes.containers is not None:
        extra[keys.STMGRS] = wishes.containers
    if wishes.name is not None:
        topology = replace(topology, name=wishes.name)
    topology = topology.with_config(extra)
    check(topology)
    return topology


def packed(topology: TopologySpec) -> PackingPlan:
    """Its packing plan, by the algorithm in its config."""
    from scheduler.packing import pack

    return pack(topology)


def dry_run_text(topology: TopologySpec, packing: PackingPlan, form: str) -> str:
    """The packing plan as `--dry-run` prints it."""
    from scheduler.packing import algorithm_name
    from scheduler.packing.render import render

    return render(packing, algorithm_name(topology.config), form)
