"""Groupings at work in the emitting instance: from a tuple's values to the buffers it goes into.

Rules: the groupings of Storm (`org.apache.storm.grouping`) and Heron; task ids are sorted, so that
GLOBAL is the lowest. Each consumer of a stream has one chooser; a tuple goes to all tasks that the
choosers name.

A chooser is aimed at its consumer's tasks when it is made, and again when the topology is scaled.
The lists of buffers are changed in place, because the closures that user code emits by hold them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

from heron_api.class_loading import load_grouping
from heron_core.algorithms.hashing import NotHashable, slot, stable_hash
from heron_core.errors import ComponentError
from heron_core.field_types import FieldChecks
from heron_core.hot_emit import FullPick, Pick, Several
from heron_core.native import plain_keys
from heron_core.plans import PackingPlan
from heron_core.topology import ComponentSpec, GroupingKind, InputSpec, StreamSpec, TopologySpec
from heron_instance.emit.output_buffers import Outbox, OutputBuffer, find_conflicting

Choose = Callable[[Sequence[Any]], Sequence[OutputBuffer]]
BufferTo = Callable[[int], OutputBuffer]
MakeBuffer = Callable[[int, int], OutputBuffer]
"""Takes the task and the stream's index."""
Aim = Callable[[list[int]], None]
"""Takes the tasks of the consumer, sorted."""

SHUFFLED_BUFFERS = 256
"""A shuffle goes round a list of about so many: that it starts again costs 50 ns, once a round."""
KEYS_REMEMBERED_MAX = 1 << 16
"""Keys whose buffer a fields grouping remembers: some 8 MiB at most, then it starts from
scratch."""


class KeyedBuffers(dict[Any, OutputBuffer]):
    """key -> buffer of a fields grouping; an unknown key is hashed once.

    A key is the value of the one field, or a tuple of the values of several fields.
    """

    def __init__(self, are_several: bool, where: str) -> None:
        super().__init__()
        self.are_several = are_several
        self._where = where
        self.buffers: list[OutputBuffer] = []
        """A buffer for each range of the hashes; changed in place."""
        self.fast = plain_keys(self, self.buffers, are_several)
        """What an emit finds the buffer of a key by."""

    def aim(self, buffers: Sequence[OutputBuffer]) -> None:
        """Set the current buffers."""
        self.buffers[:] = buffers
        self.clear()

    def __missing__(self, key: Any) -> OutputBuffer:
        if len(self) >= KEYS_REMEMBERED_MAX:
            self.clear()
        buffer = self[key] = self.buffer_of(key if self.are_several else (key,))
        return buffer

    def buffer_of(self, values: Sequence[Any]) -> OutputBuffer:
        """The buffer of the grouped values, hashed again."""
        return self.buffers[self.slot_of(values)]

    def slot_of(self, values: Sequence[Any]) -> int:
        """Index of the chosen buffer in `buffers`."""
        try:
            return slot(stable_hash(values), len(self.buffers))
        except NotHashable as error:
            raise ComponentError(f"{self._where}: {error}") from None


class ByFields:
    """Chooses the buffer of a tuple by its values at some positions."""

    def __init__(self, positions: list[int], keyed: KeyedBuffers) -> None:
        self.positions = positions
        self.keyed = keyed
        self._key_of: Callable[[Sequence[Any]], Any] = itemgetter(*positions)

    def __call__(self, values: Sequence[Any]) -> Sequence[OutputBuffer]:
        try:
            return (self.keyed[self._key_of(values)],)
        except TypeError:  # a list, say: no key of a dict
            return (self.keyed.buffer_of([values[position] for position in self.positions]),)


class ByPartialKey:
    """Two candidates by the key, the one sent less to is taken (Storm PartialKeyGrouping)."""

    def __init__(self, positions: list[int], keyed: KeyedBuffers) -> None:
        self.positions = positions
        self.keyed = keyed
        self._known: dict[Any, tuple[int, int]] = {}
        self.sent: list[int] = []
        """How many tuples each buffer was sent; changed in place."""
        self.fast = plain_keys(self, keyed.buffers, keyed.are_several, self.sent)
        """What an emit finds the buffer of a key by."""

    def aim(self, buffers: Sequence[OutputBuffer]) -> None:
        """Set the current buffers."""
        self.keyed.aim(buffers)
        self._known.clear()
        self.sent[:] = [0] * len(buffers)

    def __call__(self, values: Sequence[Any]) -> Sequence[OutputBuffer]:
        return (self.less_used(self.candidates([values[each] for each in self.positions])),)

    def __getitem__(self, key: Any) -> OutputBuffer:
        """The buffer of the next tuple with a key, as in KeyedBuffers; TypeError for an
        unhashable key."""
        candidates = self._known.get(key)
        if candidates is None:
            if len(self._known) >= KEYS_REMEMBERED_MAX:
                self._known.clear()
            values = key if self.keyed.are_several else (key,)
            candidates = self._known[key] = self.candidates(values)
        return self.less_used(candidates)

    def candidates(self, key: Sequence[Any]) -> tuple[int, int]:
        """Where the tuples of a key may go."""
        return self.keyed.slot_of(key), self.keyed.slot_of(["second choice", *key])

    def less_used(self, candidates: tuple[int, int]) -> OutputBuffer:
        """The buffer of the next tuple, counting the tuple."""
        chosen, other = candidates
        if self.sent[other] < self.sent[chosen]:
            chosen = other
        self.sent[chosen] += 1
        return self.keyed.buffers[chosen]


class ByCustom:
    """Calls the user's grouping; recreated when its tasks change."""

    def __init__(
        self,
        make: Callable[[list[int]], Any],
        buffer_to: BufferTo,
        where: Callable[[str], str],
    ) -> None:
        self._make = make
        self._buffer_to = buffer_to
        self._where = where
        self._buffers: dict[int, OutputBuffer] = {}
        self._grouping: Any = None

    def aim(self, tasks: list[int]) -> None:
        """Set the current tasks."""
        self._grouping = self._make(list(tasks))
        self._buffers.clear()
        self._buffers.update((task, self._buffer_to(task)) for task in tasks)

    def __call__(self, values: Sequence[Any]) -> Sequence[OutputBuffer]:
        chosen = self._grouping.choose_tasks(list(values))
        try:
            return [self._buffers[task] for task in chosen]
        except (TypeError, KeyError):
            raise self._error(self._unknown("choose_tasks must return a list", chosen)) from None

    @property
    def divides_batches(self) -> bool:
        """Whether it has a method for a whole record batch."""
        return hasattr(self._grouping, "divide_batch")

    def divided(self, batch: Any) -> list[tuple[list[int], Any]]:
        """Result of the method for a batch: (tasks, their rows), …; ComponentError for invalid
        tasks, or for rows with other columns."""
        divided = []
        for tasks, rows in self._grouping.divide_batch(batch):
            chosen = list(tasks)
            if not set(chosen) <= self._buffers.keys():
                raise self._error(self._unknown("divide_batch must yield lists", chosen))
            if not rows.schema.equals(batch.schema):
                columns, others = (", ".join(each.schema.names) for each in (batch, rows))
                raise self._error(f"divide_batch must yield rows of {columns}, not of {others}")
            divided.append((chosen, rows))
        return divided

    def _unknown(self, what: str, chosen: object) -> str:
        return f"{what} of task ids out of {list(self._buffers)}, not {chosen!r}"

    def _error(self, text: str) -> ComponentError:
        return ComponentError(f"{self._where(type(self._grouping).__name__)}: {text}")


class DirectBuffers(dict[int, OutputBuffer]):
    """task -> buffer of the tasks allowed in a direct emit; KeyError for any other task."""

    def __init__(self, reachable: set[int], buffer_to: BufferTo) -> None:
        super().__init__()
        self._reachable, self._buffer_to = reachable, buffer_to

    def __missing__(self, task: int) -> OutputBuffer:
        if task not in self._reachable:
            raise KeyError(task)
        buffer = self[task] = self._buffer_to(task)
        return buffer


class Route:
    """One output stream: index, fields, and a chooser per consumer."""

    def __init__(self, index: int, spec: StreamSpec, component: str, buffer_to: BufferTo) -> None:
        self.index = index
        self.spec = spec
        self.checks: FieldChecks | None = None
        """Check of value types; None if not declared."""
        if spec.types:
            self.checks = FieldChecks(component, spec.name, spec.fields, spec.types)
        self.width = len(spec.fields)
        self.emits = [0]
        self.choosers: list[Choose] = []
        self.picks: list[FullPick] = []
        """For each consumer the parts of which `hot_emit` builds the choice of buffers."""
        self.turns: Iterator[OutputBuffer] | None = None
        """Set when the one consumer is shuffled: the buffers of the next tuples, without end."""
        self.keyed: tuple[list[int], Any] | None = None
        """Set when the one consumer is grouped by fields: their positions, and what has the buffer
        of a key."""
        self.reachable: set[int] = set()
        """Tasks allowed in a direct emit."""
        self.direct = DirectBuffers(self.reachable, buffer_to)

    def pick(self) -> Pick | Several:
        """Buffer selection used by the route's specialised emit."""
        if not self.fast_path:
            return self.picks, self.index, self.emits, self.direct, self.spec.direct
        if self.keyed is not None:
            positions, keyed = self.keyed
            return tuple(positions), keyed, iter(())
        assert self.turns is not None
        return (), None, self.turns

    @property
    def is_plain(self) -> bool:
        """Whether an emit can be made for it: no value is checked."""
        return self.checks is None

    @property
    def fast_path(self) -> bool:
        """Whether each tuple goes to exactly one buffer, used by the stream alone."""
        return self.turns is not None or self.keyed is not None


class Router:
    """All routes of one emitting task, with shared buffers."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        task: int,
        outbox: Outbox,
        context: Any,
        first: int = 0,
    ) -> None:
        self._packing = packing
        self._task = task
        self._outbox = outbox
        self._context = context
        self._first = first
        """Start offset of shuffles, so that several emitters start at different tasks."""
        self._single: dict[int, OutputBuffer] = {}
        self._fanout: dict[tuple[int, ...], OutputBuffer] = {}
        """(container, task, …) -> buffer"""
        self._columns: dict[tuple[int, int], OutputBuffer] = {}
        """(task, stream index) -> its buffer of record batches"""
        self._aims: list[tuple[Route, str, Aim]] = []
        """Choosers that depend on a consumer's tasks, by route."""
        self.component = topology.by_name[packing.instances[task].component]
        self.routes: dict[str, Route] = {}
        self.routes = {
            spec.name: self._route(index, spec, topology)
            for index, spec in enumerate(self.component.outputs)
        }
        outbox.is_read = bool(self._aims)
        self._aim()

    def repack(self, packing: PackingPlan) -> None:
        """The topology was rescaled: route tuples to the tasks of the plan.

        Buffered tuples for a removed task are sent at the next flush, and their roots fail.
        """
        self._packing = packing
        self._single = {task: buffer for task, buffer in self._single.items()
                        if task in packing.instances}  # fmt: skip
        self._fanout.clear()
        self._aim()
        self._columns = {(task, index): buffer for (task, index), buffer in self._columns.items()
                         if task in packing.instances}  # fmt: skip
        lists = (self._single.values(), self._fanout.values(), self._columns.values())
        used = {id(each) for each in chain.from_iterable(lists)}
        self._outbox.buffers[:] = [
            buffer for buffer in self._outbox.buffers if not buffer.is_empty or id(buffer) in used
        ]

    def _aim(self) -> None:
        for route in self.routes.values():
            route.reachable.clear()
            route.direct.clear()
        for route, consumer, aim in self._aims:
            tasks = self._packing.tasks_of[consumer]
            route.reachable.update(tasks)
            aim(tasks)
        if self._fanout or self._columns:
            find_conflicting(self._outbox.buffers)
        self._allow_fast_path()

    def buffer_to(self, task: int) -> OutputBuffer:
        """The buffer to one task, made when first asked for."""
        buffer = self._single.get(task)
        if buffer is None:
            buffer = self._single[task] = self._outbox.add_buffer(OutputBuffer(task))
            if self._fanout or self._columns:
                find_conflicting(self._outbox.buffers)
            if self.routes:  # a direct emit leads where no grouping does
                self._tell_streams(buffer)
        return buffer

    def columns_to(self, task: int, route: Route, make: MakeBuffer) -> OutputBuffer:
        """The buffer of record batches to one task, made when first asked for.

        Tuples and batches for one task keep their order: each buffer flushes the other before it
        takes something. (So the stream's tuples may not take the fast path, and do not: it declares
        types.)
        """
        buffer = self._columns.get((task, route.index))
        if buffer is None:
            buffer = self._columns[task, route.index] = make(task, route.index)
            others = [candidate for candidate in self._outbox.buffers
                      if task in (candidate.targets or (candidate.destination,))]  # fmt: skip
            for other in others:
                other.conflicting.append(buffer)
            buffer.conflicting = others
            self._outbox.add_buffer(buffer)
        return buffer

    def _tell_streams(self, buffer: OutputBuffer) -> None:
        """The header of a batch names its stream; in a shared buffer, each tuple does."""
        tasks = set(buffer.targets or (buffer.destination,))
        indexes = {route.index for route in self.routes.values() if route.reachable & tasks}
        if len(indexes) == 1:
            (buffer.stream,) = indexes
        elif not buffer.is_mixed:
            buffer.mix()

    def _route(self, index: int, spec: StreamSpec, topology: TopologySpec) -> Route:
        route = Route(index, spec, self.component.name, self.buffer_to)
        for consumer, each in topology.consumers.get((self.component.name, spec.name), ()):
            choose, aim = self._chooser(route, consumer, each)
            route.choosers.append(choose)
            self._aims.append((route, consumer.name, aim))
        return route

    def _chooser(
        self, route: Route, consumer: ComponentSpec, spec: InputSpec
    ) -> tuple[Choose, Aim]:
        grouping = spec.grouping
        match grouping.kind:
            case GroupingKind.SHUFFLE | GroupingKind.NONE:
                return self._shuffle(route, lambda tasks: tasks)
            case GroupingKind.LOCAL_OR_SHUFFLE:
                return self._shuffle(route, lambda tasks: self._local(tasks) or tasks)
            case GroupingKind.FIELDS:
                return self._by_fields(route, consumer, grouping.fields)
            case GroupingKind.PARTIAL_KEY:
                return self._by_partial_key(route, consumer, grouping.fields)
            case GroupingKind.ALL:
                return self._to_all(route, self._all)
            case GroupingKind.GLOBAL:
                return self._shuffle(route, lambda tasks: tasks[:1])
            case GroupingKind.DIRECT:
                return self._to_all(route, lambda tasks: [])  # named in direct emits
            case GroupingKind.CUSTOM:
                return self._custom(route, consumer, grouping.custom)

    def _to_all(
        self, route: Route, chosen: Callable[[list[int]], list[OutputBuffer]]
    ) -> tuple[Choose, Aim]:
        """A chooser without regard to values: each tuple goes to all buffers that `chosen` returns
        for the consumer's tasks."""
        buffers: list[OutputBuffer] = []

        def aim(tasks: list[int]) -> None:
            buffers[:] = chosen(tasks)

        def choose(values: Sequence[Any]) -> Sequence[OutputBuffer]:
            return buffers

        route.picks.append(((), None, None, buffers, choose))
        return choose, aim

    def _local(self, tasks: list[int]) -> list[int]:
        home = self._packing.container_of
        return [task for task in tasks if home[task] == home[self._task]]

    def _shuffle(
        self, route: Route, chosen: Callable[[list[int]], list[int]]
    ) -> tuple[Choose, Aim]:
        buffers: list[OutputBuffer] = []
        # As itertools.cycle, which would keep a copy of the buffers.
        route.turns = turns = chain.from_iterable(repeat(buffers))
        next_buffer = turns.__next__

        def aim(tasks: list[int]) -> None:
            among = chosen(tasks)
            start = self._first % len(among)
            lap = [self.buffer_to(task) for task in among[start:] + among[:start]]
            buffers[:] = lap * max(1, SHUFFLED_BUFFERS // len(lap))

        def choose(values: Sequence[Any]) -> Sequence[OutputBuffer]:
            return (next_buffer(),)

        route.picks.append(((), None, turns, None, choose))
        return choose, aim

    def _by_fields(
        self, route: Route, consumer: ComponentSpec, fields: tuple[str, ...]
    ) -> tuple[Choose, Aim]:
        positions = [route.spec.fields.index(field) for field in fields]
        keyed = KeyedBuffers(len(positions) > 1, self._where(route, consumer, fields))
        route.keyed = positions, keyed.fast
        choose = ByFields(positions, keyed)
        route.picks.append((tuple(positions), keyed.fast, None, None, choose))
        return choose, lambda tasks: keyed.aim(self._buffers_to(tasks))

    def _by_partial_key(
        self, route: Route, consumer: ComponentSpec, fields: tuple[str, ...]
    ) -> tuple[Choose, Aim]:
        positions = [route.spec.fields.index(field) for field in fields]
        keyed = KeyedBuffers(len(positions) > 1, self._where(route, consumer, fields))
        chooser = ByPartialKey(positions, keyed)
        route.keyed = positions, chooser.fast
        route.picks.append((tuple(positions), chooser.fast, None, None, chooser))
        return chooser, lambda tasks: chooser.aim(self._buffers_to(tasks))

    def _buffers_to(self, tasks: list[int]) -> list[OutputBuffer]:
        return [self.buffer_to(task) for task in tasks]

    def _all(self, tasks: list[int]) -> list[OutputBuffer]:
        """One buffer a container: fanned out where the container has several of the tasks."""
        containers: dict[int, list[int]] = {}
        for task in tasks:
            containers.setdefault(self._packing.container_of[task], []).append(task)
        return [
            self.buffer_to(here[0])
            if len(here) == 1
            else self._fanout_buffer(container, tuple(here))
            for container, here in containers.items()
        ]

    def _fanout_buffer(self, container: int, tasks: tuple[int, ...]) -> OutputBuffer:
        key = (container, *tasks)
        buffer = self._fanout.get(key)
        if buffer is None:
            known = (each for each in self._outbox.buffers
                     if (each.destination, *each.targets) == key)  # fmt: skip
            buffer = self._fanout[key] = next(known, None) or self._outbox.add_buffer(
                OutputBuffer(container, tasks)
            )
        return buffer

    def _custom(
        self, route: Route, consumer: ComponentSpec, custom: bytes | None
    ) -> tuple[Choose, Aim]:
        def make(tasks: list[int]) -> Any:
            grouping = load_grouping(custom or b"")
            grouping.prepare(self._context, self.component.name, route.spec.name, tasks)
            return grouping

        choose = ByCustom(make, self.buffer_to, lambda name: self._where(route, consumer, [name]))
        route.picks.append(((), None, None, None, choose))
        return choose, choose.aim

    def _where(self, route: Route, consumer: ComponentSpec, names: Sequence[str]) -> str:
        grouped = ", ".join(names)
        return f"{self.component.name}.{route.spec.name} grouped by {grouped} for {consumer.name}"

    def _allow_fast_path(self) -> None:
        """Streams with shared buffers, several targets, direct grouping or declared types are
        excluded."""
        for buffer in (*self._single.values(), *self._fanout.values()):
            self._tell_streams(buffer)
        for route in self.routes.values():
            buffers = [self._single[task] for task in route.reachable if task in self._single]
            shared = any(buffer.conflicting or buffer.is_mixed for buffer in buffers)
            if len(route.choosers) > 1 or shared or route.checks or route.spec.direct:
                route.turns = route.keyed = None
            elif route.fast_path:
                for buffer in buffers:
                    buffer.emits = route.emits
