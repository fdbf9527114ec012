"""Drives one spout or bolt from what arrives: messages in, calls of user code, messages out.

Nothing here reads a clock, sleeps or touches a socket: `clock` and the outbox's `send` are given,
by server.py in a process and by the simulation in tests. The calls are methods rather than events
because this is the path of every tuple.
"""

import traceback
from array import array
from collections.abc import Callable, Iterable
from itertools import islice, repeat
from typing import Any

from heron_core.errors import ComponentError, ProtocolError
from heron_core.frames import (
    Flag,
    Frames,
    Header,
    Kind,
    check_batch,
    parse_header,
    roots_of,
    words,
)
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_instance.collector import BoltCollector, SpoutCollector
from heron_instance.metrics import Metrics
from heron_instance.options import Options
from heron_instance.outbox import Outbox
from heron_instance.tuples import HeronTuple, tick_tuple

Clock = Callable[[], float]
Decode = Callable[[bytes], list[list[Any]]]
Report = Callable[[str], None]
Process = Callable[[HeronTuple], None]

EVERY_MESSAGE_TIMED = 16
"""One message in 16 has each of its tuples timed, for the percentiles."""

ROOTS_FRAMES = 2
"""What tells of roots has a header and the roots."""
ERRORS_LOGGED_PER_SEC = 5
LAST_ERROR_CHARACTERS = 2000
"""Of a traceback, for the master: its end tells most."""
LOOK_UP_EVERY = 8
"""Tuples between two looks at the clock while they are fast. If they turn slow all of a sudden,
acks and ticks wait for so many of them."""
SLOW_SECS = 0.001
"""Longer than this between two looks, and the clock is read for every tuple."""

NEVER = float("inf")


class Core:
    """What spouts and bolts have in common: the linger deadline, the plan's epoch, closing."""

    def __init__(
        self, component: Any, outbox: Outbox, options: Options, clock: Clock, report: Report
    ) -> None:
        self.component = component
        self.outbox = outbox
        self.options = options
        self.metrics = Metrics()
        self.clock = clock
        self.report = report
        """Takes one text for the instance's log, at error level."""
        self._errors_until = 0.0
        self._errors_logged = 0
        self.due = 0.0
        """When the loop over tuples has to look up: linger, tick."""

    def plan_changed(self, epoch: int) -> None:
        """Frames carry the new epoch from here on; what is buffered was routed by it just as well.

        Only the addresses of stream managers change with the epoch, tasks and their containers do
        not, so nothing that has not left this process is stale.
        """
        self.outbox.epoch = epoch

    def flush(self) -> None:
        """Nothing more to take: send what is buffered."""
        self.outbox.flush()

    def deliver(self, frames: Frames) -> None:
        """Take one message; ProtocolError if it is malformed."""
        raise NotImplementedError

    def counts(self) -> tuple[int, int, bool]:
        """(deliveries sent, deliveries processed, whether nothing is left to do here)."""
        raise NotImplementedError

    def statistics(self) -> dict[str, Any]:
        """The snapshot for the master; may be called from another thread."""
        raise NotImplementedError

    def user_error(self, where: str) -> None:
        """Report the exception being handled as the user code's; its text goes to the log, but
        not more often than ERRORS_LOGGED_PER_SEC: a poisoned stream must not fill the disk."""
        self.metrics.errors += 1
        text = traceback.format_exc()
        self.metrics.last_error = text[-LAST_ERROR_CHARACTERS:]
        now = self.clock()
        if now >= self._errors_until:
            self._errors_until, self._errors_logged = now + 1.0, 0
        self._errors_logged += 1
        if self._errors_logged <= ERRORS_LOGGED_PER_SEC:
            self.report(f"{where} raised:\n{text}")
        elif self._errors_logged == ERRORS_LOGGED_PER_SEC + 1:
            self.report(f"{where} raised again; more in this second are counted, not logged")


class BoltCore(Core):
    """Feeds a bolt with the tuples of each batch, and with ticks between them."""

    def __init__(
        self,
        component: Any,
        outbox: Outbox,
        options: Options,
        clock: Clock,
        report: Report,
        collector: BoltCollector,
        decode: Decode,
        topology: TopologySpec,
        packing: PackingPlan,
        hooks: Any,
        metrics: Metrics,
    ) -> None:
        super().__init__(component, outbox, options, clock, report)
        self.collector = collector
        self.metrics = metrics
        self._decode = decode
        self._sources = {
            task: (each.component, [spec.name for spec in topology.by_name[each.component].outputs])
            for task, each in packing.instances.items()
        }
        self._messages = 0
        self._current: list[Any] = []
        self._next_tick = NEVER
        self._finished = False
        self._busy = False
        """In the middle of a batch: `executed` will grow, however long user code takes."""
        self._process = self._make_process(hooks)
        """One tuple through user code; raises what that raises."""
        self._step = 1
        """Tuples to run before the next look at the clock."""

    def start(self, now: float) -> None:
        """The plan is there: ticks begin (first one after a full interval)."""
        if self.options.tick_secs is not None and self._next_tick == NEVER:
            self._next_tick = now + self.options.tick_secs

    @property
    def next_tick(self) -> float:
        """When the next tick is due, on `clock`; infinity for none."""
        return self._next_tick

    def deliver(self, frames: Frames) -> None:
        """Run the bolt on each tuple of one DATA message; ProtocolError if it is malformed."""
        head = parse_header(frames[0])
        if head.kind != Kind.DATA:
            raise ProtocolError(f"a bolt was sent a frame of kind {head.kind}")
        check_batch(head, frames)
        if head.epoch < self.outbox.epoch:
            self.metrics.fenced += 1
            self._fail_batch(head, frames)
            return
        try:
            batch = self._decode(frames[1])
        except Exception:
            self.user_error("unpacking the values of a batch")
            self.metrics.executed += head.items
            self._fail_batch(head, frames)
            return
        started = self.clock()
        self.due = min(started + self.options.linger_secs, self._next_tick)
        self._messages += 1
        self._busy = True
        try:
            self._run_batch(head, frames, batch, started)
            self._count(len(batch), started)
        finally:
            self._busy = False

    def _fail_batch(self, head: Header, frames: Frames) -> None:
        """Nothing of a batch is processed: its roots fail now, not after the message timeout."""
        self.outbox.fails.extend(roots_of(head, frames))

    def _run_batch(
        self, head: Header, frames: Frames, batch: list[list[Any]], started: float
    ) -> None:
        timed = self._messages % EVERY_MESSAGE_TIMED == 1
        process = self._timed_process if timed else self._process
        if head.flags & ~(Flag.TRACKED | Flag.BEGINS):
            self._run(process, self._careful(head, frames, batch, started))
            return
        component, stream, ids = self._plain(head, frames, batch)
        if ids is None:
            self._run_untracked(process, batch, component, stream, head.source, started)
        else:
            self._run_tracked(process, batch, ids, component, stream, head.source, started)

    # The loops below are what every tuple passes, so they repeat a few lines rather than call.
    # A loop that user code breaks by an exception goes on with its iterator's next tuple. The
    # clock is read for every LOOK_UP_EVERY-th tuple, or for each where they are slow.

    def _run(self, process: Process, rows: Iterable[HeronTuple]) -> None:
        for tup in rows:
            try:
                process(tup)
            except Exception:
                self._process_failed(tup)
            if (now := self.clock()) >= self.due:
                self.look_up(now)

    def _run_untracked(
        self, process: Process, batch: list[list[Any]], component: str, stream: str, source: int,
        started: float,
    ) -> None:  # fmt: skip
        make, clock, rows, step = tuple.__new__, self.clock, iter(batch), self._step
        left, now = len(batch), started
        while left > 0:
            for values in islice(rows, step):
                tup = make(HeronTuple, (0, component, stream, source, values, started, None))
                try:
                    process(tup)
                except Exception:
                    self._process_failed(tup)
            left -= step
            before, now = now, clock()
            step = self._between(before, now)
        self._step = step

    def _run_tracked(
        self, process: Process, batch: list[list[Any]], ids: "array[int]", component: str,
        stream: str, source: int, started: float,
    ) -> None:  # fmt: skip
        make, clock, step, pairs = tuple.__new__, self.clock, self._step, iter(ids)
        rows = zip(batch, pairs, pairs, strict=True)
        left, now = len(batch), started
        while left > 0:
            for values, root, edge in islice(rows, step):
                track = [root, edge] if root else None
                tup = make(HeronTuple, (edge, component, stream, source, values, started, track))
                try:
                    process(tup)
                except Exception:
                    self._process_failed(tup)
            left -= step
            before, now = now, clock()
            step = self._between(before, now)
        self._step = step

    def _between(self, before: float, now: float) -> int:
        """Between some tuples: do what is due; returns how many to run before the next look."""
        if now >= self.due:
            self.look_up(now)
        return 1 if now - before > SLOW_SECS else LOOK_UP_EVERY

    def _count(self, executed: int, started: float) -> None:
        acked = self.outbox.acked
        now = self.clock()
        if acked:
            self.metrics.process.add(now - started)
            self.outbox.settle()
        elapsed = now - started
        metrics = self.metrics
        metrics.busy_secs += elapsed
        metrics.execute.total_secs += elapsed
        metrics.execute.number += executed
        metrics.executed += executed

    def look_up(self, now: float) -> None:
        """Between two tuples, when `due`: send what lingers, run a tick that is due."""
        self.tick(now)
        self.outbox.flush()
        self.due = min(now + self.options.linger_secs, self._next_tick)

    def tick(self, now: float) -> None:
        """Give the bolt a tick if one is due."""
        if now < self._next_tick or self.options.tick_secs is None:
            return
        self._next_tick = max(self._next_tick + self.options.tick_secs, now)
        self.metrics.ticks += 1
        try:
            self.component.process_tick(tick_tuple(now))
        except Exception:
            self.user_error("process_tick")

    def finish(self) -> None:
        """The end of a finite run: let the bolt say its last words, once whoever asks again."""
        if self._finished:
            return
        self._finished = True
        try:
            self.component.on_finish()
        except Exception:
            self.user_error("on_finish")
        self.outbox.flush()

    def _plain(
        self, head: Header, frames: Frames, batch: list[list[Any]]
    ) -> tuple[str, str, "array[int] | None"]:
        """Source component, stream and ids of a batch of one stream, one root a tuple at most."""
        try:
            component, names = self._sources[head.source]
            ids = words(frames[2]) if head.flags & Flag.TRACKED else None
            stream = names[head.stream]
        except (KeyError, IndexError) as error:
            raise ProtocolError(f"a batch that does not fit the plan: {error!r}") from error
        if type(batch) is not list or head.items != len(batch):
            raise ProtocolError(f"a body that is no list of {head.items} tuples")
        return component, stream, ids

    def _careful(
        self, head: Header, frames: Frames, batch: list[list[Any]], now: float
    ) -> list[HeronTuple]:
        """The tuples of a batch of several streams, or with tuples of several roots."""
        component, _, ids = self._plain(head, frames, batch)
        names = self._sources[head.source][1]
        try:
            return _careful_rows(head, frames, batch, ids, component, names, now)
        except (StopIteration, IndexError, ValueError) as error:
            raise ProtocolError(f"a malformed batch: {error!r}") from error

    def _make_process(self, hooks: Any) -> Process:
        component = self.component
        process, ack = component.process, component.ack
        auto_ack = bool(getattr(component, "auto_ack", False))
        auto_anchor = bool(getattr(component, "auto_anchor", False))
        current = self._current

        def comfortable(tup: HeronTuple) -> None:
            current[:] = (tup,)
            try:
                process(tup)
            finally:
                current.clear()
            if auto_ack:
                ack(tup)

        if auto_anchor:
            component.emit = _auto_anchored(component.emit, current)
        chosen = comfortable if auto_ack or auto_anchor else process
        return chosen if hooks is None else hooks.around_execute(chosen)

    def _timed_process(self, tup: HeronTuple) -> None:
        before = self.clock()
        try:
            self._process(tup)
        finally:
            self.metrics.execute.sample(self.clock() - before)

    def _process_failed(self, tup: HeronTuple) -> None:
        """A poison tuple fails alone, its siblings and the process live on; or, if the topology
        wants Heron's way, the process ends and is started again."""
        self.user_error(f"process of a tuple from {tup.component}.{tup.stream}")
        self.collector.fail(tup)
        if self.options.exits_on_exception:
            self.outbox.flush_acks()
            raise ComponentError(
                "process raised, and topology.bolt.on.exception is exit: "
                f"{(self.metrics.last_error or '').strip().splitlines()[-1]}"
            )

    def counts(self) -> tuple[int, int, bool]:
        """Processed first: what a tuple's processing sent is then counted for certain."""
        processed = self.metrics.executed
        return self.outbox.deliveries, processed, self.outbox.empty and not self._busy

    def statistics(self) -> dict[str, Any]:
        """The snapshot for the master."""
        collector = self.collector
        self.metrics.acked = self.outbox.acks_counted
        self.metrics.failed = collector.failed
        routes = collector.router.routes
        return self.metrics.snapshot(
            {
                "emitted": {name: route.emits[0] for name, route in routes.items()},
                "pending": 0,
                "finished": self._finished,
                "late": self.outbox.late,
            }
        )


def is_not_overridden(component: Any, name: str) -> bool:
    """Whether a component's method is the one of our API's base class."""
    method = getattr(type(component), name, None)
    return getattr(method, "__module__", "").startswith("heronpy_compat.api.")


def _auto_anchored(emit: Callable[..., Any], current: list[Any]) -> Callable[..., Any]:
    def anchored(
        tup: Any,
        stream: str = "default",
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        chosen = current if anchors is None else anchors
        return emit(tup, stream, chosen, direct_task, need_task_ids)

    return anchored


def _careful_rows(
    head: Header,
    frames: Frames,
    batch: list[list[Any]],
    ids: "array[int] | None",
    component: str,
    names: list[str],
    now: float,
) -> list[HeronTuple]:
    """Rows of a batch whose tuples have several streams or several roots."""
    rest = iter(frames[2 if ids is None else 3 :])
    streams: Iterable[int] = repeat(head.stream, len(batch))
    if head.flags & Flag.MIXED:
        found = array("H")
        found.frombytes(next(rest))
        streams = found
    tracks: list[list[int] | None] = [None] * len(batch)
    if ids is not None:
        tracks = [[root, ids[2 * at + 1]] if root else None for at, root in enumerate(ids[::2])]
    if head.flags & Flag.MULTI_ROOT:
        extras = words(next(rest))
        for position, root in zip(extras[::2], extras[1::2], strict=True):
            track = tracks[position]
            if track is None:
                raise ProtocolError("a batch with further roots for a tuple without any")
            track.extend((root, track[1]))
    return [
        HeronTuple(
            track[1] if track else 0, component, names[stream], head.source, values, now, track
        )
        for values, stream, track in zip(batch, streams, tracks, strict=True)
    ]


class SpoutCore(Core):
    """Calls next_tuple as long as it may, and tells the spout what became of its tuples."""

    def __init__(
        self,
        component: Any,
        outbox: Outbox,
        options: Options,
        clock: Clock,
        report: Report,
        collector: SpoutCollector,
    ) -> None:
        super().__init__(component, outbox, options, clock, report)
        self.collector = collector
        self.finished = False
        self.active = False
        self._planned = False
        """Whether it was ever said if the topology runs; until then nobody knows what is left."""
        self._ack: Callable[[Any], None] | None = component.ack
        if is_not_overridden(component, "ack"):
            self._ack = None  # the base class's does nothing: a call for each tuple is saved
        self._step = 1
        """Calls of next_tuple before the next look at the clock."""
        self.hooks: Any = None

    @property
    def may_emit(self) -> bool:
        """Whether next_tuple is to be called now."""
        pending = len(self.collector.pending)
        return self.active and not self.finished and pending < self.options.max_spout_pending

    def finish(self) -> None:
        """The spout has nothing more to emit; a later fail() opens it again."""
        self.finished = True

    def set_active(self, active: bool) -> None:
        """The topology runs or is paused: call the spout's hook once, let it emit or not."""
        self._planned = True
        if active == self.active:
            return
        self.active = active
        name = "activate" if active else "deactivate"
        try:
            getattr(self.component, name)()
        except Exception:
            self.user_error(name)

    def turn(self, until: float) -> bool:
        """Call next_tuple until it emits nothing, may not emit, or `until`; whether it emitted.

        Sends what lingers on the way and flushes at the end of an idle turn.
        """
        outbox, collector, clock = self.outbox, self.collector, self.clock
        pending, most = collector.pending, self.options.max_spout_pending
        started = now = clock()
        emitted, calls, step = True, 0, self._step
        while emitted and now < until and not self.finished and len(pending) < most:
            made, emitted = self._some_calls(min(step, most - len(pending)))
            calls += made
            if collector.done_at_once:
                self._ack_at_once()
            before, now = now, clock()
            step = 1 if now - before > SLOW_SECS else LOOK_UP_EVERY
        self._step = step
        if self.options.tracked:
            collector.stamp_newest_root(now)
        outbox.flush()
        self._count(calls, now - started)
        # A call that emits nothing ends a turn, so a second call means that the first one emitted.
        return calls > 1 or (emitted and calls > 0)

    def _some_calls(self, most: int) -> tuple[int, bool]:
        """Up to `most` calls of next_tuple, ended by one that emits nothing; (calls, emitted)."""
        outbox, next_tuple = self.outbox, self.component.next_tuple
        for call in range(1, most + 1):
            room, flushes = outbox.room, outbox.flushes
            try:
                next_tuple()
            except Exception:
                self.user_error("next_tuple")
            if room == outbox.room and flushes == outbox.flushes:
                return call, False
            if self.finished:
                return call, True
        return most, True

    def _count(self, calls: int, elapsed: float) -> None:
        metrics = self.metrics
        metrics.executed += calls
        metrics.busy_secs += elapsed
        metrics.execute.total_secs += elapsed
        metrics.execute.number += calls
        if calls:
            metrics.execute.sample(elapsed / calls)

    def _ack_at_once(self) -> None:
        """Without acks a tuple is acked as soon as it was emitted, the last one first (heronpy)."""
        done = self.collector.done_at_once
        while done:
            tup_id = done.pop()
            self.metrics.acked += 1
            self._settle(self.component.ack, tup_id)

    def deliver(self, frames: Frames) -> None:
        """What became of roots: call ack or fail for each tuple id once."""
        head = parse_header(frames[0])
        if len(frames) != ROOTS_FRAMES:
            raise ProtocolError(f"a spout was sent a message of {len(frames)} frames")
        roots = words(frames[1])
        if head.kind == Kind.ACKED:
            self._acked(roots)
        elif head.kind in (Kind.FAILED, Kind.EXPIRED):
            self._failed(roots, head.kind == Kind.EXPIRED)
        else:
            raise ProtocolError(f"a spout was sent a frame of kind {head.kind}")

    def _acked(self, roots: "array[int]") -> None:
        pending, started, ack = self.collector.pending, self.collector.started, self._ack
        settled = 0
        for root in roots:
            if root in started:
                self._complete(root)
            try:
                tup_id = pending.pop(root)
            except KeyError:  # settled before: it expired, or its tree was failed
                continue
            settled += 1
            if ack is not None:
                try:
                    ack(tup_id)
                except Exception:
                    self.user_error(f"ack({tup_id!r})")
        self.metrics.acked += settled

    def _complete(self, root: int) -> None:
        """A root of the sample is done: how long did it take?"""
        begun = self.collector.started.pop(root)
        self.metrics.complete.add(self.clock() - begun)
        if self.hooks is not None:
            self.hooks.spout_ack(self.collector.pending.get(root), begun)

    def _failed(self, roots: "array[int]", expired: bool) -> None:
        pending, hooks = self.collector.pending, self.hooks
        for root in roots:
            if root not in pending:
                continue
            tup_id = pending.pop(root)
            begun = self.collector.started.pop(root, None)
            self.metrics.failed += 1
            self.metrics.expired += expired
            self.finished = False
            if hooks is not None:
                hooks.spout_fail(tup_id, begun)
            self._settle(self.component.fail, tup_id)

    def fail_all(self) -> None:
        """The trees are gone (their stream manager died): fail what is pending, so it replays."""
        self._failed(array("Q", self.collector.pending), expired=False)

    def _settle(self, callback: Callable[[Any], None], tup_id: Any) -> None:
        try:
            callback(tup_id)
        except Exception:
            self.user_error(f"{getattr(callback, '__name__', 'a callback')}({tup_id!r})")

    def counts(self) -> tuple[int, int, bool]:
        """A spout that is paused or finished is idle when its last tuple is settled."""
        done = self.finished or (self._planned and not self.active)
        idle = done and not self.collector.pending and self.outbox.empty
        return self.outbox.deliveries, 0, idle

    def statistics(self) -> dict[str, Any]:
        """The snapshot for the master."""
        routes = self.collector.router.routes
        return self.metrics.snapshot(
            {
                "emitted": {name: route.emits[0] for name, route in routes.items()},
                "pending": len(self.collector.pending),
                "finished": self.finished,
                "late": 0,
            }
        )
