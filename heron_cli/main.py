"""The command's group: each subcommand is a module of its own, imported when it is called."""

from importlib import import_module

import click

COMMANDS = {
    "run": ("heron_cli.run", "Run a topology here, in the foreground, with a live view."),
    "submit": ("heron_cli.submit", "Start a topology in the background; it survives the shell."),
    "list": ("heron_cli.status", "List the running topologies."),
    "stats": ("heron_cli.status", "Show the numbers of a running topology."),
    "tail": ("heron_cli.tail", "Show the logs of a topology's processes."),
    "activate": ("heron_cli.control", "Let a paused topology's spouts emit again."),
    "deactivate": ("heron_cli.control", "Pause a topology: its spouts emit nothing."),
    "kill": ("heron_cli.control", "End a topology: spouts, then what is in flight, then all."),
}
"""name -> (module, first line of its help)"""


class LazyGroup(click.Group):
    """Imports a subcommand's module only when it is called: `heronpy list` needs no zmq server."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a topology's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of subcommands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="heronpy-topologies", prog_name="heronpy")
def heronpy() -> None:
    """Storm and Heron topologies in Python.

    \b
    heronpy run examples/word_count.py        run it here and watch
    heronpy submit my_topology.py             leave it running
    heronpy stats WordCount                   look at its numbers
    """
