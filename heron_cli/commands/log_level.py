"""`heronpy log_level`: log levels of a running topology, for a while."""

import re

import click

from heron_cli.options.find_topology import Target, target_options
from heron_cli.stats_text import log_level_lines
from heron_core.errors import UsageError
from heron_core.log_levels import DEFAULT, LEVELS, SECS, SECS_MAX
from heron_core.typed_json import to_json
from heron_engine.scheduler.operations import requester
from heron_io.master_client import MasterClient

_DURATION = re.compile(r"(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?")


class LevelDuration(click.ParamType[int]):
    """Seconds of a text such as 10m, 1h30m or 45."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """See click.ParamType."""
        match = _DURATION.fullmatch(str(value))
        numbers = [int(group or 0) for group in match.groups()] if match else [0]
        secs = sum(
            number * factor for number, factor in zip(numbers, (86400, 3600, 60, 1), strict=False)
        )
        if not 1 <= secs <= SECS_MAX:
            self.fail(f"{value!r} is not a time up to 7d, such as 10m, 1h30m or 45s", param, ctx)
        return secs


@click.command("log_level")
@target_options()
@click.argument("words", nargs=-1, metavar="[TARGET] [LEVEL]")
@click.option(
    "--for",
    "secs",
    type=LevelDuration(),
    default=f"{SECS // 60}m",
    show_default=True,
    metavar="DURATION",
    help="Time until the former level returns, at most 7d.",
)
def log_level_command(target: Target, words: tuple[str, ...], secs: int) -> None:
    """Change the log level of a running topology for a while, or show changed levels.

    TARGET is a component, `stream-manager`, `topology-master`, or the name of a logger in all
    processes; without TARGET the level is that of all loggers of every process. LEVEL is debug,
    info, warning, error, critical, off, or default for the level of the config. A changed level
    returns by itself, also in processes that start meanwhile; the change is an event. Without LEVEL
    the changed levels are shown.

    \b
    heronpy log_level wordcount count debug
    heronpy log_level wordcount kafka.conn warning --for 1h
    heronpy log_level wordcount stream-manager default
    heronpy log_level wordcount
    """
    with target.running(target.name()) as topology:
        if words:
            click.echo(_change(topology.client, words, secs))
        else:
            _show(topology.client)


def _change(client: MasterClient, words: tuple[str, ...], secs: int) -> str:
    """The change in words; UsageError for words that are not [TARGET] LEVEL."""
    if len(words) > 2:
        raise UsageError(f"give [TARGET] LEVEL after the name, not {' '.join(words)!r:.200}")
    level = words[-1].lower()
    if level not in (*LEVELS, DEFAULT):
        known = ", ".join((*LEVELS, DEFAULT))
        raise UsageError(f"{words[-1]!r:.200} is not a log level: {known}")
    arguments = {
        "target": words[0] if len(words) == 2 else "",
        "level": level,
        "secs": secs,
        "requester": to_json(requester()),
    }
    return str(client.ask("log_level", arguments)["changed"])


def _show(client: MasterClient) -> None:
    lines = log_level_lines(client.stats()) or ["all log levels are those of the config"]
    click.echo("\n".join(lines))
