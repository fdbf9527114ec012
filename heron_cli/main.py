"""The command group: each subcommand is a module, imported when called."""

from importlib import import_module
from typing import Any

import click

from heron_cli.options.common import with_dashes

COMMANDS = {
    "quickstart": ("heron_cli.commands.quickstart", "Create a project that runs at once."),
    "run": ("heron_cli.commands.run", "Run a topology here, in the foreground, with a live view."),
    "submit": (
        "heron_cli.commands.submit",
        "Start a topology in the background; the topology survives the shell.",
    ),
    "list": ("heron_cli.commands.list_topologies", "List the running topologies."),
    "stats": ("heron_cli.commands.stats", "Show the metrics of a topology."),
    "events": (
        "heron_cli.commands.events",
        "Show the events of a topology: crashes, pauses, and who asked for what.",
    ),
    "tail": ("heron_cli.commands.tail", "Show the logs of a topology's processes."),
    "sample": (
        "heron_cli.commands.sample",
        "Print the next tuples that a component sends on a stream.",
    ),
    "run_on_all": (
        "heron_cli.commands.run_on_all",
        "Run a shell command beside each container of a topology.",
    ),
    "log_level": (
        "heron_cli.commands.log_level",
        "Change the log level of a running topology for a while.",
    ),
    "query": (
        "heron_cli.commands.query",
        "Print the state of a component of a running topology.",
    ),
    "state": (
        "heron_cli.commands.state",
        "Read the states of a savepoint or a checkpoint as tables, or write a savepoint of tables.",
    ),
    "dead_letters": (
        "heron_cli.commands.dead_letters",
        "List or replay the tuples that a topology abandoned.",
    ),
    "ui": ("heron_cli.commands.ui", "Serve the numbers of all topologies over HTTP."),
    "drpc": (
        "heron_cli.commands.drpc",
        "Serve DRPC requests for topologies, over HTTP and Thrift.",
    ),
    "nimbus": (
        "heron_cli.commands.nimbus",
        "Take topologies from clients of Storm's Nimbus, such as the original sparse.",
    ),
    "activate": (
        "heron_cli.commands.control",
        "Activate a deactivated topology: its spouts emit again.",
    ),
    "deactivate": (
        "heron_cli.commands.control",
        "Deactivate a topology: its spouts stop emitting.",
    ),
    "checkpoint": (
        "heron_cli.commands.control",
        "Take a checkpoint of a running topology now.",
    ),
    "restore": (
        "heron_cli.commands.restore",
        "Restore a topology from an older checkpoint.",
    ),
    "kill": (
        "heron_cli.commands.control",
        "Stop a topology after its tuples in flight are processed.",
    ),
    "update": (
        "heron_cli.commands.update",
        "Change the number of instances or containers of a running topology.",
    ),
    "advise": (
        "heron_cli.commands.advise",
        "Print the number of instances that each bolt of a running topology needs.",
    ),
    "autoscale": (
        "heron_cli.commands.autoscale",
        "Scale a topology on Kubernetes, YARN or Aurora with its load.",
    ),
    "restart": ("heron_cli.commands.restart", "Restart one container of a topology, or all."),
    "visualize": ("heron_cli.commands.visualize", "Draw a topology as SVG, PNG or DOT."),
    "types": ("heron_cli.commands.types", "Write the row classes of a topology for editors."),
    "package": ("heron_cli.commands.package", "Pack a project and its packages into one archive."),
    "worker_uptime": ("heron_cli.commands.workers", "Show the uptime of the containers."),
    "slot_usage": (
        "heron_cli.commands.workers",
        "Show how many containers each topology has on each host.",
    ),
    "doctor": (
        "heron_cli.commands.doctor",
        "Check this installation, this machine and its servers.",
    ),
    "clusters": ("heron_cli.commands.clusters", "List the clusters, and check their requirements."),
    "keys": ("heron_cli.commands.keys", "List the configuration keys, their defaults and meaning."),
    "service": (
        "heron_cli.commands.service",
        "Print a systemd unit that runs a topology and resumes it.",
    ),
    "server": (
        "heron_cli.commands.server",
        "Run a server of a few machines without a cluster, or print its unit.",
    ),
    "bench": (
        "heron_cli.commands.bench",
        "Benchmark this machine: throughput, or recovery from kill -9.",
    ),
    "sql": ("heron_cli.commands.sql", "Run the queries of a file of SQL over streams of rows."),
    "chaos": (
        "heron_cli.commands.chaos",
        "Kill, stop and slow down processes of a topology, and see it recover.",
    ),
    "record": (
        "heron_cli.commands.record",
        "Have a running topology write its newest input and state, for `heronpy replay`.",
    ),
    "replay": (
        "heron_cli.commands.replay",
        "Run a recorded failure of an instance again, with the same or with corrected code.",
    ),
    "remove_logs": (
        "heron_cli.commands.remove_logs",
        "Remove the logs of an ended topology.",
    ),
    "update_virtualenv": (
        "heron_cli.commands.update_virtualenv",
        "A command of sparse: print how to install packages.",
    ),
    "jar": ("heron_cli.commands.package", "A command of sparse: an alias of `package`."),
    "completion": (
        "heron_cli.commands.completion",
        "Print the completion script for a shell.",
    ),
    "help": ("heron_cli.commands.help", "Show the help of a command."),
}
"""name -> (module, first line of the help)"""

CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "token_normalize_func": with_dashes,
}


class LazyGroup(click.Group):
    """Imports a subcommand's module only when it is called: `heronpy list` needs no zmq server."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a topology's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported on demand; - and _ are equivalent in names."""
        name = cmd_name.replace("-", "_")
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[name][0]), f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a subcommand; the error for an unknown name lists suggestions."""
        word = args[0] if args else ""
        if word and self.get_command(ctx, word) is None and not word.startswith("-"):
            from difflib import get_close_matches  # only needed when something is wrong already

            near = get_close_matches(word.replace("-", "_"), COMMANDS, n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"unknown command {word!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of subcommands, without imports."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Subcommands for shell completion, without imports."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete.replace("-", "_"))
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


def _print_version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if not is_asked or context.resilient_parsing:
        return
    from heron_core.native import HOT_PATH
    from heron_core.version import VERSION

    click.echo(f"heronpy {VERSION} (hot path: {HOT_PATH})")
    context.exit()


@click.command(cls=LazyGroup, context_settings=CONTEXT)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, and whether the hot path is compiled.",
)
def heronpy() -> None:
    """Storm and Heron topologies in Python.

    \b
    heronpy quickstart demo; cd demo; heronpy run     a first project
    heronpy run examples/word_count.py                run it here and watch
    heronpy submit my_topology.py                     leave it running
    heronpy stats WordCount                           look at its numbers

    Each command has --help. Exit codes: 0 all went well, 1 something failed, 2 a wrong command
    line or a wrong topology, 3 it ran but tuples failed for good, were lost or discarded, 130
    ended by Ctrl-C.
    """
