"""Groupings at work in the emitting instance: from a tuple's values to the lanes it goes into.

Rules: Storm's and Heron's groupings (heron.md 2.3, storm.md 2.1); task ids are sorted, so GLOBAL is
the lowest. Each consumer of a stream has one chooser; a stream's tuple goes to all that they name.

A chooser is aimed at its consumer's tasks when it is made, and again when the topology is scaled.
The lists of lanes are changed in place, because the closures that user code emits by hold them.
"""

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any

from heron_core.algorithms.hashing import NotHashable, slot, stable_hash
from heron_core.errors import ComponentError
from heron_core.plans import PackingPlan
from heron_core.topology import ComponentSpec, GroupingKind, InputSpec, StreamSpec, TopologySpec
from heron_instance.emit.output_buffers import Lane, Outbox, make_rivals
from heronpy_compat.loading.class_loading import load_grouping

Choose = Callable[[Sequence[Any]], Sequence[Lane]]
Aim = Callable[[list[int]], None]
"""Takes the tasks of the consumer, sorted."""

SHUFFLED_LANES = 256
"""A shuffle goes round a list of about so many: that it begins anew costs 50 ns, once a round."""
KEYS_REMEMBERED_MAX = 1 << 16
"""Keys whose lane a fields grouping remembers: some 8 MiB at most, then it starts anew."""


class KeyedLanes(dict[Any, Lane]):
    """key -> lane of a fields grouping; an unknown key is hashed once."""

    def __init__(self, lanes: Sequence[Lane], where: str) -> None:
        super().__init__()
        self._lanes = lanes
        self._where = where

    def aim(self, lanes: Sequence[Lane]) -> None:
        """These are the lanes from now on."""
        self._lanes = lanes
        self.clear()

    def __missing__(self, key: Any) -> Lane:
        if len(self) >= KEYS_REMEMBERED_MAX:
            self.clear()
        lane = self[key] = self.lane_of([key])
        return lane

    def lane_of(self, values: Sequence[Any]) -> Lane:
        """The lane of the grouped values, hashed anew."""
        try:
            return self._lanes[slot(stable_hash(values), len(self._lanes))]
        except NotHashable as error:
            raise ComponentError(f"{self._where}: {error}") from None


def _no_next_lane() -> Lane:
    raise AssertionError("a keyed route has no next lane")


class Route:
    """One output stream: its index and fields, and a chooser for each consumer."""

    def __init__(self, index: int, spec: StreamSpec) -> None:
        self.index = index
        self.spec = spec
        self.width = len(spec.fields)
        self.emits = [0]
        self.choosers: list[Choose] = []
        self.next_lane: Callable[[], Lane] | None = None
        """Set when the one consumer is shuffled: the lane for the next tuple."""
        self.keyed: tuple[int, KeyedLanes] | None = None
        """Set when the one consumer is grouped by one field: its position and the lanes."""
        self.reachable: set[int] = set()
        """Tasks that a direct emit may name."""

    def pick(self) -> tuple[int, KeyedLanes | None, Callable[[], Lane]]:
        """How a shortcut finds the lane: by the value at a position, or else whichever is next."""
        if self.keyed is not None:
            return *self.keyed, _no_next_lane
        assert self.next_lane is not None
        return 0, None, self.next_lane

    @property
    def shortcut(self) -> bool:
        """Whether each tuple goes to exactly one lane that no other stream uses."""
        return self.next_lane is not None or self.keyed is not None


class Router:
    """All routes of one emitting task, its lanes shared between them."""

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
        """Where shuffles begin, so that several emitters do not all start at the same task."""
        self._single: dict[int, Lane] = {}
        self._fanout: dict[tuple[int, ...], Lane] = {}
        """(container, task, …) -> lane"""
        self._aims: list[tuple[Route, str, Aim]] = []
        """What has to know the tasks of a consumer, by the route that leads there."""
        self.component = topology.by_name[packing.instances[task].component]
        self.routes: dict[str, Route] = {}
        self.routes = {
            spec.name: self._route(index, spec, topology)
            for index, spec in enumerate(self.component.outputs)
        }
        self._aim()

    def repack(self, packing: PackingPlan) -> None:
        """The topology is scaled: from now on tuples go where the tasks are by this plan.

        What a lane to a task that is gone still holds leaves at the next flush, and its roots fail.
        """
        self._packing = packing
        self._single = {task: each for task, each in self._single.items()
                        if task in packing.instances}  # fmt: skip
        self._fanout.clear()
        self._aim()
        used = {id(each) for each in (*self._single.values(), *self._fanout.values())}
        self._outbox.lanes[:] = [
            each for each in self._outbox.lanes if each.parts or id(each) in used
        ]

    def _aim(self) -> None:
        for route in self.routes.values():
            route.reachable.clear()
        for route, consumer, aim in self._aims:
            tasks = self._packing.tasks_of[consumer]
            route.reachable.update(tasks)
            aim(tasks)
        if self._fanout:
            make_rivals(self._outbox.lanes)
        self._allow_shortcuts()

    def lane_to(self, task: int) -> Lane:
        """The lane to one task, made when first asked for."""
        lane = self._single.get(task)
        if lane is None:
            lane = self._single[task] = self._outbox.add_lane(Lane(task))
            if self._fanout:
                make_rivals(self._outbox.lanes)
            if self.routes:  # a direct emit leads where no grouping does
                self._tell_streams(lane)
        return lane

    def _tell_streams(self, lane: Lane) -> None:
        """A batch's header names its stream; on a lane that several share each tuple names its."""
        tasks = set(lane.targets or (lane.destination,))
        indexes = {route.index for route in self.routes.values() if route.reachable & tasks}
        if len(indexes) == 1:
            (lane.stream,) = indexes
        elif lane.streams is None:
            lane.streams = []

    def _route(self, index: int, spec: StreamSpec, topology: TopologySpec) -> Route:
        route = Route(index, spec)
        for consumer, each in topology.consumers.get((self.component.name, spec.name), ()):
            choose, aim = self._chooser(route, consumer, each)
            route.choosers.append(choose)
            self._aims.append((route, consumer.name, aim))
        return route

    def _chooser(
        self, route: Route, consumer: ComponentSpec, each: InputSpec
    ) -> tuple[Choose, Aim]:
        grouping = each.grouping
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
                return self._to_lanes(self._all)
            case GroupingKind.GLOBAL:
                return self._to_lanes(lambda tasks: [self.lane_to(tasks[0])])
            case GroupingKind.DIRECT:
                return lambda values: (), lambda tasks: None
            case GroupingKind.CUSTOM:
                return self._custom(route, consumer, grouping.custom)

    def _to_lanes(self, lanes_of: Callable[[list[int]], list[Lane]]) -> tuple[Choose, Aim]:
        """All tuples go into the same lanes."""
        lanes: list[Lane] = []

        def aim(tasks: list[int]) -> None:
            lanes[:] = lanes_of(tasks)

        return lambda values: lanes, aim

    def _local(self, tasks: list[int]) -> list[int]:
        home = self._packing.container_of
        return [task for task in tasks if home[task] == home[self._task]]

    def _shuffle(
        self, route: Route, chosen: Callable[[list[int]], list[int]]
    ) -> tuple[Choose, Aim]:
        lanes: list[Lane] = []
        # As itertools.cycle, which would keep a copy of the lanes.
        route.next_lane = next_lane = chain.from_iterable(repeat(lanes)).__next__

        def aim(tasks: list[int]) -> None:
            among = chosen(tasks)
            start = self._first % len(among)
            lap = [self.lane_to(task) for task in among[start:] + among[:start]]
            lanes[:] = lap * max(1, SHUFFLED_LANES // len(lap))

        return lambda values: (next_lane(),), aim

    def _by_fields(
        self, route: Route, consumer: ComponentSpec, fields: tuple[str, ...]
    ) -> tuple[Choose, Aim]:
        positions = [route.spec.fields.index(field) for field in fields]
        keyed = KeyedLanes([], self._where(route, consumer, fields))
        if len(positions) == 1:
            route.keyed = (positions[0], keyed)

        def choose(values: Sequence[Any]) -> Sequence[Lane]:
            return (keyed.lane_of([values[position] for position in positions]),)

        return choose, lambda tasks: keyed.aim([self.lane_to(task) for task in tasks])

    def _by_partial_key(
        self, route: Route, consumer: ComponentSpec, fields: tuple[str, ...]
    ) -> tuple[Choose, Aim]:
        """Two candidates by the key, the one sent less to is taken (Storm PartialKeyGrouping)."""
        positions = [route.spec.fields.index(field) for field in fields]
        first = KeyedLanes([], self._where(route, consumer, fields))
        sent: dict[Lane, int] = {}

        def aim(tasks: list[int]) -> None:
            lanes = [self.lane_to(task) for task in tasks]
            first.aim(lanes)
            sent.clear()
            sent.update(dict.fromkeys(lanes, 0))

        def choose(values: Sequence[Any]) -> Sequence[Lane]:
            key = [values[position] for position in positions]
            lane, other = first.lane_of(key), first.lane_of(["second choice", *key])
            if sent[other] < sent[lane]:
                lane = other
            sent[lane] += 1
            return (lane,)

        return choose, aim

    def _all(self, tasks: list[int]) -> list[Lane]:
        """One lane a container: fanned out where the container has several of the tasks."""
        containers: dict[int, list[int]] = {}
        for task in tasks:
            containers.setdefault(self._packing.container_of[task], []).append(task)
        return [
            self.lane_to(here[0]) if len(here) == 1 else self._fanout_lane(container, tuple(here))
            for container, here in containers.items()
        ]

    def _fanout_lane(self, container: int, tasks: tuple[int, ...]) -> Lane:
        key = (container, *tasks)
        lane = self._fanout.get(key)
        if lane is None:
            known = (each for each in self._outbox.lanes
                     if (each.destination, *each.targets) == key)  # fmt: skip
            lane = self._fanout[key] = next(known, None) or self._outbox.add_lane(
                Lane(container, tasks)
            )
        return lane

    def _custom(
        self, route: Route, consumer: ComponentSpec, custom: bytes | None
    ) -> tuple[Choose, Aim]:
        """The user's own; a new one is made and prepared each time that its tasks change."""
        names: list[str] = []
        grouping: Any = None
        lanes: dict[int, Lane] = {}

        def aim(tasks: list[int]) -> None:
            nonlocal grouping
            grouping = load_grouping(custom or b"")
            names[:] = [type(grouping).__name__]
            grouping.prepare(self._context, self.component.name, route.spec.name, list(tasks))
            lanes.clear()
            lanes.update((task, self.lane_to(task)) for task in tasks)

        def choose(values: Sequence[Any]) -> Sequence[Lane]:
            chosen = grouping.choose_tasks(list(values))
            try:
                return [lanes[task] for task in chosen]
            except (TypeError, KeyError):
                raise ComponentError(
                    f"{self._where(route, consumer, names)}: choose_tasks must return a list of "
                    f"task ids out of {list(lanes)}, not {chosen!r}"
                ) from None

        return choose, aim

    def _where(self, route: Route, consumer: ComponentSpec, names: Sequence[str]) -> str:
        grouped = ", ".join(names)
        return f"{self.component.name}.{route.spec.name} grouped by {grouped} for {consumer.name}"

    def _allow_shortcuts(self) -> None:
        """Streams that share a lane or have several targets go the careful way."""
        for lane in (*self._single.values(), *self._fanout.values()):
            self._tell_streams(lane)
        for route in self.routes.values():
            lanes = [self._single[task] for task in route.reachable if task in self._single]
            shared = any(lane.rivals or lane.streams is not None for lane in lanes)
            if len(route.choosers) > 1 or shared:
                route.next_lane = route.keyed = None
            elif route.shortcut:
                for lane in lanes:
                    lane.emits = route.emits
