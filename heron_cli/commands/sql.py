"""`heronpy sql`: the queries of a file of SQL, run as a topology."""

import click

from heron_cli.commands.run import run_command
from heron_core.errors import UsageError

ENDING = ".sql"


@click.command("sql", context_settings={"ignore_unknown_options": True})
@click.argument("file")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF RUN]...")
@click.pass_context
def sql_command(context: click.Context, file: str, options: tuple[str, ...]) -> int:
    """Run the queries of FILE, whose name ends in .sql, and print their rows as JSON.

    CREATE TABLE names a file of rows, in JSON or CSV; each SELECT is a query over streams, with
    windows by event time. The other options are those of `heronpy run`; docs/SQL.md has the
    clauses.

    \b
    heronpy sql examples/sql/clicks.sql
    heronpy sql examples/sql/clicks.sql -o topology.reliability.mode=EFFECTIVELY_ONCE
    """
    if not file.endswith(ENDING):
        raise UsageError(f"{file} is not a file of SQL: its name must end with {ENDING}")
    with run_command.make_context("run", [file, *options], parent=context.parent) as of_run:
        code: int = run_command.invoke(of_run)
    return code
