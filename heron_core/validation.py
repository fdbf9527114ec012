"""Checks of a topology before anything starts.

Rules of Heron (TopologyUtils.verifyTopology, heronpy's TopologyType) and of Storm (StormTopology
checks in Nimbus); a cycle of bolts is allowed, as in both. Each problem is one line that names the
component, the error and the valid choices.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from heron_core import config, storm_settings
from heron_core.algorithms.autoscale.options import check as check_autoscale
from heron_core.config import spelling
from heron_core.config.effects import component_config
from heron_core.dead_letters import with_errors
from heron_core.errors import TopologyError, shown
from heron_core.graph_walks import in_cycles
from heron_core.naming import others
from heron_core.topology import (
    SYSTEM_COMPONENT,
    TICK_STREAM,
    ComponentSpec,
    Config,
    GroupingKind,
    InputSpec,
    StreamSpec,
    TopologySpec,
)

# A dot or a slash would leave the topology's node of the state tree, a colon separates component
# and stream (Heron: TopologyUtils.verifyTopology).
_TOPOLOGY_NAME = re.compile(r"[^/.:\\\s]+")
# Logs and pid files are named after components, so what a file system refuses is refused here.
_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f]')
# File systems take names of 255 bytes; container, task and ending need less than 55.
_NAME_BYTES_MAX = 200
# Each process knows all streams and looks them up by name: more take minutes to start.
STREAMS_MAX = 5_000
# How many choices an error line names before it breaks off.
_CHOICES_MAX = 12


def problems(topology: TopologySpec) -> list[str]:
    """All problems of the topology, one line each; empty for a topology that can run."""
    return list(_problems(with_errors(topology)))


def check(topology: TopologySpec) -> None:
    """Raise TopologyError with the first problem and the number of the others, if there is one."""
    found = problems(topology)
    if found:
        raise TopologyError(f"{found[0]}{others(found)}")


def check_native(topology: TopologySpec) -> None:
    """TopologyError for a topology that the native engine cannot run: one with checkpoints."""
    merged = config.with_defaults(topology.config)
    if not config.takes_checkpoints(merged):
        return
    mode = f"{config.RELIABILITY_MODE} is {config.EFFECTIVELY_ONCE}"
    if config.backpressure_mode(merged) == config.DROP:
        raise TopologyError(
            f"{mode}, but {config.BACKPRESSURE_MODE} is {config.DROP}, which loses tuples: "
            "choose one of them"
        )
    if merged.get(config.BACKUP) and config.state_backend(merged) == config.ROCKSDB:
        raise TopologyError(
            f"{config.BACKUP} is {config.MEMORY}, and {config.STATE_BACKEND} is {config.ROCKSDB}, "
            "for states larger than memory: choose one of them"
        )
    cycle = in_cycles(topology.feeders)
    if cycle:
        raise TopologyError(
            f"{mode}, and {', '.join(sorted(cycle))} send to each other in a circle, through which"
            f" no checkpoint passes: choose {config.ATLEAST_ONCE}"
        )


def shape_problems(component: ComponentSpec) -> list[str]:
    """A spout must have outputs and no inputs, a bolt must have inputs."""
    label = component.label
    if not component.is_spout:
        return [] if component.inputs else [f"{label} has no inputs; a bolt needs at least one"]
    complaints = []
    if component.inputs:
        complaints.append(f"{label} has inputs; only a bolt can read a stream")
    if not component.outputs:
        complaints.append(f"{label} has no outputs; list its fields, as in outputs = ['word']")
    return complaints


def _problems(topology: TopologySpec) -> Iterator[str]:
    yield from topology_name_problems(topology.name)
    components = topology.components
    if not any(component.is_spout for component in components):
        yield f"topology {topology.name!r} has no spout; at least one is needed"
    streams = sum(len(component.outputs) for component in components)
    if streams > STREAMS_MAX:
        yield (
            f"topology {topology.name!r} has {streams:,} streams, more than {STREAMS_MAX:,}: use "
            "one stream with a field that distinguishes its tuples"
        )
        return
    names = [component.name for component in components]
    for name in _repeated(names):
        yield f"component name {name!r} is used {names.count(name)} times; names must be unique"
    for component in components:
        yield from _component_problems(component)
        for entry in component.inputs:
            yield from _input_problems(topology, component, entry)
    yield from _config_problems(topology)
    yield from _number_problems(topology)


def _number_problems(topology: TopologySpec) -> Iterator[str]:
    """Problems of parallelisms, checked before lists of so many instances are made."""
    numbers = [each.parallelism for each in topology.components]
    if all(type(each) is int for each in numbers):
        try:
            config.check_instances(topology.config, sum(numbers))
        except TopologyError as error:
            yield str(error)


def topology_name_problems(name: object) -> Iterator[str]:
    """Why a topology cannot have this name, one line each."""
    if not isinstance(name, str) or not _TOPOLOGY_NAME.fullmatch(name):
        yield (
            f"topology name {name!r} must be a word without blanks, dots, colons, slashes"
            " and backslashes"
        )
    elif unfit := _unfit_in(name):
        yield f"topology name {name!r} must not {unfit}; choose another with -N"
    elif len(name.encode()) > _NAME_BYTES_MAX:
        yield f"topology name {name!r} must not be longer than {_NAME_BYTES_MAX} bytes"


def _unfit_in(name: str) -> str:
    """The fault in a name of a topology or a component; empty for a good name. Commands take a dash
    for an option, and addresses a percent sign for an escape; a character that cannot be printed is
    invisible in a terminal, or turns the text around."""
    if name.startswith("-"):
        return "begin with '-'"
    unfit = next((each for each in name if each == "%" or not each.isprintable()), "")
    return f"contain {unfit!r}" if unfit else ""


def _component_problems(component: ComponentSpec) -> Iterator[str]:
    label = component.label
    yield from _file_name_problems(label, component.name)
    if not component.class_path:
        yield f"{label} has no class path; use MODULE.CLASS"
    par = component.parallelism
    if isinstance(par, bool) or not isinstance(par, int) or par < 1:
        yield f"{label}: parallelism must be a whole number of at least 1, not {shown(par)}"
    if component.is_spout:  # a bolt without inputs gets ticks, as in Storm; heronpy refuses it
        yield from shape_problems(component)
    streams = [stream.name for stream in component.outputs]
    for name in _repeated(streams):
        yield f"{label} declares its stream {name!r} {streams.count(name)} times; once is enough"
    for stream in component.outputs:
        yield from _stream_problems(label, stream)
    inputs = [f"{entry.component}:{entry.stream}" for entry in component.inputs]
    for name in _repeated(inputs):
        yield f"{label} reads {name} {inputs.count(name)} times; give each input one grouping"


def _file_name_problems(label: str, name: str) -> Iterator[str]:
    if not name or name != name.strip():
        yield f"{label}: its name must not be empty, nor start or end with a blank"
    elif name.startswith("."):
        yield f"{label}: its name must not start with '.'"
    elif name == SYSTEM_COMPONENT:
        yield f"{label}: the engine reserves its name; choose another"
    elif bad := _NOT_IN_FILE_NAMES.search(name):
        yield (
            f"{label}: its name must not contain {bad.group()!r}, because files are named after "
            "the component"
        )
    elif unfit := _unfit_in(name):
        yield f"{label}: its name must not {unfit}"
    elif len(name.encode()) > _NAME_BYTES_MAX:
        yield f"{label}: its name must not be longer than {_NAME_BYTES_MAX} bytes"


def _stream_problems(label: str, stream: StreamSpec) -> Iterator[str]:
    if not stream.name:
        yield f"{label}: the name of a stream must not be empty"
    elif stream.name == TICK_STREAM:
        yield f"{label}: stream name {stream.name!r} is the engine's own; choose another"
    if "" in stream.fields:
        yield f"{label}: stream {stream.name!r} has a field with an empty name"
    for name in _repeated(stream.fields):
        yield f"{label}: stream {stream.name!r} has the field {name!r} more than once"
    if stream.types and len(stream.types) != len(stream.fields):
        yield (
            f"{label}: stream {stream.name!r} declares types for {len(stream.types)} of its "
            f"{len(stream.fields)} fields; declare types for all fields or for none"
        )


def _input_problems(
    topology: TopologySpec, component: ComponentSpec, spec: InputSpec
) -> Iterator[str]:
    label = component.label
    source = topology.by_name.get(spec.component)
    if source is None:
        names = [known.name for known in topology.components if known is not component]
        hint = choices("components", spec.component, names)
        yield f"{label} reads from {spec.component!r}, which is not a component; {hint}"
        return
    stream = source.stream(spec.stream)
    if stream is None:
        hint = choices("streams", spec.stream, [known.name for known in source.outputs])
        yield (
            f"{label} reads {spec.stream!r} of {source.name!r}, which does not declare the "
            f"stream; {hint}"
        )
        return
    yield from _grouping_problems(f"{label}: input {source.name}:{stream.name}", spec, stream)


def _grouping_problems(label: str, spec: InputSpec, stream: StreamSpec) -> Iterator[str]:
    grouping = spec.grouping
    kind = grouping.kind
    if stream.direct and kind is not GroupingKind.DIRECT:
        yield f"{label} is a direct stream, so its grouping must be direct, not {kind.value}"
    if kind is GroupingKind.DIRECT and not stream.direct:
        yield f"{label} is grouped direct, so the stream must be declared with direct=True"
    if kind is GroupingKind.CUSTOM and not grouping.custom:
        yield f"{label}: custom grouping needs a custom grouping object"
    if not kind.is_keyed:
        return
    if not grouping.fields:
        yield f"{label}: {kind.value} grouping needs at least one field"
    for field in grouping.fields:
        if field not in stream.fields:
            hint = choices("fields", field, stream.fields)
            yield f"{label} is grouped by {field!r}, which is not a field of the stream; {hint}"
    for field in _repeated(grouping.fields):
        yield f"{label} is grouped by {field!r} more than once"


def _config_problems(topology: TopologySpec) -> Iterator[str]:
    complaint = (
        _misspelt(topology.config)
        or _complaint(partial(config.check, topology.config))
        or _complaint(partial(storm_settings.check, topology))
        or _complaint(partial(check_autoscale, topology))
    )
    if complaint is not None:
        yield f"config of the topology: {complaint}"
        return
    for component in topology.components:
        if not component.config:
            continue
        merged = component_config(topology.config, component.config)
        complaint = _misspelt(component.config) or _complaint(partial(config.check, merged))
        if complaint is not None:
            yield f"config of {component.label}: {complaint}"


def _misspelt(given: Config) -> str | None:
    found = spelling.misspelt(given)
    return found and f"unknown key {found[0]!r}; did you mean {found[1]!r}?"


def _complaint(read: Callable[[], None]) -> str | None:
    try:
        read()
    except TopologyError as error:
        return str(error)
    return None


def _repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, each once, in order."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, count in seen.items() if count > 1]


def choices(what: str, wrong: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? (components: x, y)`, or only the choices if nothing is similar."""
    names = list(known)
    shown = ", ".join(names[:_CHOICES_MAX]) + (", ..." if len(names) > _CHOICES_MAX else "")
    listed = f"{what}: {shown or 'none'}"
    close = did_you_mean(wrong, names)
    return f"did you mean {close!r}? ({listed})" if close else listed


def did_you_mean(wrong: str, names: Iterable[str]) -> str | None:
    """The name that `wrong` probably stands for, or None."""
    import difflib  # only needed when something is wrong already

    close = difflib.get_close_matches(wrong, list(names), 1)
    return close[0] if close else None
