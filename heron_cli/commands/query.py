"""`heronpy query`: the current state of a running topology's component."""

from typing import Any

import click

from heron_cli.options.find_topology import Target, target_options
from heron_core.errors import UsageError
from heron_core.state.protocol import ABSENT
from heron_core.typed_values import given_value
from heron_io.saved_queries import query_saved
from heron_io.saved_states import open_saved
from heron_io.state_queries import (
    LIMIT,
    LIMIT_MAX,
    SECS,
    SECS_MAX,
    StateAnswer,
    WantedState,
    query_state,
)
from heron_io.user_home import home_path

NOTHING = 1
"""Exit code without a result, as in grep."""


@click.command("query")
@target_options()
@click.argument("state", metavar="COMPONENT.STATE")
@click.option("-k", "--key", metavar="KEY", help="The key; JSON, or else text.")
@click.option("--map-key", metavar="KEY", help="With --key: only this entry of the map state.")
@click.option("--prefix", metavar="PREFIX", help="Only keys with this prefix; JSON, or else text.")
@click.option("--scan", is_flag=True, help="All keys, up to the limit.")
@click.option(
    "--checkpoint",
    "--consistent",
    "is_saved",
    is_flag=True,
    help="Read all keys from the last completed checkpoint instead of the running instances.",
)
@click.option(
    "-l",
    "--limit",
    type=click.IntRange(1, LIMIT_MAX),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="Print the first N keys.",
)
@click.option(
    "-t",
    "--time",
    "seconds",
    type=click.FloatRange(0.01, SECS_MAX),
    default=SECS,
    show_default=True,
    metavar="SECONDS",
    help="Timeout for the answer, in seconds.",
)
def query_command(
    target: Target,
    state: str,
    key: str | None,
    map_key: str | None,
    prefix: str | None,
    scan: bool,
    is_saved: bool,
    limit: int,
    seconds: float,
) -> int:
    """Print what a component of the running topology NAME has in its state now.

    Each entry is a line of JSON with the instance that has it. COMPONENT alone means what the
    component keeps by put(). Exits with 1 if there is nothing, with 2 for a name or an option that
    is wrong, and with 3 if the state could not be asked now.

    \b
    heronpy query wordcount count.count --key storm
    heronpy query wordcount visits.pages --key 7 --map-key /index.html
    heronpy query wordcount count.count --prefix st --limit 10
    heronpy query wordcount count.count --scan
    heronpy query wordcount count.count --scan --checkpoint
    """
    if (key is not None) + (prefix is not None) + scan != 1:
        raise UsageError("give one of --key KEY, --prefix PREFIX or --scan")
    if map_key is not None and key is None:
        raise UsageError("--map-key requires --key")
    wanted = WantedState(
        name=state, key=_given(key), map_key=_given(map_key), prefix=_given(prefix), limit=limit,
        secs=seconds,
    )  # fmt: skip
    if is_saved:
        answer = _saved_answer(target, wanted)
    else:
        with target.running(target.name()) as topology:
            answer = query_state(topology.client.ask, wanted)
    for line in answer.lines():
        click.echo(line)
    return _report(answer, wanted)


def _saved_answer(target: Target, wanted: WantedState) -> StateAnswer:
    """Read the checkpoint's files, and name the checkpoint."""
    with target.store_options.store() as store:
        saved = open_saved(target.name(), wanted.name, store, home_path(), is_folder=False)
        answer = query_saved(saved, wanted)
    click.echo(f"as of {saved.origin}", err=True)
    return answer


def _given(text: str | None) -> Any:
    return ABSENT if text is None else given_value(text)


def _report(answer: StateAnswer, wanted: WantedState) -> int:
    """The exit code; missing or truncated results are reported."""
    if not answer.rows:
        whose = "" if wanted.key is ABSENT else f" for the key {wanted.key!r:.100}"
        click.echo(f"{answer.name} has no entry{whose}", err=True)
        return NOTHING
    if wanted.key is ABSENT and answer.has_more:
        click.echo(f"{answer.name} may have more than these {wanted.limit} keys", err=True)
    return 0
