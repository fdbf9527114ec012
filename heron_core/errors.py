"""Errors for people: each states the cause in one line that names the subject."""

SHOWN_CHARACTERS_MAX = 200
"""Of a value in a message: more than a person reads, and enough to know it by."""


SHORT_CHARACTERS_MAX = 60
"""Of a value in a message that says more."""


def shortened(text: str, most: int) -> str:
    """The text, truncated to a limit."""
    return text if len(text) <= most else f"{text[:most]}…"


def shown(value: object, most: int = SHOWN_CHARACTERS_MAX) -> str:
    """A value for a message: its repr, truncated."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists in lists
        text = f"a {type(value).__name__} that is too large to show"
    return shortened(text, most)


def problem_with(field: str, value: object, why: str) -> str:
    """A problem with the field of a row and a short form of its value."""
    return f"{field}={shown(value, SHORT_CHARACTERS_MAX)}: {why}"


class HeronError(Exception):
    """Base of intentional errors; `str(error)` is one line."""

    exit_code = 1


class UsageError(HeronError):
    """The command line or an option is wrong; nothing was started."""

    exit_code = 2


class TopologyError(HeronError, ValueError):
    """An invalid topology, to be changed by its author; found before the start."""

    exit_code = 2


class ComponentError(HeronError):
    """User code of one component failed: names the component and the exception."""


class TopologyStopped(ComponentError):
    """User code raised, and the topology is to end by that (topology.bolt.on.exception: stop)."""


class ValueNotSerialisable(ComponentError, TypeError):
    """An emitted value cannot travel: names component, stream and field."""


class StateError(ComponentError):
    """A component's state cannot be kept, saved or restored: names component, state and key."""


ONE_VERSION = "install one version of heronpy on all hosts"
"""Remedy for a malformed message: senders of the same version check their messages."""


class ProtocolError(HeronError):
    """A peer sent something that is not of our protocol: its fault, never ours to die of."""


class OtherProtocol(ProtocolError):
    """A process of an engine with an incompatible protocol: names both, and the remedy."""


class StateStoreError(HeronError):
    """The state store cannot be reached or refuses what was asked."""


class Fenced(StateStoreError):
    """A write was refused because another process has taken the writer's place."""


class JavaMissing(HeronError):
    """No Java that is new enough is installed; the line says what was found, and the cure."""


class NameInUse(HeronError):
    """An exclusive name or node is held by another owner."""
