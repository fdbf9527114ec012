"""`heronpy dead-letters`: list, show and replay the tuples abandoned by a topology."""

import json
from typing import Any

import click

from heron_cli.letters_of import (
    Location,
    location_of,
    refuse_replay,
    running_spec,
    unsendable,
)
from heron_cli.letters_text import overview, whole_letter
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import tell_action
from heron_connectors.letters.locations import letters_in, request_replay
from heron_core.dead_letter_target import FileTarget, where
from heron_core.errors import HeronError, UsageError
from heron_core.naming import first_of
from heron_core.number_text import counted
from heron_core.topology import Config

LAST = 20
Letters = list[dict[str, Any]]


@click.command("dead_letters")
@target_options()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--folder", metavar="FOLDER", help=("Folder or topic of the letters; by default NAME's.")
)
@click.option(
    "-c", "--component", metavar="COMPONENT", help=("Print only the letters of this component.")
)
@click.option(
    "-l",
    "--last",
    type=click.IntRange(min=0),
    default=LAST,
    show_default=True,
    metavar="N",
    help="List the last N letters.",
)
@click.option("--show", is_flag=True, help="Print the letters ID completely: values and traceback.")
@click.option(
    "--replay",
    is_flag=True,
    help="Send the letters ID to their component again; without ID, all letters not yet replayed.",
)
@click.option(
    "--again", is_flag=True, help=("With --replay: also letters that were replayed before.")
)
@click.option(
    "--json", "as_json", is_flag=True, help=("Print the letters as JSON, one letter per line.")
)
def dead_letters_command(
    target: Target,
    ids: tuple[str, ...],
    folder: str | None,
    component: str | None,
    last: int,
    show: bool,
    replay: bool,
    again: bool,
    as_json: bool,
) -> None:
    """List the dead letters of the topology NAME: abandoned tuples, each with the reason.

    A topology keeps letters with `-o topology.dead.letter=file:FOLDER`, or `kafka:TOPIC@HOST:PORT`.
    ID is the beginning of an id in the list. `--replay` sends a letter into the running topology
    once, to the component that abandoned the tuple and by the tuple's grouping; tuples that the
    component emitted before it raised are not taken back.

    \b
    heronpy dead_letters wordcount
    heronpy dead_letters wordcount 5f3a --show
    heronpy dead_letters wordcount --replay
    heronpy dead_letters wordcount --component parse --json | jq .exception
    """
    _check(ids, show, replay, again, as_json)
    name = target.name() if folder is None or replay else ""
    origin = (FileTarget(folder), {}) if folder is not None else location_of(target, name)
    letters, replayed = letters_in(*origin)
    wanted = [letter for letter in letters if component in (None, letter["component"])]
    chosen = [_with_id(wanted, given) for given in ids]
    if replay:
        sent = frozenset[str]() if again else replayed
        _replay(target, name, origin, chosen or wanted, sent)
    elif as_json:
        for letter in chosen or wanted:
            marked = {**letter, "replayed": letter["id"] in replayed}
            click.echo(json.dumps(marked, ensure_ascii=False))
    elif show or ids:
        for letter in chosen:
            click.echo("\n".join(whole_letter(letter, letter["id"] in replayed)))
    else:
        click.echo("\n".join(overview(wanted, replayed, last, where(origin[0]))))


def _check(ids: tuple[str, ...], show: bool, replay: bool, again: bool, as_json: bool) -> None:
    """UsageError if the options make no sense together."""
    if show + replay + as_json > 1:
        raise UsageError("--show, --replay and --json exclude each other: give one")
    if show and not ids:
        raise UsageError("--show needs the ID of a letter, as `heronpy dead-letters NAME` lists it")
    if again and not replay:
        raise UsageError("--again requires --replay")


def _with_id(letters: Letters, given: str) -> dict[str, Any]:
    """The letter whose id starts with the text; UsageError for no letter or several."""
    fitting = [each for each in letters if each["id"].startswith(given)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise UsageError(
            f"dead letter not found: the id of every letter starts differently from {given!r}"
        )
    ids = ", ".join(each["id"] for each in fitting[:3])
    raise UsageError(f"{len(fitting)} dead letters start with {given!r}: {ids}, …")


def _replay(
    target: Target,
    name: str,
    origin: tuple[Location, Config],
    chosen: Letters,
    replayed: frozenset[str],
) -> None:
    wanted = [letter for letter in chosen if letter["id"] not in replayed]
    known = len(chosen) - len(wanted)
    note = f" (sent again before, and not now without --again: {known})" if known else ""
    if not wanted:
        raise HeronError(f"{name}: no dead letter to send again{note}")
    spec, (location, config) = running_spec(target, name), origin
    refuse_replay(name, spec, location)
    refused = [reason for letter in wanted if (reason := unsendable(name, spec, letter))]
    sendable = [letter for letter in wanted if not unsendable(name, spec, letter)]
    if sendable:
        request_replay(location, name, config, _lines(sendable))
        _record(target, name, sendable)
    for reason in refused:
        click.echo(reason, err=True)
    click.echo(f"{name}: {counted(len(sendable), 'dead letter')} sent again{note}")
    if refused:
        raise HeronError(f"{name}: {counted(len(refused), 'dead letter')} cannot be sent again")


def _record(target: Target, name: str, sent: Letters) -> None:
    """Record the replay as an event of the topology."""
    components = first_of(sorted({str(letter["component"]) for letter in sent}))
    with target.running(name) as topology:
        tell_action(topology, f"replay of {counted(len(sent), 'dead letter')} to {components}")


def _lines(wanted: Letters) -> list[bytes]:
    texts = (json.dumps(each, ensure_ascii=False) for each in wanted)
    return [text.encode("utf-8", "backslashreplace") for text in texts]
