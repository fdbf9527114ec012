"""Invariants of every cluster: the journal of all tuples, and the rules.

User code of the simulation reports each emit, delivery, ack and callback here; a broken rule raises
Violation at the very step. `origin` is the emitting process, so numbers start from scratch with
each process; `number` counts the emits of one origin over all of its streams.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence

from heron_core.plans import PackingPlan
from heron_core.topology import GroupingKind, TopologySpec
from heron_core.wire.frames import (
    EVERY_OWNER,
    FrameKind,
    Frames,
    Header,
    root_owner,
    u64_array,
)

ROOTS_PER_PROCESS = 1_000_000


class Violation(BaseException):
    """A rule is broken. Not an Exception, so that no `except Exception` on the way hides it."""


def require(holds: object, text: str) -> None:
    """Raise Violation with `text` unless the rule holds."""
    if not holds:
        raise Violation(text)


def owners_of(head: Header, message: Frames) -> set[int]:
    """The spouts whose roots a message settles."""
    if head.kind not in (FrameKind.ACK, FrameKind.FAIL):
        return set()
    if head.kind == FrameKind.FAIL or head.destination != EVERY_OWNER:
        return {head.destination}
    return set(map(root_owner, u64_array(message[1])[::2]))


class Journal:
    """Every tuple of one run: targets, deliveries, the outcome of the root."""

    def __init__(self, topology: TopologySpec) -> None:
        self.topology = topology
        self.unordered: Collection[str] = ()
        """Components whose emits come in any order."""
        self.calm = False
        """Faults are over: user code fails and holds back nothing any more."""
        self.killed = False
        """A process was killed, or ended with tuples that user code keeps: states may be lost."""
        self.undrained = False
        """An update went on with tuples in flight: its limit for the drain had passed."""
        self.deliveries = 0
        self._kinds = {
            (component.name, stream.name): {
                consumer.name: each.grouping.kind
                for consumer, each in topology.consumers.get((component.name, stream.name), ())
            }
            for component in topology.components
            for stream in component.outputs
        }
        self._left: dict[tuple[int, int], tuple[PackingPlan, dict[str, int]]] = {}
        """(origin, number) -> the plan of its emit, and the deliveries still due"""
        self.is_run_again = False
        """Whether bolts raise: then a task's next object repeats the undone work of the previous
        one. The counts at the end prove single counting."""
        self._runs: dict[tuple[int, int, int], int] = {}
        """(origin, number, task) -> the object of the last run"""
        self._latest: dict[tuple[int, int], int] = {}
        self._divided: dict[int, dict[int, int]] = {}
        """task -> emits before its last start with input of further tasks, by origin"""
        self._keyed: dict[tuple[str, str, str, object, tuple[int, ...]], int] = {}
        self._shuffled: dict[tuple[int, str, str, int], dict[int, int]] = {}
        self._numbers: dict[int, int] = defaultdict(int)
        self._roots: dict[int, int] = defaultdict(int)
        self._unprocessed: dict[int, int] = {}
        """root -> anchored deliveries without an ack"""
        self._failed: set[int] = set()
        self._settled: dict[int, str] = {}
        self._done: set[tuple[str, int]] = set()
        """(leaf, ident) that were fully processed"""

    @property
    def lossy(self) -> bool:
        """Whether tuples may be lost, though never doubled and never reordered."""
        return self.killed or self.undrained

    def _consumers(self, component: str, stream: str, packing: PackingPlan) -> dict[str, int]:
        """consumer -> to how many of its tasks a tuple goes"""
        return {
            consumer: len(packing.tasks_of[consumer]) if kind is GroupingKind.ALL else 1
            for consumer, kind in self._kinds[component, stream].items()
        }

    # --- emits and deliveries -----------------------------------------------------------------

    def new_root(self, origin: int) -> int:
        """The id that a spout gives to one tracked emit."""
        self._roots[origin] += 1
        root = origin * ROOTS_PER_PROCESS + self._roots[origin]
        self._unprocessed[root] = 0
        return root

    def emitted(
        self,
        origin: int,
        component: str,
        stream: str,
        roots: Sequence[int],
        packing: PackingPlan,
    ) -> int:
        """An emit is about to happen by that plan, anchored to `roots`; returns its number."""
        self._numbers[origin] += 1
        number = self._numbers[origin]
        copies = self._consumers(component, stream, packing)
        if copies:
            self._left[origin, number] = packing, copies
        total = sum(copies.values())
        for root in roots:
            self._unprocessed[root] += total
        return number

    def expected_copies(self, component: str, stream: str, packing: PackingPlan) -> int:
        """To how many tasks a tuple of the stream goes."""
        return sum(self._consumers(component, stream, packing).values())

    def begins_with_divided(self, task: int) -> None:
        """A task begins with input sent to further tasks of its component.

        Order and grouping do not hold for such tuples, the counts at the end do. The rule covers
        the task's next checkpoints, too, with the rest of the tuples.
        """
        self._divided[task] = dict(self._numbers)

    def received(
        self,
        origin: int,
        number: int,
        source: tuple[str, str, int],
        receiver: tuple[str, int, int],
        key: object,
    ) -> None:
        """A delivery from `source` (component, stream, task) to (component, task, process)."""
        self.deliveries += 1
        consumer, task, process = receiver
        if number <= self._divided.get(task, {}).get(origin, 0):
            return
        where = f"tuple {number} of process {origin} of {source} at task {task} ({consumer})"
        require(
            source[0] in self.unordered or number > self._latest.get((origin, process), 0),
            f"{where} is late or doubled: number {self._latest.get((origin, process))} was there",
        )
        self._latest[origin, process] = number
        if self.is_run_again and self._runs.setdefault((origin, number, task), process) != process:
            self._runs[origin, number, task] = process
            return
        require((origin, number) in self._left, f"{where} came more often than it was sent")
        packing, left = self._left[origin, number]
        require(left.get(consumer, 0) > 0, f"{where} came more often than it was sent: {left}")
        left[consumer] -= 1
        if not any(left.values()):
            del self._left[origin, number]
        self._check_grouping(origin, source, consumer, task, key, where, packing)

    def _check_grouping(
        self,
        origin: int,
        source: tuple[str, str, int],
        consumer: str,
        task: int,
        key: object,
        where: str,
        packing: PackingPlan,
    ) -> None:
        component, stream, source_task = source
        kind = self._kinds[component, stream][consumer]
        tasks = packing.tasks_of[consumer]
        if kind is GroupingKind.FIELDS:
            keyed = (component, stream, consumer, key, tuple(tasks))
            first = self._keyed.setdefault(keyed, task)
            require(first == task, f"{where}: key {key!r} went to task {first} before")
        elif kind is GroupingKind.GLOBAL:
            require(task == tasks[0], f"{where}: not the lowest task")
        elif kind is GroupingKind.LOCAL_OR_SHUFFLE:
            home = packing.container_of
            local = [each for each in tasks if home[each] == home[source_task]]
            require(not local or task in local, f"{where}: not local, though {local} are")
        elif kind is GroupingKind.SHUFFLE:
            counts = self._shuffled.setdefault(
                (origin, stream, consumer, id(packing)), dict.fromkeys(tasks, 0)
            )
            counts[task] += 1

    # --- trees --------------------------------------------------------------------------------

    def processed(self, roots: Sequence[int]) -> None:
        """A delivery anchored to `roots` is about to be acked."""
        for root in roots:
            self._unprocessed[root] -= 1

    def failed(self, roots: Sequence[int]) -> None:
        """A delivery anchored to `roots` is about to be failed."""
        self._failed.update(roots)

    def leaf_done(self, leaf: str, idents: Sequence[int]) -> None:
        self._done.update((leaf, ident) for ident in idents)

    def settled(self, root: int, outcome: str, tracked: bool) -> None:
        """A spout's ack or fail is called for one emit."""
        before = self._settled.get(root)
        require(before is None, f"root {root} was {before} and is now {outcome}")
        self._settled[root] = outcome
        if tracked and outcome == "acked":
            left = self._unprocessed[root]
            require(left == 0, f"root {root} is acked, {left} deliveries are not")
            require(root not in self._failed, f"root {root} is acked, though a bolt failed it")

    def ended(self, component: object) -> None:
        """The process of a component was ended in order, because the topology was scaled."""
        if getattr(component, "held", None):
            self.killed = True  # user code that keeps tuples and is ended loses them

    # --- the end ------------------------------------------------------------------------------

    def check_roots(self, living: Sequence[int]) -> None:
        """Each tracked emit of live processes ended in exactly one callback."""
        for origin in living:
            first = origin * ROOTS_PER_PROCESS + 1
            for root in range(first, first + self._roots[origin]):
                require(root in self._settled, f"nothing was heard of root {root}")

    def check_deliveries(self) -> None:
        """Where no process was killed nothing is missing, and shuffles were even."""
        if self.lossy:
            return
        require(not self._left, f"never delivered: {dict(list(self._left.items())[:5])}")
        for (origin, stream, consumer, _), counts in self._shuffled.items():
            spread = max(counts.values()) - min(counts.values())
            require(
                spread <= 1, f"process {origin} shuffled {stream} for {consumer} unevenly: {counts}"
            )

    def check_idents(self, emitted: dict[str, dict[str, list[int]]]) -> None:
        """At least once: every leaf within reach of an ident has processed the ident."""
        for component, streams in emitted.items():
            for stream, idents in streams.items():
                for leaf in self.leaves_of(component, stream):
                    missing = [each for each in idents if (leaf, each) not in self._done]
                    require(not missing, f"{leaf} never processed {missing[:5]} of {component}")

    def leaves_of(self, component: str, stream: str) -> set[str]:
        """The last bolts that tuples of a stream come to."""
        found: set[str] = set()
        for consumer in self._kinds[component, stream]:
            onward = {
                leaf
                for each in self.topology.by_name[consumer].outputs
                for leaf in self.leaves_of(consumer, each.name)
            }
            found |= onward or {consumer}
        return found
