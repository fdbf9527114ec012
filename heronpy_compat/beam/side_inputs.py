"""Side inputs of a stage: elements by window, and the readiness of windows.

A main element waits until each side input is ready in the window to which Beam maps the element's
window: the watermark of the side input has passed the window, or the first pane has arrived from a
side input with a trigger other than the default.
"""

import struct
from collections import defaultdict
from typing import Any

from apache_beam import pvalue
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_fn_api_pb2, beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner.execution import WindowGroupingBuffer
from apache_beam.utils.timestamp import MIN_TIMESTAMP, Timestamp

from heronpy_compat.beam.plans import SidePlan
from heronpy_compat.beam.saved import SavedParts
from heronpy_compat.beam.user_state import StageState

_StateKey = beam_fn_api_pb2.StateKey


class StageSideInput:
    """One side input of one transform."""

    def __init__(self, plan: SidePlan, context: Any) -> None:
        """`context`: Beam's PipelineContext of the stage."""
        self.plan = plan
        proto = beam_runner_api_pb2.SideInput.FromString(plan.proto)
        self._map = pvalue.SideInputData.from_runner_api(proto, context).window_mapping_fn
        self._coder = context.coders[plan.coder]
        self._elements = WindowGroupingBuffer(proto.access_pattern, self._coder)
        self._windows: set[Any] = set()
        self.watermark = MIN_TIMESTAMP
        self._has_changed = False

    def append(self, data: bytes) -> None:
        """Add encoded windowed values."""
        self._elements.append(data)
        self._has_changed = True
        if self.plan.fires_early:
            for each in self._coder.get_impl().decode_all(data):
                self._windows.update(each.windows)

    def is_ready(self, windows: Any) -> bool:
        """Whether elements in these windows of the main input may be processed."""
        return all(map(self._has_window, map(self._map, windows)))

    def _has_window(self, window: Any) -> bool:
        return self.watermark > window.max_timestamp() or window in self._windows

    def write(self, state: StageState) -> None:
        """Make the elements readable for bundles."""
        if not self._has_changed:
            return
        self._has_changed = False
        if self.plan.access == common_urns.side_inputs.ITERABLE.urn:
            for _, window, data, _ in self._elements.encoded_items():
                state.replace(self._key(_StateKey.IterableSideInput, window), [data])
            return
        keys: dict[bytes, list[bytes]] = defaultdict(list)
        pairs: dict[bytes, list[bytes]] = defaultdict(list)
        for key, window, data, count in self._elements.encoded_items():
            state.replace(self._key(_StateKey.MultimapSideInput, window, key), [data])
            keys[window].append(key)
            pairs[window].append(key + struct.pack(">i", count) + data)
        for window in keys:
            state.replace(self._key(_StateKey.MultimapKeysSideInput, window), keys[window])
            state.replace(self._key(_StateKey.MultimapKeysValuesSideInput, window), pairs[window])

    def _key(self, kind: Any, window: bytes, key: bytes | None = None) -> Any:
        at = {"transform_id": self.plan.transform, "side_input_id": self.plan.tag, "window": window}
        inner = kind(**at) if key is None else kind(**at, key=key)
        return _StateKey(**{_FIELDS[kind.DESCRIPTOR.name]: inner})


_FIELDS = {
    "IterableSideInput": "iterable_side_input",
    "MultimapSideInput": "multimap_side_input",
    "MultimapKeysSideInput": "multimap_keys_side_input",
    "MultimapKeysValuesSideInput": "multimap_keys_values_side_input",
}


class SideInputs:
    """All side inputs of a stage, and their rows in the saved state."""

    def __init__(
        self, plans: tuple[SidePlan, ...], context: Any, saved: SavedParts, state: StageState
    ) -> None:
        self.all = [StageSideInput(plan, context) for plan in plans]
        self._by_source: dict[tuple[str, str], list[int]] = defaultdict(list)
        for at, side in enumerate(self.all):
            for source in side.plan.sources:
                self._by_source[source].append(at)
        self._saved, self._state = saved, state
        self._rows = 0
        self._unsaved: list[tuple[int, bytes]] = []
        for number, (at, data) in sorted(saved.restored("side")):
            self._rows = number + 1
            self.all[at].append(data)

    def take(self, source: tuple[str, str], data: bytes) -> bool:
        """Add a row if the stream belongs to a side input."""
        found = self._by_source.get(source)
        if found is None:
            return False
        for at in found:
            self.all[at].append(data)
            self._unsaved.append((at, data))
        return True

    def are_ready(self, windows: Any) -> bool:
        """Whether elements in these windows of the main input may be processed."""
        return all(each.is_ready(windows) for each in self.all)

    @property
    def lowest(self) -> Timestamp:
        """The lowest watermark of all side inputs."""
        return min(each.watermark for each in self.all)

    def write(self) -> None:
        """Make all elements readable for bundles."""
        for each in self.all:
            each.write(self._state)

    def save(self) -> None:
        """Write the rows that have come since the last time."""
        for row in self._unsaved:
            self._saved.put("side", self._rows, row)
            self._rows += 1
        self._unsaved.clear()
