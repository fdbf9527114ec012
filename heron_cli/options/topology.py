"""Options for a topology: name, config, and --dry-run."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.options.common import Function, stacked
from heron_core import config as keys
from heron_core.errors import SHOWN_CHARACTERS_MAX, UsageError, shown

JSON_FORM = "json"


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """Topology options of the command line."""

    override_name: str | None = None
    options: tuple[str, ...] = ()
    ackers: int | None = None
    containers: int | None = None
    debug: str | None = None
    log_format: str | None = None

    def config(self) -> dict[str, Any]:
        """The options as a config, the highest layer; UsageError naming an invalid word."""
        short = {
            keys.STORM_ACKERS: self.ackers,
            keys.STORM_WORKERS: self.containers,
            keys.STMGRS: self.containers,
            keys.DEBUG: self.debug,
            keys.LOG_FORMAT: self.log_format,
        }
        given = {key: value for key, value in short.items() if value is not None}
        return {**parse_options(self.options), **given}

    def origins(self) -> dict[str, str]:
        """Key -> the dedicated option that sets the key."""
        short = {
            keys.STORM_ACKERS: ("-a", self.ackers),
            keys.RELIABILITY_MODE: ("-a", self.ackers),
            keys.STORM_WORKERS: ("-w", self.containers),
            keys.STMGRS: ("-w", self.containers),
            keys.DEBUG: ("-d", self.debug),
            keys.LOG_FORMAT: ("--log-format", self.log_format),
            keys.CONSOLE_LOG_LEVEL: ("--log-level or -o", True),
            keys.INITIAL_STATE: ("--deactivated or -o", True),
        }
        given = {key: word for key, (word, value) in short.items() if value is not None}
        return {key: given.get(key, "-o") for key in self.config()} | {
            key: word for key, word in given.items() if word == "-a"
        }


@dataclass(frozen=True, slots=True)
class DryRun:
    """Display of a topology in place of a start."""

    is_asked: bool = False
    explains: bool = False
    """Whether to show the configuration with origins, in place of the packing plan."""
    form: str = "table"


_options = stacked(
    click.option(
        "-N",
        "--override-name",
        metavar="NAME",
        help="Rename the topology.",
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
    click.option(
        "--log-format",
        type=click.Choice([keys.TEXT, keys.JSON]),
        help="Format of log lines: text (default), or one JSON object per line.",
    ),
    click.option(
        "--dry-run", is_flag=True, help=("Print the packing plan without starting the topology.")
    ),
    click.option(
        "--explain",
        is_flag=True,
        help=(
            "Print the configuration with the origin of each value and where a value has no "
            "effect; do not start the topology."
        ),
    ),
    click.option("--json", "as_json", is_flag=True, help="With --dry-run or --explain: as JSON."),
    click.option(
        "--dry-run-format",
        type=click.Choice(["raw", "table", JSON_FORM]),
        default="table",
        show_default=True,
        help="Output format.",
    ),
)


def with_topology_options(function: Function) -> Function:
    """Topology options; passed to the function as `topology_options`, and display options as
    `dry_run`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        names = TopologyOptions.__dataclass_fields__
        options = TopologyOptions(**{name: given.pop(name) for name in names})
        shown = (given.pop(name) for name in ("dry_run", "explain", "dry_run_format", "as_json"))
        return function(topology_options=options, dry_run=_dry_run(*shown), **given)

    return _options(command)


def _dry_run(plan: bool, config: bool, form: str, as_json: bool) -> DryRun:
    if as_json and not (plan or config):
        raise UsageError("--json is the format of --dry-run or --explain: give one of them")
    return DryRun(plan or config, config, JSON_FORM if as_json else form)


def parse_options(options: Iterable[str]) -> dict[str, Any]:
    """`key=value` words as a config; UsageError naming an invalid word."""
    config: dict[str, Any] = {}
    for word in options:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"-o {shown(word)} is not KEY=VALUE, as in -o topology.max.spout.pending=500"
            )
        config[key.strip()] = _yaml(word, value)
    return config


def _yaml(word: str, value: str) -> Any:
    import yaml  # 15 ms, needed only for -o

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())[:SHOWN_CHARACTERS_MAX]
        raise UsageError(f"-o {shown(word)}: the value is not YAML: {problem}") from None
    except RecursionError:
        raise UsageError(f"-o {shown(word)}: the value is nested too deep") from None
    except ValueError as error:  # a number of thousands of digits
        raise UsageError(f"-o {shown(word)}: {str(error)[:SHOWN_CHARACTERS_MAX]}") from None
