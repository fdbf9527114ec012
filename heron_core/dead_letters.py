"""Dead letters: tuples abandoned by a component, as tuples of its stream `errors`. Pure.

The stream exists if read: by a bolt with the stream as an input, or by `topology.dead.letter`,
which reads the stream of every component. A letter is an ordinary tuple of an ordinary stream,
so checkpoints, acks and back-pressure apply. The readers of the setting, and their successors,
have no stream `errors`: a letter that cannot be written produces no further letter, and counts
as failed.

With letters in files or in a topic a topology also has a spout that replays letters to the
abandoning bolt. The spout has a stream for each input of each bolt, with the grouping of the
input, and instances assign replayed tuples to their original component and stream (`origin_of`).
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
"""Fields of a letter: its id; the abandoning component, as component and component[index]; time
(since 1970) and number of attempts; exception in a line, and traceback; source of the tuple
(component, stream, task), names of its fields, and its values."""
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
    """Whether the stream is the letters' stream, not declared by the component."""
    return stream == STREAM


def has_letters(topology: TopologySpec, component: str) -> bool:
    """Whether abandoned tuples of the component become letters, i.e. letters are read."""
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
    """The topology with the additions for `topology.dead.letter`: streams, readers, and the
    replaying spout. `absolute`: converts the path of a folder.

    Idempotent. TopologyError for an invalid setting.
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
