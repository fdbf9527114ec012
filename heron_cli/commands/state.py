"""`heronpy state`: states of savepoints and checkpoints as tables, and savepoints of tables."""

from functools import partial

import click

from heron_cli.options.find_topology import StoreOptions, with_store_options
from heron_connectors.state_files import FORMATS, write_rows
from heron_connectors.state_rows import VALUES, entries_in_file
from heron_connectors.state_tables import read_state, write_states
from heron_core.config import MEMORY
from heron_core.errors import UsageError
from heron_io.state_backends.rocksdb import ROCKSDB

TYPE = "Arrow's type of the {}, as string or int64; by default they are JSON."


@click.group("state")
def state_command() -> None:
    """Read the states of a savepoint or a checkpoint as tables, or write a savepoint of tables.

    \b
    heronpy state read wordcount count.count
    heronpy state write /savepoints/new -n wordcount count.count=counts.parquet
    """


@state_command.command("read")
@click.argument("where", metavar="FOLDER|NAME")
@click.argument("state", metavar="COMPONENT.STATE")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(sorted(FORMATS)),
    help="Format of the table; by default that of FILE's ending, or else json.",
)
@click.option("--to", "file", metavar="FILE", help="Write the table here; by default to stdout.")
@click.option("--key-type", metavar="TYPE", help=TYPE.format("keys"))
@click.option("--map-key-type", metavar="TYPE", help=TYPE.format("keys in a map"))
@click.option("--value-type", metavar="TYPE", help=TYPE.format("values"))
@with_store_options
def read_command(
    where: str,
    state: str,
    form: str | None,
    file: str | None,
    key_type: str | None,
    map_key_type: str | None,
    value_type: str | None,
    store_options: StoreOptions,
) -> None:
    """Print a state of a savepoint in FOLDER, or of the newest checkpoint of the topology NAME.

    A row is an entry: key, map_key (the key in a map, the index in a list), value, key_group, task,
    expires_at. COMPONENT alone means what the component keeps by put().

    \b
    heronpy state read /savepoints/words count.count
    heronpy state read wordcount count.count --format parquet --to counts.parquet
    heronpy state read wordcount count.count --key-type string --value-type int64 --to counts.csv
    """
    table = read_state(
        where,
        state,
        key_type=key_type,
        map_key_type=map_key_type,
        value_type=value_type,
        state_store=store_options.store_url(),
    )
    rows = write_rows(table, form, file)
    click.echo(f"{rows} rows of {table.saved.name} of {table.saved.origin}", err=True)


@state_command.command("write")
@click.argument("folder", metavar="FOLDER")
@click.argument("tables", metavar="COMPONENT.STATE[:KIND]=FILE...", nargs=-1, required=True)
@click.option(
    "-n",
    "--name",
    "topology",
    required=True,
    metavar="NAME",
    help="Name of the topology that will start from the savepoint.",
)
@click.option(
    "--tasks",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Divide each component's keys into N states; the topology may have any number.",
)
@click.option(
    "--backend",
    type=click.Choice([MEMORY, ROCKSDB]),
    default=MEMORY,
    show_default=True,
    help="The topology.state.backend of the topology.",
)
@click.option(
    "--json",
    "json_columns",
    multiple=True,
    type=click.Choice(VALUES),
    help="A column of texts that are JSON of a value; may be repeated.",
)
def write_command(
    folder: str,
    tables: tuple[str, ...],
    topology: str,
    tasks: int,
    backend: str,
    json_columns: tuple[str, ...],
) -> None:
    """Write a savepoint in FOLDER, with which `heronpy submit --from-savepoint FOLDER` begins.

    Each FILE is a table (.arrow, .parquet, .csv, .json) with the columns key and value, map_key for
    a list or a map, and expires_at. KIND is value (the default), list, map or reducing, as the
    component declares the state.

    \b
    heronpy state write /savepoints/new -n wordcount count.count=counts.parquet
    heronpy state write /savepoints/new -n shop visits.pages:map=pages.json visits.seen=seen.csv
    """
    entries, kinds = {}, {}
    for word in tables:
        name, kind, file = _table(word)
        entries[name] = partial(entries_in_file, file, json_columns=json_columns)
        if kind:
            kinds[name] = kind
    if len(entries) < len(tables):
        raise UsageError("the same state is given twice")
    for name, number in write_states(folder, topology, entries, kinds, tasks, backend).items():
        click.echo(f"{number} entries of {name}", err=True)


def _table(word: str) -> tuple[str, str, str]:
    """Name, kind and file of COMPONENT.STATE[:KIND]=FILE."""
    left, equals, file = word.partition("=")
    name, _, kind = left.partition(":")
    if not (name and equals and file):
        raise UsageError(f"{word!r:.100} is not COMPONENT.STATE[:KIND]=FILE")
    return name, kind, file
