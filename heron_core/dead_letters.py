"""Dead letters: the tuples that a component abandons, as tuples of its stream `errors`. Pure.

A component has that stream if somebody reads it: a bolt whose inputs name it, or whatever
`topology.dead.letter` names, which reads the one of every component. A letter is an ordinary tuple
of an ordinary stream, so checkpoints, acks and back-pressure hold for it as for any other. What
reads letters for the setting, and what is behind that, has no stream `errors` by it: a letter that
cannot be written makes no other one, and counts as a tuple that failed.

With letters in files or in a topic a topology has a spout besides, from which letters that are
sent again go to the bolt that abandoned them. It has a stream for each input of each bolt, grouped
as that is, and an instance gives such a tuple the component and stream that it came from at first
(`origin_of`).
"""

from collections.abc import Callable, Iterable

from heron_core.config.names import DEAD_LETTER
from heron_core.dead_letter_target import (
    FILE_PREFIX,
    BoltTarget,
    FileTarget,
    KafkaTarget,
    Target,
    target_of,
)
from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)

ERRORS = "errors"
"""The stream that every component has."""
CALL_FIELDS = ("call", "about")
"""Of the letter of a call that is about no single tuple."""
FIELDS = (
    "id", "component", "instance", "time_ms", "attempt", "exception", "traceback",
    "source", "stream", "task", "fields", "values",
)  # fmt: skip
"""Of a letter: its own id; who abandoned the tuple, as component and component[index], when (since
1970) and after how many attempts; what was raised, in a line, and its traceback; where the tuple
came from (component, stream, task), the names of its fields, and its values."""
SINK = "__dead_letters"
"""The component that writes letters."""
REPLAYED = "__replayed"
"""The spout that emits letters again."""
FILE_SINK = "heron_connectors.letters.sinks.DeadLetterFiles"
KAFKA_SINK = "heron_connectors.letters.sinks.DeadLetterTopic"
SINKS = (FILE_SINK, KAFKA_SINK)
REPLAYING_SPOUT = "heron_connectors.letters.replayed.ReplayedLetters"
FOLDER = "file.folder"
TOPIC = "kafka.topic"
SERVERS = "kafka.bootstrap.servers"
_SEPARATOR = ":"
"""No name of a component has it."""

STREAM = StreamSpec(ERRORS, FIELDS)
_SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)


def is_system(stream: StreamSpec) -> bool:
    """Whether it is the stream of letters, rather than one that the component declares."""
    return stream == STREAM


def has_letters(topology: TopologySpec, component: str) -> bool:
    """Whether what this component abandons becomes a letter: somebody reads them."""
    is_declared = any(map(is_system, topology.by_name[component].outputs))
    return is_declared and bool(topology.consumers.get((component, ERRORS)))


def with_errors(topology: TopologySpec) -> TopologySpec:
    """The topology in which each component whose stream `errors` is read has that stream."""
    read = {each.component for bolt in topology.components for each in bolt.inputs
            if each.stream == ERRORS}  # fmt: skip
    return _with_stream(topology, read)


def _with_stream(topology: TopologySpec, names: Iterable[str]) -> TopologySpec:
    wanted = frozenset(names)
    if not any(
        component.name in wanted and component.stream(ERRORS) is None
        for component in topology.components
    ):
        return topology
    components = tuple(
        replace(component, outputs=(*component.outputs, STREAM))
        if component.name in wanted and component.stream(ERRORS) is None
        else component
        for component in topology.components
    )
    return replace(topology, components=components)


def routed(topology: TopologySpec, absolute: Callable[[str], str]) -> TopologySpec:
    """The topology with what `topology.dead.letter` adds to it: the streams, who reads them, and
    the spout that emits letters again. `absolute`: of the path of a folder.

    The same once more changes nothing. TopologyError for a setting that cannot be.
    """
    topology = with_errors(topology)
    for component in topology.components:
        if DEAD_LETTER in component.config:
            raise TopologyError(
                f"config of {component.name}: {DEAD_LETTER} is a setting of the topology; for the"
                f" letters of one component read its stream: "
                f"inputs={{{component.name}[{ERRORS!r}]: …}}"
            )
    target = target_of(topology.config, DEAD_LETTER)
    if target is None or any(component.class_path in SINKS for component in topology.components):
        return topology
    if isinstance(target, FileTarget):
        target = FileTarget(absolute(target.folder))
        config = {**topology.config, DEAD_LETTER: FILE_PREFIX + target.folder}
        topology = replace(topology, config=config)
    if not isinstance(target, BoltTarget):
        topology = _with_replays(topology, _location(target))
    senders = _senders(topology, target)
    topology = _with_stream(topology, senders)
    inputs = tuple(InputSpec(name, ERRORS, _SHUFFLE) for name in senders)
    if isinstance(target, BoltTarget):
        components = tuple(
            _also_reading(component, inputs) if component.name == target.name else component
            for component in topology.components
        )
    else:
        components = (*topology.components, _sink(target, inputs))
    return replace(topology, components=components)


def _senders(topology: TopologySpec, target: Target) -> list[str]:
    """The components whose letters go to the target."""
    excused: frozenset[str] = frozenset((REPLAYED,))
    if isinstance(target, BoltTarget):
        bolt = topology.by_name.get(target.name)
        if bolt is None or bolt.is_spout:
            bolts = ", ".join(
                component.name for component in topology.components if not component.is_spout
            )
            raise TopologyError(
                f"{DEAD_LETTER}: {target.name!r} is not a bolt of the topology (its bolts: "
                f"{bolts or 'none'}); for a folder use file:{target.name}"
            )
        excused |= {target.name} | topology.components_behind(target.name)
    senders = [component for component in topology.components if component.name not in excused]
    for sender in senders:
        own = sender.stream(ERRORS)
        if own is not None and not is_system(own):
            raise TopologyError(
                f"{sender.name} declares its own stream {ERRORS!r}, which {DEAD_LETTER} needs "
                "for abandoned tuples: rename the stream"
            )
    return [sender.name for sender in senders]


def _also_reading(bolt: ComponentSpec, inputs: tuple[InputSpec, ...]) -> ComponentSpec:
    known = {(each.component, each.stream) for each in bolt.inputs}
    new = tuple(each for each in inputs if (each.component, each.stream) not in known)
    return replace(bolt, inputs=(*bolt.inputs, *new))


def _sink(target: FileTarget | KafkaTarget, inputs: tuple[InputSpec, ...]) -> ComponentSpec:
    path = FILE_SINK if isinstance(target, FileTarget) else KAFKA_SINK
    return ComponentSpec(SINK, False, path, 1, (), inputs, _location(target), keeps_state=True)


def _location(target: FileTarget | KafkaTarget) -> dict[str, str]:
    """Where the letters are, as the config of a component."""
    if isinstance(target, FileTarget):
        return {FOLDER: target.folder}
    return {TOPIC: target.topic, SERVERS: target.servers}


# --- letters that are emitted again ---------------------------------------------------------------


def replay_stream(reader: str, source: str, stream: str) -> str:
    """The stream by which the bolt `reader` gets again what it read from a stream of `source`."""
    return _SEPARATOR.join((reader, source, stream))


def origin_of(stream: str) -> tuple[str, str]:
    """(component, stream) of which a tuple of such a stream was at first."""
    _, source, name = stream.split(_SEPARATOR, 2)
    return source, name


def _with_replays(topology: TopologySpec, location: dict[str, str]) -> TopologySpec:
    streams: list[StreamSpec] = []
    components = []
    for bolt in topology.components:
        again = []
        for entry in bolt.inputs:
            source = topology.by_name.get(entry.component)
            spec = None if source is None else source.stream(entry.stream)
            if spec is None:  # which is told when the topology is checked
                continue
            name = replay_stream(bolt.name, entry.component, entry.stream)
            streams.append(replace(spec, name=name))
            again.append(InputSpec(REPLAYED, name, entry.grouping))
        components.append(replace(bolt, inputs=(*bolt.inputs, *again)))
    if not streams:
        return topology
    spout = ComponentSpec(
        REPLAYED, True, REPLAYING_SPOUT, 1, tuple(streams), (), location, keeps_state=True
    )
    return replace(topology, components=(*components, spout))
