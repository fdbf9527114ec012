"""Drives a bolt: each tuple of each batch through `process`, ticks between them, acks behind."""

from array import array
from collections.abc import Callable, Iterable
from itertools import islice, repeat
from typing import Any

from heron_core.errors import ProtocolError
from heron_core.frames import Flag, Frames, Header, Kind, check_batch, parse_header, roots_of, words
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_instance.collector import BoltCollector
from heron_instance.core import LOOK_UP_EVERY, SLOW_SECS, Clock, Core, Report
from heron_instance.metrics import Metrics
from heron_instance.options import Options
from heron_instance.outbox import Outbox
from heron_instance.tuples import HeronTuple, tick_tuple

Decode = Callable[[bytes], list[list[Any]]]
Process = Callable[[HeronTuple], None]
ValuesMaker = Callable[[str, str], Callable[[list[Any]], Any]]

EVERY_MESSAGE_TIMED = 16
"""One message in 16 has each of its tuples timed, for the percentiles."""
NEVER = float("inf")


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
        self._busy_since = 0.0
        self._tuple: type[HeronTuple] = getattr(component, "tuple_class", HeronTuple)
        """What tuples are made as: a door may have a class of its own (heronpy_compat.tuple_layout)
        and, by values_maker(component, stream), a function that makes its values of a list."""
        self._values_maker: ValuesMaker | None = getattr(component, "values_maker", None)
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
        self._busy_since = started
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
        if self._values_maker is not None:
            batch = _with_values(batch, self._values_maker(component, stream))
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
            self.metrics.executed += 1
            if (now := self.clock()) >= self.due:
                self.look_up(now)

    def _run_untracked(
        self, process: Process, batch: list[list[Any]], component: str, stream: str, source: int,
        started: float,
    ) -> None:  # fmt: skip
        make, kind, clock, step = tuple.__new__, self._tuple, self.clock, self._step
        rows, left, now = iter(batch), len(batch), started
        while left > 0:
            for values in islice(rows, step):
                tup = make(kind, (0, component, stream, source, values, started, None))
                try:
                    process(tup)
                except Exception:
                    self._process_failed(tup)
            self.metrics.executed += min(step, left)
            left -= step
            before, now = now, clock()
            step = self._between(before, now)
        self._step = step

    def _run_tracked(
        self, process: Process, batch: list[list[Any]], ids: "array[int]", component: str,
        stream: str, source: int, started: float,
    ) -> None:  # fmt: skip
        make, kind, clock, step = tuple.__new__, self._tuple, self.clock, self._step
        pairs = iter(ids)
        rows, left, now = zip(batch, pairs, pairs, strict=True), len(batch), started
        while left > 0:
            for values, root, edge in islice(rows, step):
                track = [root, edge] if root else None
                tup = make(kind, (edge, component, stream, source, values, started, track))
                try:
                    process(tup)
                except Exception:
                    self._process_failed(tup)
            self.metrics.executed += min(step, left)
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
            self.user_raised("process_tick")

    def finish(self) -> None:
        """The end of a finite run: let the bolt say its last words, once whoever asks again."""
        if self._finished:
            return
        self._finished = True
        try:
            self.component.on_finish()
        except Exception:
            self.user_raised("on_finish")
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
            rows = _careful_rows(head, frames, batch, ids, component, names, now)
            return rows if self._values_maker is None else self._of_door(rows, self._values_maker)
        except (StopIteration, IndexError, ValueError, TypeError) as error:
            raise ProtocolError(f"a malformed batch: {error!r}") from error

    def _of_door(self, rows: list[HeronTuple], maker: ValuesMaker) -> list[HeronTuple]:
        """Tuples as their door wants them."""
        kind, make = self._tuple, tuple.__new__
        whole = [
            each._replace(values=maker(each.component, each.stream)(each.values or []))
            for each in rows
        ]
        return [make(kind, each) for each in whole]

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
        self.user_raised(f"process of a tuple from {tup.component}.{tup.stream}")
        if self._handle is not None:
            return
        self.collector.fail(tup)
        if self.options.exits_on_exception:
            self.leave(
                "process raised, and topology.bolt.on.exception is exit: "
                f"{(self.metrics.last_error or '').strip().splitlines()[-1]}"
            )

    def counts(self) -> tuple[int, int, bool]:
        """Processed first: what a tuple's processing sent is then counted for certain."""
        processed = self.metrics.executed
        idle = self.outbox.empty and not self._busy and self._is_idle()
        return self.outbox.deliveries, processed, idle

    def statistics(self) -> dict[str, Any]:
        """The snapshot for the master; the batch under way counts as busy up to now."""
        collector = self.collector
        self.metrics.acked = self.outbox.acks_counted + len(self.outbox.acked)
        self.metrics.failed = collector.failed
        routes = collector.router.routes
        under_way = self.clock() - self._busy_since if self._busy else 0.0
        return self.metrics.snapshot(
            {
                "busy_secs": self.metrics.busy_secs + under_way,
                "emitted": {name: route.emits[0] for name, route in routes.items()},
                "pending": 0,
                "finished": self._finished,
                "late": self.outbox.late,
            }
        )


def _with_values(batch: list[list[Any]], make: Callable[[list[Any]], Any]) -> list[Any]:
    """The rows of a batch as their door wants them; ProtocolError if one is no list."""
    try:
        return list(map(make, batch))
    except TypeError as error:
        raise ProtocolError(f"a batch with a row that is no list: {error}") from error


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
