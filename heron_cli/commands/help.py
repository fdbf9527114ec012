"""`heronpy help`: the same as --help, the other way round."""

import click

from heron_cli.main import COMMANDS, heronpy
from heron_core.errors import UsageError
from heron_core.validation import choices


@click.command("help")
@click.argument("command", required=False)
def help_command(command: str | None) -> None:
    """Show the help of COMMAND, or the list of commands.

    \b
    heronpy help submit
    """
    above = click.get_current_context().parent
    assert above is not None
    if command is None:
        click.echo(heronpy.get_help(above))
        return
    explained = heronpy.get_command(above, command)
    if explained is None:
        raise UsageError(f"unknown command {command!r}; {choices('commands', command, COMMANDS)}")
    with click.Context(explained, info_name=command, parent=above) as context:
        click.echo(explained.get_help(context))
