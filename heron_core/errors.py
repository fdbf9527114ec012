"""Errors that a person reads: each says whose fault it is, in one line that names the thing."""

SHOWN_CHARACTERS_MAX = 200
"""Of a value in a message: more than a person reads, and enough to know it by."""


SHORT_CHARACTERS_MAX = 60
"""Of a value in a message that says more."""


def shortened(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else f"{text[:most]}…"


def shown(value: object, most: int = SHOWN_CHARACTERS_MAX) -> str:
    """A value as a message repeats it: as Python writes it, and not too long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists in lists
        text = f"a {type(value).__name__} that is too large to show"
    return shortened(text, most)


def problem_with(field: str, value: object, why: str) -> str:
    """A problem with the field of a row and a short form of its value."""
    return f"{field}={shown(value, SHORT_CHARACTERS_MAX)}: {why}"


class HeronError(Exception):
    """Anything this project raises on purpose; `str(error)` is one clear line."""

    exit_code = 1


class UsageError(HeronError):
    """The command line or an option is wrong; nothing was started."""

    exit_code = 2


class TopologyError(HeronError, ValueError):
    """The topology is wrong, so its author has to change it; found before anything starts."""

    exit_code = 2


class ComponentError(HeronError):
    """User code of one component failed: it names the component and what it raised."""


class TopologyStopped(ComponentError):
    """User code raised, and the topology is to end by that (topology.bolt.on.exception: stop)."""


class ValueNotSerialisable(ComponentError, TypeError):
    """An emitted value cannot travel: names component, stream and field."""


class StateError(ComponentError):
    """A component's state cannot be kept, saved or restored: names component, state and key."""


class ProtocolError(HeronError):
    """A peer sent something that is not of our protocol: its fault, never ours to die of."""


class OtherProtocol(ProtocolError):
    """A process of an engine that this one does not understand: names both, and the cure."""


class StateStoreError(HeronError):
    """The state store cannot be reached or refuses what was asked."""


class Fenced(StateStoreError):
    """A write was refused because another process has taken the writer's place."""


class JavaMissing(HeronError):
    """No Java that is new enough is installed; the line says what was found, and the cure."""


class NameInUse(HeronError):
    """A name or node that only one holder may have is held by somebody else."""
