"""Streamlets: a topology as operations on streams of elements (heronpy.streamlet.streamlet).

Each operation adds a stage: a bolt with one instance per partition. Emitted elements are anchored
to their inputs, so ATLEAST_ONCE loses no element (heronpy's stages emit without anchors).
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.elements import Element, Fold, Key, Made, Right, Value
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM
from heronpy_compat.streamlet.transformoperator import TransformOperator
from heronpy_compat.streamlet.windowconfig import WindowConfig

if TYPE_CHECKING:
    from heronpy_compat.streamlet.groupedstreamlet import GroupedStreamlet
    from heronpy_compat.streamlet.keyedwindow import KeyedWindow
    from heronpy_compat.streamlet.localstreamlet import LocalStreamlet
    from heronpy_compat.streamlet.timedstreamlet import KeyedStreamlet, TimedStreamlet
    from heronpy_compat.streamlet.window import Window


class Streamlet(Generic[Element]):
    """A stream of elements in partitions; made by `Builder.new_source` and by the operations.

    A `Streamlet[str]` has elements of type str, for editors and type checkers (elements.py).

        words = builder.new_source(Lines()).flat_map(str.split)
        words.map(lambda word: (word, 1)).log()
    """

    def __init__(self) -> None:
        self._children: list[Streamlet[Any]] = []
        self._name: str | None = None
        self._is_named = False
        self._component: str | None = None
        self._num_partitions = 1
        self._built = False
        self._output = OUTPUT_STREAM

    def set_name(self, name: str) -> Self:
        """Name the stage; the default is the operation and a number, e.g. map-1."""
        self._name = name
        return self

    def get_name(self) -> str | None:
        """The stage's name; None until a name is assigned."""
        return self._name

    def set_num_partitions(self, num_partitions: int) -> Self:
        """Set the number of partitions; the default is 1 for a source, else the first parent's."""
        self._num_partitions = num_partitions
        return self

    def get_num_partitions(self) -> int:
        """The number of partitions of the stage."""
        return self._num_partitions

    def map(self, map_function: Callable[[Element], Made]) -> "Streamlet[Made]":
        """The function's result for each element."""
        return self._derived("mapbolt", "MapStreamlet", map_function)

    @overload
    def flat_map(
        self, flatmap_function: Callable[[Element], Iterable[Made]]
    ) -> "Streamlet[Made]": ...
    @overload
    def flat_map(self, flatmap_function: Callable[[Element], Made]) -> "Streamlet[Made]": ...
    def flat_map(self, flatmap_function: Callable[[Element], Any]) -> "Streamlet[Any]":
        """The items of the function's result for each element; a result without items is one."""
        return self._derived("flatmapbolt", "FlatMapStreamlet", flatmap_function)

    def filter(self, filter_function: Callable[[Element], object]) -> "Streamlet[Element]":
        """The elements for which the function returns a true value."""
        return self._derived("filterbolt", "FilterStreamlet", filter_function)

    def repartition(
        self, num_partitions: int, repartition_function: Callable[..., Any] | None = None
    ) -> "Streamlet[Element]":
        """The elements in `num_partitions` partitions, assigned by the function.

        The function receives the element, or the element and the number of partitions, and returns
        the index of a partition or a list of indices (modulo the number). Without a function
        elements are spread evenly.
        """
        return self._derived(
            "repartitionbolt", "RepartitionStreamlet", num_partitions, repartition_function
        )

    def clone(self, num_clones: int) -> "list[Streamlet[Element]]":
        """`num_clones` streamlets with all elements each."""
        return [self.repartition(self.get_num_partitions()) for _ in range(num_clones)]

    def reduce_by_window(
        self, window_config: WindowConfig, reduce_function: Callable[[Any, Element], Made]
    ) -> "Streamlet[tuple[Window, Made]]":
        """(Window, result) for each window, empty windows included: reduce_function(so far,
        element).

        The first call receives None (heronpy), or the first element if the function rejects None.
        Each partition reduces its own elements; one partition reduces all elements.
        """
        return self._derived(
            "reducebywindowbolt", "ReduceByWindowStreamlet", window_config, reduce_function
        )

    def reduce_by_key_and_window(
        self: "Streamlet[tuple[Key, Value]]",
        window_config: WindowConfig,
        reduce_function: Callable[[Value, Value], Value],
    ) -> "Streamlet[tuple[KeyedWindow, Value]]":
        """(KeyedWindow, result) for each key of each window, of elements (key, value).

        The first call of reduce_function(so far, value) receives the first two values; a single
        value is the result. Default: one partition; with more, equal keys share a partition.
        """
        return self._derived(
            "reducebykeyandwindowbolt",
            "ReduceByKeyAndWindowStreamlet",
            window_config,
            reduce_function,
        )

    def union(self, other_streamlet: "Streamlet[Right]") -> "Streamlet[Element | Right]":
        """The elements of both."""
        return self._derived("unionbolt", "UnionStreamlet", other=other_streamlet)

    def transform(self, transform_operator: TransformOperator) -> "Streamlet[Any]":
        """The elements emitted by the operator."""
        return self._derived("transformbolt", "TransformStreamlet", transform_operator)

    def log(self) -> None:
        """Write the elements to the log."""
        self._derived("logbolt", "LogStreamlet")

    def consume(self, consume_function: Callable[[Element], object]) -> None:
        """Call the function for each element."""
        self._derived("consumebolt", "ConsumeStreamlet", consume_function)

    def join(
        self: "Streamlet[tuple[Key, Value]]",
        join_streamlet: "Streamlet[tuple[Key, Right]]",
        window_config: WindowConfig,
        join_function: "Callable[[Value, Right], Made]",
    ) -> "Streamlet[tuple[KeyedWindow, Made]]":
        """(KeyedWindow, join_function(left, right)) for each pair of values with equal keys.

        Elements of both streamlets are (key, value); `self` is the left side.
        """
        return self._joined("INNER", join_streamlet, window_config, join_function)

    def outer_left_join(
        self: "Streamlet[tuple[Key, Value]]",
        join_streamlet: "Streamlet[tuple[Key, Right]]",
        window_config: WindowConfig,
        join_function: "Callable[[Value, Right | None], Made]",
    ) -> "Streamlet[tuple[KeyedWindow, Made]]":
        """Like `join`; a key without a right value gives join_function(left, None)."""
        return self._joined("OUTER_LEFT", join_streamlet, window_config, join_function)

    def outer_right_join(
        self: "Streamlet[tuple[Key, Value]]",
        join_streamlet: "Streamlet[tuple[Key, Right]]",
        window_config: WindowConfig,
        join_function: "Callable[[Value | None, Right], Made]",
    ) -> "Streamlet[tuple[KeyedWindow, Made]]":
        """Like `join`; a key without a left value gives join_function(None, right)."""
        return self._joined("OUTER_RIGHT", join_streamlet, window_config, join_function)

    def outer_join(
        self: "Streamlet[tuple[Key, Value]]",
        join_streamlet: "Streamlet[tuple[Key, Right]]",
        window_config: WindowConfig,
        join_function: "Callable[[Value | None, Right | None], Made]",
    ) -> "Streamlet[tuple[KeyedWindow, Made]]":
        """Like `join`, with None in place of a missing left or right value."""
        return self._joined("OUTER", join_streamlet, window_config, join_function)

    def key_by(self, key_function: Callable[[Element], object]) -> "KeyedStreamlet[Element]":
        """The elements by key, for windows and joins (KeyedStreamlet); an extension of heronpy's
        API.

        Without `with_event_time` windows use processing time.
        """
        return self._timed().key_by(key_function)

    def group_by(self, key_function: Callable[[Element], object]) -> "GroupedStreamlet[Element]":
        """The elements by key, for running values and states (GroupedStreamlet: reduce, sum, count,
        update_state, map_with_state, reduce_by_window); heronpy has none."""
        return self._grouped(self.key_by(key_function))

    def group_by_key(self: "Streamlet[tuple[Key, Value]]") -> "GroupedStreamlet[Value]":
        """The elements (key, value) by key: values can be reduced, summed and counted."""
        return self._grouped_by_key(self._timed())

    def sql(
        self, text: str, lag_ms: int = 0, columns: Any = None, tables: Any = None
    ) -> "Streamlet[dict[str, Any]]":
        """The rows of a SELECT FROM input, as dicts: `input` are these elements, dicts or tuples of
        `columns`; an element may be `lag_ms` behind another. `tables` are rows for JOINs."""
        module = import_module("heronpy_compat.sql.planning")
        names = None if columns is None else tuple(columns)
        stream = module.SqlStream(self, names, lag_ms)
        rows: Streamlet[dict[str, Any]] = module.sql(text, {"input": stream}, tables)
        return rows

    def with_event_time(
        self,
        timestamp_function: Callable[[Element], int],
        lag_ms: int = 0,
        idle_ms: int | None = None,
        watermarks: Any = None,
    ) -> "TimedStreamlet[Element]":
        """The elements with event times (TimedStreamlet), for `key_by` and `window`.

        `timestamp_function(element)` returns milliseconds since 1970; elements may lag the latest
        timestamp by `lag_ms`. A source idle for `idle_ms` does not delay watermarks. `watermarks`,
        an alternative to `lag_ms`, is a strategy of heronpy_compat.windows.
        """
        return self._timed(timestamp_function, lag_ms, idle_ms, watermarks)

    def local(self, name: str = "sink") -> "LocalStreamlet[Element]":
        """The elements in the client's process, for `flow.sinks[name]` (materializer.py); an
        extension of heronpy's API."""
        sink: Any = self._derived("clientbolt", "ClientSinkStreamlet", name)
        local: LocalStreamlet[Element] = sink.local_streamlet
        return local

    def _timed(self, *arguments: Any) -> "TimedStreamlet[Any]":
        module = import_module("heronpy_compat.streamlet.timedstreamlet")
        timed: TimedStreamlet[Any] = module.TimedStreamlet(self, *arguments)
        return timed

    def _grouped(self, *arguments: Any) -> "GroupedStreamlet[Any]":
        module = import_module("heronpy_compat.streamlet.groupedstreamlet")
        grouped: GroupedStreamlet[Any] = module.GroupedStreamlet(*arguments)
        return grouped

    def _grouped_by_key(self, timed: Any) -> "GroupedStreamlet[Any]":
        module = import_module("heronpy_compat.streamlet.groupedstreamlet")
        return self._grouped(timed.key_by(module.first_of_pair), module.second_of_pair)

    def _joined(
        self, kind: str, other: "Streamlet[Any]", window_config: WindowConfig, function: Fold
    ) -> "Streamlet[Any]":
        number = import_module(f"{_IMPL}.joinbolt").JoinBolt.__dict__[kind]
        return self._derived(
            "joinbolt", "JoinStreamlet", number, window_config, function, other=other
        )

    def _derived(
        self, module: str, kind: str, *arguments: Any, other: "Streamlet[Any] | None" = None
    ) -> "Streamlet[Any]":
        """A streamlet of a class of `impl` (a module that imports the present module), of one or
        two parents."""
        parents = (self,) if other is None else (self, other)
        stage = getattr(import_module(f"{_IMPL}.{module}"), kind)
        derived: Streamlet[Any] = stage(*arguments, *parents)
        for parent in parents:
            parent._add_child(derived)
        return derived

    def _add_child(self, child: "Streamlet[Any]") -> None:
        self._children.append(child)

    def _build(self, bldr: TopologyBuilder, stage_names: set[str]) -> None:
        """Build the stage and then the stages after it."""
        if self._built:
            raise StreamletError("Logic error while building: a streamlet is its own partner")
        if self._build_this(bldr, stage_names):
            self._built = True
            for child in self._children:
                # A stage whose two parents share an ancestor is built after the later parent.
                if not child._built or self._children.count(child) > 1:
                    child._build(bldr, stage_names)

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        """Add the stage to `builder`; False if a streamlet it comes from is not built yet."""
        raise StreamletError(f"{type(self).__name__} must define _build_this(builder, stage_names)")

    def _take_name(self, prefix: str, stage_names: set[str]) -> str:
        """The stage's name, from now on in `stage_names`."""
        if self._is_named and self._name:
            return self._name
        if not self._name:
            self._name = self._default_stage_name_calculator(prefix, stage_names)
        if self._name in stage_names:
            raise StreamletError(f"two streamlets have the name {self._name!r}: rename one")
        stage_names.add(self._name)
        self._is_named = True
        return self._name

    def _component_name(self) -> str:
        """The component that emits the elements; fused stages share a component (impl/stage.py)."""
        return self._component or self.get_name() or ""

    def _default_stage_name_calculator(self, prefix: str, existing_stage_names: set[str]) -> str:
        """`prefix`-1, or the next free number."""
        number = 1
        while f"{prefix}-{number}" in existing_stage_names:
            number += 1
        return f"{prefix}-{number}"

    def _all_built(self) -> bool:
        return self._built and all(child._all_built() for child in self._children)


_IMPL = "heronpy_compat.streamlet.impl"
