"""A component's state: created per instance, bound to the user's object, keyed by input tuples."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_api.state.key_of_tuple import FieldsOf, GroupedFields, keys_of_tuples
from heron_api.state.keyed_state import declared_states
from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.native import keyed_process
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.memory import MemoryBackend
from heron_core.state.named_states import NamedStates
from heron_core.state.protocol import StateBackend
from heron_core.topology import ComponentSpec, GroupingKind, InputSpec

Process = Callable[[Any], Any]


def component_state(
    spec: ComponentSpec, config: Mapping[str, Any], label: str = ""
) -> ComponentState:
    """An empty state for an instance of `spec`, whose config is merged with the defaults.
    `label` distinguishes instances on the machine."""
    merged = keys.with_defaults(config)
    codec = StateCodec(spec.name, pickles=keys.flag(merged, keys.VALUES_PICKLE))
    current = CurrentKey(spec.name, _fields_of_keys(spec.inputs))
    named = NamedStates(_backend(merged, codec, label), current, _now)
    return ComponentState(named, _grouped_by(spec.inputs))


def _grouped_by(inputs: Sequence[InputSpec]) -> GroupedFields:
    """The key fields of each input; empty if the tuples of a key may go to several tasks."""
    if any(each.grouping.kind is not GroupingKind.FIELDS for each in inputs):
        return {}
    return {(each.component, each.stream): each.grouping.fields for each in inputs}


def _backend(config: Mapping[str, Any], codec: StateCodec, label: str) -> StateBackend:
    if keys.state_backend(config) == keys.MEMORY:
        return MemoryBackend(codec)
    # Imported late: rarely needed.
    from heron_io.state_backends.rocksdb import RocksBackend

    return RocksBackend(codec, config.get(keys.STATE_FOLDER), label)


def _now() -> float:
    """Called through the module: the tester replaces time.time() by a virtual clock."""
    return time.time()


def _fields_of_keys(inputs: Sequence[InputSpec]) -> tuple[str, ...]:
    """Names for the parts of a key: the fields of the first input that is grouped by any."""
    return next((each.grouping.fields for each in inputs if each.grouping.fields), ())


def keeps_state(user: Any) -> bool:
    """Whether a user's object takes a state, or its class declares any."""
    return callable(getattr(user, "init_state", None)) or bool(declared_states(type(user)))


def saves_itself(user: Any) -> bool:
    """Whether a user's object keeps its state under at-least-once delivery. An object that acks
    tuples long after receiving them (a window) opts out: the tuples are replayed."""
    return keeps_state(user) and bool(getattr(user, "saved_at_least_once", True))


def may_fail_retained(user: Any) -> bool:
    """Whether a user's object can fail all retained tuples and start without them."""
    return keeps_state(user) and not saves_itself(user)


def provide(user: Any, state: Any, component: str) -> None:
    """Bind the states declared by the class to a user's object."""
    declared = declared_states(type(user))
    if declared and not isinstance(state, ComponentState):
        raise ComponentError(
            f"{component}: this engine has no keyed state ({', '.join(declared)}): use the "
            "native engine"
        )
    for name, each in declared.items():
        setattr(user, name, each.of(state))


def keyed(
    process: Process, state: Any, inputs: Sequence[InputSpec], fields_of: FieldsOf
) -> Process:
    """`process` with the tuple's key as the current one, if the component has keyed states."""
    if not isinstance(state, ComponentState) or not state.named.is_keyed:
        return process
    current = state.named.current
    grouped = {
        (entry.component, entry.stream): entry.grouping.fields
        for entry in inputs
        if entry.grouping.fields
    }
    current.of_tuples(keys_of_tuples(current.component, grouped, fields_of))
    return keyed_process(current, process)
