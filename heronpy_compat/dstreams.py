"""Spark's DStreams by their names (pyspark.streaming, and mapWithState of Scala), over streamlets.

    context = StreamingContext("WordCount", 1)
    words = context.source(Lines()).flatMap(str.split).map(lambda word: (word, 1))
    words.mapWithState(StateSpec.function(total).initialState({"hello": 1})).pprint()
    context.start()
    context.awaitTermination()

Elements flow one by one: reduceByKey, updateStateByKey and windows alone wait for the end of a
batch.
docs/PORTING.md lists the differences from Spark.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from inspect import signature
from typing import Any

from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.stage import checked_function
from heronpy_compat.streamlet.initialstates import SavedStates as SavedStates
from heronpy_compat.streamlet.runner import Runner
from heronpy_compat.streamlet.statebykey import MappedState as MappedState
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.windowconfig import WindowConfig
from heronpy_compat.windows import Sliding

Function = Callable[[Any], Any]
Fold = Callable[[Any, Any], Any]
MILLISECONDS = 1000


class StateSpec:
    """Arguments of mapWithState; begin with `function`, further methods return the spec."""

    def __init__(self, mapping: Any) -> None:
        self.mapping = checked_function("StateSpec.function", mapping)
        self.takes_time = len(signature(mapping).parameters) == 4
        self.initial: Any = None
        self.partitions: int | None = None
        self.timeout_ms: int | None = None

    @classmethod
    def function(cls, mapping: Callable[..., Any]) -> "StateSpec":
        """mapping(key, value, state), or mapping(time in ms, key, value, state): returns an element
        or None; `value` is None for a key that times out."""
        return cls(mapping)

    def initialState(self, states: Any) -> "StateSpec":
        """A dict, pairs, a table of key and value, the path of a table, or SavedStates."""
        self.initial = states
        return self

    def numPartitions(self, partitions: int) -> "StateSpec":
        """How many partitions keep the states."""
        self.partitions = partitions
        return self

    def timeout(self, secs: float) -> "StateSpec":
        """A key without elements for so long is given to the function, and its state removed."""
        self.timeout_ms = _milliseconds("timeout", secs)
        return self


class DStream:
    """Elements; made by a StreamingContext and by the operations."""

    def __init__(self, streamlet: Streamlet, batch_secs: float) -> None:
        self.streamlet = streamlet
        """The same as a streamlet, for all other operations."""
        self._batch_secs = batch_secs

    def map(self, f: Function) -> "DStream":
        """The function's result for each element."""
        return self._of(self.streamlet.map(f))

    def flatMap(self, f: Function) -> "DStream":
        """The items of the function's result for each element."""
        return self._of(self.streamlet.flat_map(f))

    def filter(self, f: Function) -> "DStream":
        """The elements for which the function returns something true."""
        return self._of(self.streamlet.filter(f))

    def mapValues(self, f: Function) -> "DStream":
        """(key, the function's result for the value)."""
        checked_function("mapValues", f)
        return self.map(lambda pair: (pair[0], f(pair[1])))

    def union(self, other: "DStream") -> "DStream":
        """The elements of both."""
        return self._of(self.streamlet.union(other.streamlet))

    def repartition(self, numPartitions: int) -> "DStream":
        """The same elements in so many partitions."""
        return self._of(self.streamlet.repartition(numPartitions))

    def reduceByKey(self, func: Fold, numPartitions: int | None = None) -> "DStream":
        """(key, result) of each batch."""
        return self._by_key_and_window(func, self._batch_secs, self._batch_secs, numPartitions)

    def updateStateByKey(
        self,
        updateFunc: Callable[[list[Any], Any], Any],
        numPartitions: int | None = None,
        initialRDD: Any = None,
    ) -> "DStream":
        """(key, state) of each key with a state, in each batch: updateFunc(new values, state or
        None); None removes the state. `initialRDD` as StateSpec.initialState."""
        batch_ms = _milliseconds("batchDuration", self._batch_secs)
        grouped = self.streamlet.group_by_key()
        states = grouped.update_state(updateFunc, batch_ms, initialRDD, every_batch=True)
        return self._of(states, numPartitions)

    def mapWithState(self, spec: StateSpec) -> "DStream":
        """Results of the spec's function for each element and each key at its time-out."""
        if not isinstance(spec, StateSpec):
            raise StreamletError(f"mapWithState takes StateSpec.function(…), not {spec!r}")
        grouped = self.streamlet.group_by_key()
        elements = grouped.mapped_with_state(
            spec.mapping, spec.timeout_ms, spec.initial, spec.takes_time
        )
        return self._of(elements, spec.partitions)

    def trackStateByKey(self, spec: StateSpec) -> "DStream":
        """The name of mapWithState before Spark 1.6."""
        return self.mapWithState(spec)

    def reduceByKeyAndWindow(
        self,
        func: Fold,
        invFunc: Fold | None,
        windowDuration: float,
        slideDuration: float | None = None,
        numPartitions: int | None = None,
        filterFunc: Function | None = None,
    ) -> "DStream":
        """(key, result) of each window; with `invFunc` a slide takes the oldest values out instead
        of reducing the window again."""
        slide_secs = self._batch_secs if slideDuration is None else slideDuration
        if invFunc is None:
            results = self._by_key_and_window(func, windowDuration, slide_secs, numPartitions)
        else:
            window = Sliding(
                _milliseconds("windowDuration", windowDuration),
                _milliseconds("slideDuration", slide_secs),
            )
            reduced = self.streamlet.group_by_key().reduce_by_window(window, func, invFunc)
            results = self._of(reduced, numPartitions).map(_without_window)
        return results if filterFunc is None else results.filter(filterFunc)

    def countByValueAndWindow(
        self, windowDuration: float, slideDuration: float, numPartitions: int | None = None
    ) -> "DStream":
        """(element, number of occurrences) of each window."""
        return self.map(_once).reduceByKeyAndWindow(
            _add, _subtract, windowDuration, slideDuration, numPartitions
        )

    def foreach(self, f: Function) -> None:
        """Call the function for each element; Spark's foreachRDD has batches."""
        self.streamlet.consume(f)

    def pprint(self) -> None:
        """Write the elements to the log."""
        self.streamlet.log()

    def _by_key_and_window(
        self, func: Fold, secs: float, slide_secs: float, partitions: int | None
    ) -> "DStream":
        window = WindowConfig.create_sliding_window(
            timedelta(seconds=secs), timedelta(seconds=slide_secs)
        )
        reduced = self.streamlet.reduce_by_key_and_window(window, func)
        return self._of(reduced, partitions).map(_without_window)

    def _of(self, streamlet: Streamlet, partitions: int | None = None) -> "DStream":
        if partitions is not None:
            streamlet.set_num_partitions(partitions)
        return DStream(streamlet, self._batch_secs)


class StreamingContext:
    """Makes sources, and submits their topology."""

    def __init__(self, appName: str, batchDuration: float, config: Any = None) -> None:
        """`batchDuration` in seconds; `config` are keys of the topology. By default
        states are exact (EFFECTIVELY_ONCE), as Spark's are."""
        _milliseconds("batchDuration", batchDuration)
        self._name, self._batch_secs = appName, batchDuration
        mode = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
        self._config = Config({**mode, **(config or {})})
        self.builder = Builder()

    def source(self, source: Any) -> DStream:
        """Elements of a Generator, or of a function called for each element."""
        return DStream(self.builder.new_source(source), self._batch_secs)

    def queueStream(self, rdds: Iterable[Iterable[Any]]) -> DStream:
        """The elements of all collections, one after the other; the source ends behind them."""
        elements = [element for each in rdds for element in each]
        return DStream(self.builder.from_collection(elements), self._batch_secs)

    def start(self) -> None:
        """Submit the topology."""
        Runner().run(self._name, self._config, self.builder)

    def awaitTermination(self) -> None:
        """`heronpy run` waits for the end of the topology."""


def _milliseconds(what: str, secs: Any) -> int:
    if isinstance(secs, bool) or not isinstance(secs, int | float) or not secs * MILLISECONDS >= 1:
        raise StreamletError(f"{what} is a number of seconds, at least 0.001, not {secs!r}")
    return round(secs * MILLISECONDS)


def _without_window(element: Any) -> tuple[Any, Any]:
    return element[0].key, element[1]


def _once(element: Any) -> tuple[Any, int]:
    return element, 1


def _add(left: int, right: int) -> int:
    return left + right


def _subtract(left: int, right: int) -> int:
    return left - right
