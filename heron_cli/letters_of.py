"""Location of a topology's dead letters: from the config, or from the record of the end."""

import os
from collections.abc import Mapping
from typing import Any

from heron_cli.options.find_topology import Target
from heron_cli.running_topology import not_running
from heron_core.config.names import DEAD_LETTER
from heron_core.dead_letter_target import BoltTarget, FileTarget, KafkaTarget, target_of, where
from heron_core.dead_letter_target import Target as LetterTarget
from heron_core.dead_letters import CALL_FIELDS, REPLAYED
from heron_core.errors import HeronError, UsageError
from heron_core.state_tree import topology_path
from heron_core.topology import Config, TopologySpec, topology_from_json
from heron_engine.scheduler.outcomes import outcome_of
from heron_engine.scheduler.user_folder import Home
from heron_spark.backend.foreground import query_of

Location = FileTarget | KafkaTarget


def location_of(target: Target, name: str) -> tuple[Location, Config]:
    """Location of a topology's dead letters, running or ended, and the config while running;
    HeronError without a location, or for letters in a bolt."""
    home = Home.of_user()
    with target.store_options.store() as store:
        if node := store.get(topology_path(name)):
            config = topology_from_json(node).config
        elif query := query_of(home, name):
            config = query.topology.config
        elif outcome := outcome_of(home, name):
            return _location(name, outcome.get("dead_letter")), {}
        else:
            raise not_running(store, name)
    return _location(name, config.get(DEAD_LETTER)), config


def running_spec(target: Target, name: str) -> TopologySpec:
    """The running topology of the name; HeronError for an unknown name."""
    with target.store_options.store() as store:
        if node := store.get(topology_path(name)):
            return topology_from_json(node)
        query = query_of(Home.of_user(), name)
        if query is None:
            raise not_running(store, name)
    if not query.runs:
        raise HeronError(
            f"{name} has ended: letters are sent again while their topology runs; start it as"
            " before, and give --replay then"
        )
    return query.topology


def _location(name: str, value: object) -> Location:
    match target_of({DEAD_LETTER: value}, DEAD_LETTER):
        case None:
            raise UsageError(
                f"{name} keeps no dead letters: start it with -o {DEAD_LETTER}=file:FOLDER, or name"
                " a folder with --folder"
            )
        case BoltTarget(bolt):
            raise HeronError(f"the dead letters of {name} go to its bolt {bolt!r}")
        case location:
            return location


def refuse_replay(name: str, spec: TopologySpec, location: Location) -> None:
    """HeronError if the topology looks for requests elsewhere, or for none."""
    own = target_of(spec.config, DEAD_LETTER)
    if REPLAYED not in spec.by_name or own is None:
        raise HeronError(
            f"{name} sends no letters again: it was not started with {DEAD_LETTER}=file:FOLDER or"
            " kafka:TOPIC@HOST:PORT"
        )
    if _is_elsewhere(location, own):
        raise HeronError(
            f"{name} looks for letters to send again in {where(own)}, not in {where(location)}"
        )


def unsendable(name: str, spec: TopologySpec, letter: Mapping[str, Any]) -> str:
    """Why a letter cannot be sent again, in a line; empty if it can."""
    origin = str(letter["source"]), str(letter["stream"])
    readers = [each.name for each, _ in spec.consumers.get(origin, ())]
    wanted, begin = letter["component"], f"letter {letter['id']}: "
    if wanted in readers or (wanted == origin[0] and readers):
        return ""
    if origin[0]:
        return f"{begin}{wanted} does not read {origin[0]}.{origin[1]} in {name}"
    if tuple(letter["fields"]) == CALL_FIELDS:
        return f"{begin}the failed call {letter['values'][0]} of {wanted} had no tuple to replay"
    return f"{begin}{wanted} has several inputs, and the letter does not name its input"


def _is_elsewhere(location: Location, own: LetterTarget) -> bool:
    """Whether two locations differ, regardless of the paths' spelling; a remote folder may be
    mounted under a different path."""
    if isinstance(location, FileTarget) and isinstance(own, FileTarget):
        here = os.path.realpath(location.folder)
        return os.path.exists(own.folder) and os.path.realpath(own.folder) != here
    return location != own
