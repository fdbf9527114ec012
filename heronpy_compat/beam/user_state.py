"""User states and side inputs of a stage, which a bundle reads and writes by Beam's state protocol.

Beam's own StateServicer serves the protocol in this process. User states are saved by key; side
inputs are saved as received rows (side_inputs.py).
"""

from collections import defaultdict
from typing import Any

from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner.worker_handlers import StateServicer

from heronpy_compat.beam.saved import SavedParts

PART, ORDERED = "user", "ordered"


class StageState(StateServicer):
    """The StateHandler of one task."""

    def __init__(self, saved: SavedParts) -> None:
        super().__init__()
        self._saved = saved
        self._changed: set[bytes] = set()
        """Serialized keys; keys of ordered lists have no range."""
        for key, values in saved.restored(PART):
            self._state[key] = values
        for key, entries in saved.restored(ORDERED):
            self._restore_ordered(key, entries)

    def append_raw(self, state_key: Any, data: bytes) -> Any:
        """See StateHandler."""
        self._note(state_key)
        return super().append_raw(state_key, data)

    def clear(self, state_key: Any) -> Any:
        """See StateHandler."""
        self._note(state_key)
        return super().clear(state_key)

    def replace(self, state_key: Any, values: list[bytes]) -> None:
        """Set the values of a side input in a window."""
        self._state[self._to_key(state_key)] = values

    def discard(self, state_key: bytes) -> None:
        """Remove a user state after the expiry of the window."""
        self._state.pop(state_key, None)
        self._changed.add(state_key)

    def _note(self, state_key: Any) -> None:
        kind = state_key.WhichOneof("type")
        if kind == "ordered_list_user_state":
            whole = beam_fn_api_pb2.StateKey()
            whole.CopyFrom(state_key)
            whole.ordered_list_user_state.ClearField("range")
            state_key = whole
        if kind.endswith("user_state"):
            self._changed.add(self._to_key(state_key))

    def save(self) -> None:
        """Write the changed user states."""
        for key in self._changed:
            if key in self._ordered_list_keys:
                self._saved.put(ORDERED, key, self._ordered(key) or None)
            else:
                self._saved.put(PART, key, list(self._state.get(key, ())) or None)
        self._changed.clear()

    def _ordered(self, key: bytes) -> dict[int, list[bytes]]:
        whole = beam_fn_api_pb2.StateKey.FromString(key)
        return {
            at: list(self._state[self._get_one_interval_key(whole, at)])
            for at in self._ordered_list_keys[key]
        }

    def _restore_ordered(self, key: bytes, entries: dict[int, list[bytes]]) -> None:
        whole = beam_fn_api_pb2.StateKey.FromString(key)
        for at, values in entries.items():
            self._state[self._get_one_interval_key(whole, at)] = values
            self._ordered_list_keys[key].add(at)

    def user_keys(self) -> dict[bytes, list[Any]]:
        """window, encoded -> keys of the user states in it."""
        found: dict[bytes, list[Any]] = defaultdict(list)
        for key in list(self._state):
            parsed = beam_fn_api_pb2.StateKey.FromString(key)
            kind = parsed.WhichOneof("type")
            if kind.endswith("user_state"):
                found[getattr(parsed, kind).window].append(key)
        return found
