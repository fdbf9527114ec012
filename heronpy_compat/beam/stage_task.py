"""One task of a stage: the effects of rows, time and checkpoints. The bolt does input and output.

Watermarks. A row with a watermark is a promise of one task that writes an edge. The watermark of an
input is the least promise of the writers. When the watermark of the inputs rises, waiting elements
whose side inputs are ready are processed, then triggers fire, then timers, until no timer is due: a
timer's bundle may set further timers. At last the watermark of the output rises, to the least of
the inputs' watermark, the times of waiting elements, the output times of groups and timers, and the
estimates that splittable DoFns report for the rest of their work.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from apache_beam.coders.coder_impl import create_OutputStream
from apache_beam.portability.api import beam_fn_api_pb2, beam_runner_api_pb2
from apache_beam.runners import pipeline_context
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp

from heronpy_compat.beam.bundles import Bundles
from heronpy_compat.beam.groups import NEVER, Groups
from heronpy_compat.beam.plans import InputPlan, StagePlan
from heronpy_compat.beam.rows import elements_of
from heronpy_compat.beam.saved import SavedParts
from heronpy_compat.beam.side_inputs import SideInputs
from heronpy_compat.beam.timers import DoFnTimers
from heronpy_compat.beam.user_state import StageState

GROUP_BUNDLE_MAX = 1_000
"""Groups of one bundle when many fire at once, so that memory has the output of one bundle."""

Source = tuple[str, str]
"""(component, stream)"""


class StageTask:
    """The state of one task."""

    def __init__(
        self,
        plan: StagePlan,
        state: Any,
        writers: dict[Source, Iterable[int]],
        output: Callable[[str, bytes], None],
    ) -> None:
        """`writers`: tasks that write each input; `output` gets encoded elements by transform."""
        self._plan = plan
        self._saved = SavedParts(state)
        context = context_of(plan)
        self._coders = context.coders
        user_state = self._user_state = StageState(self._saved)
        self._sides = SideInputs(plan.sides, context, self._saved, user_state)
        self._timers = DoFnTimers(plan.timers, context.coders, self._saved)
        self._windowings = {
            read.transform: context.windowing_strategies[read.windowing] for read in plan.inputs
        }
        grouped = [(read.transform, read.group) for read in plan.inputs if read.group is not None]
        self._groups = {
            transform: Groups(
                transform, context.coders[group.coder],
                context.windowing_strategies[group.windowing], self._saved,
            )
            for transform, group in grouped
        }  # fmt: skip
        self._group_coders = {
            transform: context.coders[group.coder].get_impl() for transform, group in grouped
        }
        self._input_of = {source: read for read in plan.inputs for source in read.sources}
        self._promises: dict[tuple[Source, int], int] = {
            (source, task): MIN_TIMESTAMP.micros
            for source, tasks in writers.items()
            for task in tasks
        }
        self._waiting: list[tuple[str, bytes, int]] = []
        """(reading transform, element, its time) that waits for side inputs"""
        self._rest: list[tuple[float, str, bytes, int]] = []
        """(when, reading transform, element, watermark): the rest of splittable DoFns"""
        self.output_watermark = MIN_TIMESTAMP
        self._restore()
        self.bundles = Bundles(plan, user_state, output)

    def _restore(self) -> None:
        for name, value in self._saved.restored("task"):
            if name == "promises":
                known = value
                self._promises.update({at: known[at] for at in self._promises if at in known})
            elif name == "waiting":
                self._waiting = value
            elif name == "rest":
                self._rest = value
        self._read_promises()

    # --- rows -------------------------------------------------------------------------------------

    def take(self, source: Source, data: bytes) -> None:
        """Process encoded elements; exceptions of user code pass."""
        if self._sides.take(source, data):
            self._release()
            return
        plan = self._input_of[source]
        if plan.group is None:
            self._feed(plan, data)
            return
        elements = self._group_coders[plan.transform].decode_all(data)
        fired = self._groups[plan.transform].add(
            elements, self._input_watermark, self.output_watermark
        )
        self._feed_groups(plan, fired)

    def promise(self, source: Source, task: int, micros: int) -> None:
        """A writer of an edge writes no earlier element from here on."""
        if (source, task) in self._promises:
            self._promises[source, task] = max(micros, self._promises[source, task])
            self._read_promises()

    def _read_promises(self) -> None:
        def lowest(sources: Iterable[Source]) -> Timestamp:
            wanted = set(sources)
            found = [each for (source, _), each in self._promises.items() if source in wanted]
            return Timestamp(micros=min(found)) if found else MAX_TIMESTAMP

        self._input_watermark = lowest(self._input_of)
        for side in self._sides.all:
            side.watermark = lowest(side.plan.sources)

    def _feed_groups(self, plan: InputPlan, fired: Iterable[Any]) -> None:
        coder = self._coders[plan.coder].get_impl()
        stream, count = create_OutputStream(), 0
        for group in fired:
            coder.encode_to_stream(group, stream, True)
            count += 1
            if count == GROUP_BUNDLE_MAX:
                self._feed(plan, stream.get())
                stream, count = create_OutputStream(), 0
        if count:
            self._feed(plan, stream.get())

    def _feed(self, plan: InputPlan, data: bytes) -> None:
        if self._sides.all and self._sides.lowest < MAX_TIMESTAMP:
            data = self._without_waiting(plan, data)
        if data:
            self._bundle({plan.transform: data})

    def _without_waiting(self, plan: InputPlan, data: bytes) -> bytes:
        ready = bytearray()
        for value, encoded in elements_of(self._coders[plan.coder].get_impl(), data):
            if self._sides.are_ready(value.windows):
                ready += encoded
            else:
                self._waiting.append((plan.transform, encoded, value.timestamp.micros))
        return bytes(ready)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        data: dict[str, bytearray] = {}
        for transform, encoded, _ in waiting:
            data.setdefault(transform, bytearray()).extend(encoded)
        for plan in self._plan.inputs:
            if plan.transform in data:
                self._feed(plan, bytes(data[plan.transform]))

    def _bundle(
        self, data: dict[str, bytes], timers: dict[tuple[str, str], bytes] | None = None
    ) -> None:
        self._sides.write()
        residuals, written = self.bundles.run(data, timers)
        self._timers.take(written)
        for each in residuals:
            self._rest.append(self._residual(each))

    def _residual(self, delayed: Any) -> tuple[float, str, bytes, int]:
        application = delayed.application
        wait = delayed.requested_time_delay
        at = time.time() + wait.seconds + wait.nanos / 1e9
        estimates = [
            each.seconds * 1_000_000 + each.nanos // 1_000
            for each in application.output_watermarks.values()
        ]
        reader = self._plan.inputs[0].transform
        return at, reader, application.element, min(estimates, default=MIN_TIMESTAMP.micros)

    # --- time -------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Process everything due by the inputs' watermark; whether the output's watermark rises."""
        if self._waiting:
            self._release()
        for plan in self._plan.inputs:
            if plan.transform in self._groups:
                fired = self._groups[plan.transform].advance(
                    TimeDomain.WATERMARK, self._input_watermark, self._input_watermark
                )
                self._feed_groups(plan, fired)
        while timers := self._timers.due(True, min(self._input_watermark, self._earliest_waiting)):
            self._bundle({}, timers)
        before = self.output_watermark
        self.output_watermark = max(before, self._lowest_output())
        return bool(self.output_watermark > before)

    @property
    def _earliest_waiting(self) -> Timestamp:
        times = [at for _, _, at in self._waiting]
        return Timestamp(micros=min(times)) if times else MAX_TIMESTAMP

    def _lowest_output(self) -> Timestamp:
        rest = [mark for _, _, _, mark in self._rest]
        return min(
            self._input_watermark, self._earliest_waiting, self._timers.earliest_output,
            Timestamp(micros=min(rest)) if rest else MAX_TIMESTAMP,
            *(each.earliest_output for each in self._groups.values()),
        )  # fmt: skip

    @property
    def is_over(self) -> bool:
        """Whether the stage's work is done."""
        return bool(self.output_watermark >= MAX_TIMESTAMP and self.next_due == NEVER)

    @property
    def next_due(self) -> float:
        """When `wake` has work, in seconds since 1970; NEVER without any."""
        return min(
            min((at for at, _, _, _ in self._rest), default=NEVER), self._timers.next_due,
            *(each.next_due for each in self._groups.values()), NEVER,
        )  # fmt: skip

    def wake(self, now: float) -> None:
        """Process everything due in processing time."""
        here = Timestamp.of(now)
        for plan in self._plan.inputs:
            if plan.transform in self._groups:
                fired = self._groups[plan.transform].advance(
                    TimeDomain.REAL_TIME, here, self._input_watermark
                )
                self._feed_groups(plan, fired)
        while timers := self._timers.due(False, here):
            self._bundle({}, timers)
        rest, self._rest = self._rest, []
        for residual in rest:
            if residual[0] <= now:
                self._bundle({residual[1]: residual[2]})
            else:
                self._rest.append(residual)

    # --- checkpoints ------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the changes into the component's state."""
        self._discard_expired()
        self._user_state.save()
        self._sides.save()
        self._timers.save()
        for groups in self._groups.values():
            groups.save()
        self._saved.put("task", "promises", self._promises)
        self._saved.put("task", "waiting", self._waiting or None)
        self._saved.put("task", "rest", self._rest or None)

    def _discard_expired(self) -> None:
        """A user state ends with the allowed lateness of the window."""
        if self._input_watermark == MAX_TIMESTAMP or not self._plan.inputs:
            return
        windowing = self._windowings[self._plan.inputs[0].transform]
        coder = windowing.windowfn.get_window_coder()
        for encoded, keys in self._user_state.user_keys().items():
            end = coder.decode(encoded).max_timestamp()
            if end + windowing.allowed_lateness < self._input_watermark:
                for key in keys:
                    self._user_state.discard(key)


def context_of(plan: StagePlan) -> Any:
    """Coders and windowing strategies of a stage: Beam's PipelineContext."""
    descriptor = beam_fn_api_pb2.ProcessBundleDescriptor.FromString(plan.descriptor)
    components = beam_runner_api_pb2.Components(
        coders=dict(descriptor.coders),
        windowing_strategies=dict(descriptor.windowing_strategies),
        environments=dict(descriptor.environments), pcollections=dict(descriptor.pcollections),
    )  # fmt: skip
    return pipeline_context.PipelineContext(components)
