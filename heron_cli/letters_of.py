"""Where a topology's dead letters are: what its config says, or said when it ended."""

from heron_cli.options.find_topology import Target
from heron_cli.running_topology import not_running
from heron_core.config_names import DEAD_LETTER
from heron_core.dead_letter_target import FileTarget, KafkaTarget, target_of
from heron_core.dead_letters import REPLAYED
from heron_core.errors import HeronError, UsageError
from heron_core.state_tree import topology_path
from heron_core.topology import TopologySpec, topology_from_json
from scheduler.outcomes import outcome_of
from scheduler.user_folder import Home


def folder_of(target: Target, name: str) -> str:
    """The folder of the letters of a topology that runs or has ended; HeronError if there is
    none."""
    with target.store_options.store() as store:
        node = store.get(topology_path(name))
        if node is not None:
            value = topology_from_json(node).config.get(DEAD_LETTER)
        else:
            outcome = outcome_of(Home.of_user(), name)
            if not outcome:
                raise not_running(store, name)
            value = outcome.get("dead_letter")
    return _folder(name, value)


def _folder(name: str, value: object) -> str:
    match target_of(value):
        case FileTarget(folder):
            return folder
        case KafkaTarget(topic, servers):
            raise HeronError(
                f"the dead letters of {name} are in the topic {topic} of Kafka at {servers}: read"
                " it with a consumer of yours; this command knows folders"
            )
        case None:
            raise UsageError(
                f"{name} keeps no dead letters: start it with -o {DEAD_LETTER}=file:FOLDER, or name"
                " a folder with --folder"
            )
        case bolt:
            raise HeronError(f"the dead letters of {name} go to its bolt {bolt.name!r}")


def refuse_replay(name: str, spec: TopologySpec, letters: list[dict[str, object]]) -> None:
    """HeronError if one of the letters has nobody in the topology to go to."""
    if REPLAYED not in spec.by_name:
        raise HeronError(
            f"{name} sends no letters again: it was not started with {DEAD_LETTER}=file:FOLDER"
        )
    for letter in letters:
        origin = str(letter["source"]), str(letter["stream"])
        readers = [each.name for each, _ in spec.consumers.get(origin, ())]
        wanted = letter["component"]
        if wanted not in readers and not (wanted == origin[0] and readers):
            raise HeronError(
                f"letter {letter['id']}: {wanted} does not read {origin[0]}.{origin[1]} in {name}"
                if origin[0]
                else f"letter {letter['id']}: {wanted} has several inputs, and its letter does not"
                " say of which one the row was"
            )
