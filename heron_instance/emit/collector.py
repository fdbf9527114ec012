"""emit, ack and fail for user code: closures specialised at the start for the existing routes.

A stream with untyped values has a specialised `emit`: the shortest form for one consumer and one
target task per tuple. All other cases (several anchors, several threads, a direct task in
addition to a consumer) use `emit_general`. Both pack the values immediately, so later changes of
a list are harmless, and a value that cannot be serialised fails the emit.

Ack trees are Storm's: each delivery has a random 64-bit edge; the ack of a tuple reports the xor
of its own edge and the edges of all tuples anchored to it (storm: Acker.java).
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from heron_core.errors import ComponentError
from heron_core.native import (
    bolt_emit,
    bolt_emit_by_stream,
    bolt_emit_to_several,
    newest_root,
    pending_ids,
    put_tuple,
    spout_emit,
    spout_emit_by_stream,
    spout_emit_to_several,
    time_root,
)
from heron_core.optional_packages import needed
from heron_core.topology import DEFAULT_STREAM
from heron_core.wire.values import Pack, pack_fields
from heron_instance.emit.dead_letters import DeadLetters, LetterFault, present_fault
from heron_instance.emit.emitted_values import kept_values
from heron_instance.emit.output_buffers import Outbox, OutputBuffer, tasks_of
from heron_instance.emit.routing import Route, Router
from heron_instance.emit.threads_calls import ThreadsCalls
from heron_instance.input.anchors import Anchors, SharedAnchorState, anchors_of, is_settled
from heron_instance.options import InstanceOptions

if TYPE_CHECKING:
    from heron_instance.emit.column_output import BatchEmission, ColumnOutput

Emit = Callable[..., Any]
NextNumber = Callable[[], int]


class TaskCollector(ThreadsCalls):
    """Emits of one task; SpoutCollector and BoltCollector add tracking."""

    shares_edges = False
    """Whether adjacent tuples of one root in a buffer share an edge."""
    emit_by_stream: Callable[[Emit, dict[str, Emit], str | None], Emit]
    """What leads to the emits of streams by their names."""

    def __init__(
        self,
        router: Router,
        outbox: Outbox,
        options: InstanceOptions,
        pack: Pack,
        next_edge: NextNumber,
    ) -> None:
        super().__init__(outbox)
        self.router = router
        self.options = options
        self.component = router.component.name
        self.next_edge = next_edge
        self._pack = pack
        self.letters: DeadLetters | None = None
        """None if the stream `errors` has no reader."""

    def go_on_counting(self, before: "TaskCollector") -> None:
        """Take over the counts of the previous collector in the process."""
        for name, route in self.router.routes.items():
            route.emits[0] = before.router.routes[name].emits[0]

    @cached_property
    def columns(self) -> "ColumnOutput":
        """What emits record batches; ComponentError without pyarrow."""
        needed("pyarrow", f"{self.component}: emit_batch")
        # Late: pyarrow takes 0.1 s to import.
        from heron_instance.emit.column_output import ColumnOutput

        return ColumnOutput(
            self.router, self.outbox, self.options.message_bytes_max, self.next_edge
        )

    def packed(self, tup: Sequence[Any], route: Route) -> bytes:
        """The values as bytes; TypeError, RuntimeError or ComponentError if they cannot go."""
        values = self.checked(tup, route)
        try:
            data = self._pack(values)
        except Exception:
            spec, pickles = route.spec, self.options.pickles
            data = pack_fields(
                self._pack, values, self.component, spec.name, spec.fields, pickles=pickles
            )
        if len(data) > self.options.message_bytes_max:
            raise ComponentError(
                f"{self.component}.{route.spec.name}: a tuple of {len(data)} bytes is over the "
                f"limit of {self.options.message_bytes_max} (topology.message.bytes.max)"
            )
        return data

    def checked(self, tup: Any, route: Route) -> list[Any]:
        """The values as a list of the right length; RuntimeError otherwise, as in heronpy, and
        TypeError for a value that does not fit its declared type."""
        if not isinstance(tup, (list, tuple)):
            raise TypeError(
                f"{self.component}: emit takes a list or tuple of values, not {type(tup).__name__}"
            )
        if len(tup) != route.width:
            raise RuntimeError(
                f"{self.component}.{route.spec.name}: emitted {len(tup)} values for the "
                f"{route.width} fields {list(route.spec.fields)}"
            )
        if route.checks:
            route.checks.check(tup)
        return list(tup)

    def emits_made(self, general: Emit, unnamed: str | None, *how: Any) -> Emit:
        """`general`, preceded by a specialised emit for each route that permits one. `unnamed`:
        default stream; for `how` see `made_emit`."""
        if self.foreign is not None:
            return general
        routes = {name: route for name, route in self.router.routes.items() if route.is_plain}
        default = routes.pop(DEFAULT_STREAM, None)
        if routes:
            emits = {
                name: self.made_emit(route, general, name, *how) for name, route in routes.items()
            }
            general = self.emit_by_stream(general, emits, unnamed)
        return general if default is None else self.made_emit(default, general, unnamed, *how)

    def made_emit(self, route: Route, general: Emit, unnamed: str | None, *how: Any) -> Emit:
        """The emit of one route; unsupported cases go to `general`."""
        raise NotImplementedError

    def route_of(self, stream: str) -> Route:
        """The route of a declared stream; RuntimeError naming the declared ones otherwise."""
        try:
            return self.router.routes[stream]
        except KeyError:
            known = ", ".join(sorted(self.router.routes)) or "none"
            raise RuntimeError(
                f"{self.component} emits on stream {stream!r}, which it does not declare "
                f"(declared: {known})"
            ) from None

    def buffers_for(
        self, values: Sequence[Any], route: Route, direct_task: int | None
    ) -> list[OutputBuffer]:
        """All buffers of a tuple: the groupings' choice, and the direct task (heronpy adds it)."""
        if direct_task is None and not route.spec.direct:
            return [buffer for choose in route.choosers for buffer in choose(values)]
        direct = self._direct(route, direct_task)
        return [*(buffer for choose in route.choosers for buffer in choose(values)), *direct]

    def _direct(self, route: Route, task: object) -> list[OutputBuffer]:
        """The buffer of a direct task, if given."""
        if task is None:
            if route.spec.direct:
                raise RuntimeError(
                    f"{self.component}.{route.spec.name} is a direct stream: emit with direct_task"
                )
            return []
        if isinstance(task, bool) or not isinstance(task, int):
            raise TypeError(f"{self.component}: direct_task must be a task id, not {task!r}")
        if task not in route.reachable:
            raise RuntimeError(
                f"{self.component}.{route.spec.name}: task {task} does not read this stream "
                f"(its readers: {sorted(route.reachable)})"
            )
        return [self.router.buffer_to(task)]

    def emission_of(self, frame: Any, route: Route, direct_task: int | None) -> "BatchEmission":
        """Like `buffers_for`, for a frame: rows by buffer."""
        direct = tasks_of(self._direct(route, direct_task))
        return self.columns.emission(frame, route, direct)

    def put(
        self, buffers: Sequence[OutputBuffer], route: Route, data: bytes, roots: Sequence[int]
    ) -> int:
        """Append one packed tuple to its buffers, prepared by `Outbox.make_way`; returns the xor
        of the new edges.

        Buffers are not flushed here: a tree must start with all of its edges before any of its
        tuples is sent.
        """
        for buffer in buffers if len(roots) > 1 else ():
            buffer.add_roots(list(roots[1:]))
        outbox, root = self.outbox, roots[0] if roots else 0
        total: int = put_tuple(
            list(buffers), data, root, route.index, outbox.tracked, self.shares_edges,
            self.next_edge,
        )  # fmt: skip
        outbox.room -= (len(data) + outbox.overhead) * len(buffers)
        if not route.fast_path:
            route.emits[0] += 1
        return total


class BoltCollector(TaskCollector):
    """emit, ack and fail of a bolt."""

    shares_edges = True
    emit_by_stream = staticmethod(bolt_emit_by_stream)

    def __init__(
        self,
        router: Router,
        outbox: Outbox,
        options: InstanceOptions,
        pack: Pack,
        next_edge: NextNumber,
    ) -> None:
        super().__init__(router, outbox, options, pack, next_edge)
        self.failed = 0
        self.failed_for_good = 0
        """Deliveries without a root, which are never reported or replayed."""
        self.count_untracked: Callable[[str], None] = lambda stream: None
        self.ack: Callable[[Any], None] = outbox.acked.append
        """Note that the tuple is processed: `Outbox.settle` folds all acks of a batch at once,
        which saves a Python call for each."""
        self.emit: Emit = self.emit_of(self.emit_general, DEFAULT_STREAM)

    def go_on_counting(self, before: "TaskCollector") -> None:
        """See TaskCollector: what was abandoned stays abandoned."""
        super().go_on_counting(before)
        assert isinstance(before, BoltCollector)
        self.failed, self.failed_for_good = before.failed, before.failed_for_good

    def emit_of(
        self, general: Emit, unnamed: str | None, user: Any = None, thread: NextNumber = int
    ) -> Emit:
        """As `emits_made`. For a pystorm bolt `user`, emits without anchors are anchored to its
        _current_tups if its auto_anchor is set; every other case, and emits while `thread` returns
        another number than now, go to `general`."""
        return self.emits_made(general, unnamed, user, thread)

    def emit_general(
        self,
        tup: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit in the general way; returns the task ids if they were asked for."""
        route = self.route_of(stream)
        values = self.checked(tup, route)
        if self.this_thread() != self.main_thread and self.is_elsewhere():
            kept = None if anchors is None else list(anchors)
            rest = (kept_values(values, route), stream, kept, direct_task, need_task_ids)
            return self.left(self.emit_general, *rest, wants_tasks=need_task_ids)  # type: ignore[no-any-return]
        buffers = self.buffers_for(values, route, direct_task)
        self._put_anchored(buffers, route, self.packed(values, route), anchors)
        return tasks_of(buffers) if need_task_ids else None

    def emit_packed(
        self,
        values: list[Any],
        data: bytes,
        stream: str,
        anchors: Sequence[Any],
        direct_task: int | None,
    ) -> None:
        """Emit a tuple packed earlier, to its current tasks."""
        route = self.route_of(stream)
        self._put_anchored(self.buffers_for(values, route, direct_task), route, data, anchors)

    def _put_anchored(
        self,
        buffers: Sequence[OutputBuffer],
        route: Route,
        data: bytes,
        anchors: Sequence[Any] | None,
    ) -> None:
        anchor_states = self._anchors(anchors, route)
        if self.outbox.make_way(buffers, len(anchor_states) > 1):
            anchor_states = self._anchors(anchors, route)  # acks of the same tuples may have left
        total = self.put(buffers, route, data, list(anchor_states))
        for anchor_state, at in anchor_states.values():
            anchor_state[at] ^= total
        self.outbox.flush_if_full()

    def _anchors(self, anchors: Sequence[Any] | None, route: Route) -> Anchors:
        """Like `anchors_of`. Emits for a settled tuple are outside of its tree, which is
        complete or failed: they are counted."""
        if not anchors or not self.outbox.tracked:
            return {}
        if any(map(is_settled, anchors)):
            self.count_untracked(route.spec.name)
        return anchors_of(anchors)

    def made_emit(self, route: Route, general: Emit, unnamed: str | None, *how: Any) -> Emit:
        """See TaskCollector; `how`: the user and the thread of `emit_of`."""
        options, outbox = self.options, self.outbox
        make: Callable[..., Emit] = bolt_emit if route.fast_path else bolt_emit_to_several
        return make(
            outbox, general, self._pack, self.next_edge, route.pick(), route.width,
            options.message_bytes_max, outbox.overhead, outbox.tracked, unnamed, *how,
            self.shares,
        )  # fmt: skip

    def emit_batch(
        self,
        frame: Any,
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
    ) -> None:
        """Emit the rows of a frame, each a tuple, with one edge for each destination."""
        if self.this_thread() != self.main_thread and self.is_elsewhere():
            frame = self.columns.kept(frame, self.route_of(stream))
            kept = None if anchors is None else list(anchors)
            self.left(self.emit_batch, frame, stream, kept, direct_task)
            return
        route = self.route_of(stream)
        emission = self.emission_of(frame, route, direct_task)
        anchor_states = self._anchors(anchors, route)
        total = self.columns.put(emission, route, list(anchor_states))
        for anchor_state, at in anchor_states.values():
            anchor_state[at] ^= total
        self.outbox.flush_if_full()

    def ack_batch(self, tup: Any) -> None:
        """As `ack`, for a tuple whose values are a record batch, counting all rows."""
        roots = tup.roots
        if roots is None or roots or type(roots) is SharedAnchorState:
            self.outbox.acks_counted += tup.values.num_rows - 1
        self.ack(tup)

    def fail_batch(self, tup: Any) -> None:
        """As `fail`, of a tuple whose values are a record batch."""
        failed, for_good = self.failed, self.failed_for_good
        self.fail(tup)
        further = tup.values.num_rows - 1
        self.failed += further * (self.failed - failed)
        self.failed_for_good += further * (self.failed_for_good - for_good)

    def fail_by(self, tup: Any, fault: LetterFault | None) -> None:
        """As `fail`, for a reason that is not the exception being handled."""
        if self.letters is not None:
            self.letters.fault = fault
        self.fail(tup)

    def fail(self, tup: Any) -> None:
        """Fail the tuple: its roots fail at once and their spouts are notified. An abandoned
        tuple becomes a dead letter, if letters are read, which also settles the tuple."""
        if self.this_thread() != self.main_thread and self.is_elsewhere():
            self.left(self.fail_by, tup, None if self.letters is None else present_fault())
            return
        outbox = self.outbox
        outbox.settle()  # an ack came first, and the first result counts
        anchor_state = tup.roots
        if self.letters is not None and self.letters.takes_failed(tup):
            if anchor_state:
                (self.ack_batch if hasattr(tup.values, "num_rows") else self.ack)(tup)
            self.failed += not anchor_state
            return
        if anchor_state is None:
            self.failed_for_good += 1
        elif not outbox.fail(tup):
            return
        self.failed += 1


class SpoutCollector(TaskCollector):
    """emit of a spout: starts the trees and records the tuple id of each root."""

    emit_by_stream = staticmethod(spout_emit_by_stream)

    def __init__(
        self,
        router: Router,
        outbox: Outbox,
        options: InstanceOptions,
        pack: Pack,
        next_edge: NextNumber,
        next_root: NextNumber,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(router, outbox, options, pack, next_edge)
        self.pending: Any = pending_ids()
        """root -> the tuple id that the user gave, in order of their emit"""
        self.started: dict[int, float] = {}
        """root -> when it was emitted, for a sample of the roots (all of them for task hooks)"""
        self.done_at_once: list[Any] = []
        """Ids of untracked tuples: acked after next_tuple, last first."""
        self._next_root = next_root
        self._clock = clock
        self._stamps_all = False
        # With one delivery for each tuple, a batch's ids are the beginnings of its trees as well.
        outbox.ids_begin_trees = outbox.tracked and all(
            route.fast_path for route in router.routes.values()
        )
        self.emit: Emit = self.emit_of(self.emit_general, DEFAULT_STREAM)

    def emit_of(self, general: Emit, unnamed: str | None, thread: NextNumber | None = None) -> Emit:
        """As `emits_made`; calls in other threads than that of `thread` are left to `general`."""
        return self.emits_made(general, unnamed, thread)

    def stamp_every_root(self) -> None:
        """Task hooks want the latency of every tuple, not of a sample."""
        self._stamps_all = True
        self.emit = self.emit_general

    def stamp_newest_root(self, now: float) -> None:
        """Take the last tuple emitted into the sample of complete latencies."""
        if root := newest_root(self.pending):
            time_root(self.pending, self.started, root, now)

    def emit_general(
        self,
        tup: Sequence[Any],
        tup_id: Any = None,
        stream: str = DEFAULT_STREAM,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit in the general way; returns the task ids if they were asked for."""
        route = self.route_of(stream)
        values = self.checked(tup, route)
        if self.this_thread() != self.main_thread and self.is_elsewhere():
            rest = (kept_values(values, route), tup_id, stream, direct_task, need_task_ids)
            return self.left(self.emit_general, *rest, wants_tasks=need_task_ids)  # type: ignore[no-any-return]
        buffers = self.buffers_for(values, route, direct_task)
        data = self.packed(values, route)
        self.outbox.make_way(buffers, False)
        if tup_id is None or not self.outbox.tracked or not buffers:
            if tup_id is not None:
                self.done_at_once.append(tup_id)
            self.put(buffers, route, data, ())
        else:
            self._put_root(buffers, route, data, tup_id)
        self.outbox.flush_if_full()
        return tasks_of(buffers) if need_task_ids else None

    def emit_batch(
        self,
        frame: Any,
        tup_id: Any = None,
        stream: str = DEFAULT_STREAM,
        direct_task: int | None = None,
    ) -> None:
        """Emit the rows of a frame, each a tuple; all of them have one root."""
        if self.this_thread() != self.main_thread and self.is_elsewhere():
            frame = self.columns.kept(frame, self.route_of(stream))
            self.left(self.emit_batch, frame, tup_id, stream, direct_task)
            return
        route = self.route_of(stream)
        emission = self.emission_of(frame, route, direct_task)
        if tup_id is None or not self.outbox.tracked or not emission.slices:
            if tup_id is not None:
                self.done_at_once.append(tup_id)
            self.columns.put(emission, route, ())
        else:
            root = self._begun(tup_id)
            total = self.columns.put(emission, route, (root,))
            # A stream with declared types has no fast path, so no ids begin trees here.
            self.outbox.inits.extend((root, total))
        self.outbox.flush_if_full()

    def _begun(self, tup_id: Any) -> int:
        root = self._next_root()
        self.pending[root] = tup_id
        if self._stamps_all:
            time_root(self.pending, self.started, root, self._clock())
        return root

    def _put_root(
        self, buffers: list[OutputBuffer], route: Route, data: bytes, tup_id: Any
    ) -> None:
        root = self._begun(tup_id)
        outbox = self.outbox
        if not outbox.ids_begin_trees:
            total = self.put(buffers, route, data, (root,))
            outbox.inits.extend((root, total))
        elif len(buffers) == 1:
            self.put(buffers, route, data, (root,))
        else:
            # A direct task besides the grouping: the tree starts with several edges, so the tuple
            # is sent in a message of its own, after the tree's start.
            outbox.flush()
            outbox.ids_begin_trees = False
            outbox.inits.extend((root, self.put(buffers, route, data, (root,))))
            outbox.flush()
            outbox.ids_begin_trees = True

    def made_emit(self, route: Route, general: Emit, unnamed: str | None, *how: Any) -> Emit:
        """See TaskCollector; `how`: the thread of `emit_of`."""
        options, outbox = self.options, self.outbox
        inits = None if outbox.ids_begin_trees else outbox.inits
        make: Callable[..., Emit] = spout_emit if route.fast_path else spout_emit_to_several
        return make(
            outbox, general, self._pack, self.next_edge, self._next_root, route.pick(), route.width,
            options.message_bytes_max, outbox.overhead, outbox.tracked, unnamed, *how,
            self.pending, self.done_at_once, inits, self.shares,
        )  # fmt: skip
