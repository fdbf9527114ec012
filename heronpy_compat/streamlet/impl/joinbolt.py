"""join and its outer forms (heronpy.streamlet.impl.joinbolt)."""

from collections.abc import Hashable
from typing import Any

from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.keygrouping import KeyGrouping, key_and_value
from heronpy_compat.streamlet.impl.windowstage import KeyedStageStreamlet, KeyedWindowStageBolt
from heronpy_compat.streamlet.streamlet import Streamlet

JoinGrouping = KeyGrouping

Side = list[tuple[Any, list[Any]]]
"""Values of one key from one streamlet, each with the anchors of its results."""
MISSING: Side = [(None, [])]
"""Placeholder of the side without a value."""


class JoinBolt(KeyedWindowStageBolt):
    """Pairs the values of each key of a window."""

    OUTER_LEFT = 1
    INNER = 2
    OUTER_RIGHT = 3
    OUTER = 4
    JOINTYPE = "__join_type__"
    JOINEDCOMPONENT = "__joined_component__"

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Take the kind of join and the right streamlet's name out of the config."""
        super().initialize(config, context)
        kind = config[self.JOINTYPE]
        self._keeps_left = kind in (self.OUTER_LEFT, self.OUTER)
        self._keeps_right = kind in (self.OUTER_RIGHT, self.OUTER)
        self._right_name = config[self.JOINEDCOMPONENT]

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        """Emit one result for each pair, key by key in order of their first appearance."""
        found: dict[Hashable, tuple[Side, Side]] = {}
        for tup in tuples:
            key, value = key_and_value(tup.values[0], "join")
            sides = found.setdefault(key, ([], []))
            sides[tup.component == self._right_name].append((value, [tup]))
        for key, (left, right) in found.items():
            self._emit_pairs(window_info, key, *self._completed(left, right))

    def _completed(self, left: Side, right: Side) -> tuple[Side, Side]:
        if not right and self._keeps_left:
            right = MISSING
        elif not left and self._keeps_right:
            left = MISSING
        return left, right

    def _emit_pairs(self, info: Any, key: Any, left: Side, right: Side) -> None:
        for left_value, left_anchors in left:
            for right_value, right_anchors in right:
                result = self.function(left_value, right_value)
                self.emit_of_key(info, key, result, [*left_anchors, *right_anchors])


_KINDS = (JoinBolt.INNER, JoinBolt.OUTER_LEFT, JoinBolt.OUTER_RIGHT, JoinBolt.OUTER)


class JoinStreamlet(KeyedStageStreamlet):
    """Result of `Streamlet.join` and the outer joins; partitions follow the left streamlet."""

    prefix = "join"
    bolt = JoinBolt

    def __init__(
        self,
        join_type: int,
        window_config: Any,
        join_function: Any,
        left: Streamlet,
        right: Streamlet,
    ) -> None:
        if join_type not in _KINDS:
            raise StreamletError(f"the kind of a join must be one of JoinBolt's, not {join_type!r}")
        super().__init__(window_config, join_function, left, right)
        self._join_type = join_type

    def _component_config(self) -> dict[str, Any]:
        right = self._parents[1]._component_name()
        return {
            **self._config,
            JoinBolt.JOINTYPE: self._join_type,
            JoinBolt.JOINEDCOMPONENT: right,
        }
