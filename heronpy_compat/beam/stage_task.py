"""One task of a stage: what rows, time and checkpoints do to it. Input and output are the bolt's.

Watermarks. Each row of a watermark is the promise of one task that writes an edge. The watermark of
an input is the least of the promises of its writers. When the inputs' watermark rises, in this
order: elements that waited for side inputs are processed, triggers fire, timers fire (a bundle of a
timer may set further timers: until none is due), and the output's watermark follows. It stays
behind all that may still be output: elements that wait, groups and timers by their output time, the
rest of splittable DoFns by the estimate that they report.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from apache_beam.portability.api import beam_fn_api_pb2, beam_runner_api_pb2
from apache_beam.coders.coder_impl import create_OutputStream
from apache_beam.runners import pipeline_context
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp

from heronpy_compat.beam.bundles import Bundles
from heronpy_compat.beam.groups import NEVER, Groups
from heronpy_compat.beam.plans import InputPlan, StagePlan
from heronpy_compat.beam.rows import elements_of
from heronpy_compat.beam.saved import SavedParts
from heronpy_compat.beam.side_inputs import SideInputs
from heronpy_compat.beam.timers import Timers
from heronpy_compat.beam.user_state import StageState

GROUP_BUNDLE_MAX = 1_000
"""Groups of one bundle when many fire at once: outputs are sent on behind each bundle."""

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
        self._timers = Timers(plan.timers, context.coders, self._saved)
        self._windowings = {
            each.transform: context.windowing_strategies[each.windowing] for each in plan.inputs
        }
        self._groups = {
            each.transform: Groups(
                each.transform, context.coders[each.group.coder],
                context.windowing_strategies[each.group.windowing], self._saved,
            )
            for each in plan.inputs if each.group is not None
        }  # fmt: skip
        self._group_coders = {
            each.transform: context.coders[each.group.coder].get_impl()
            for each in plan.inputs if each.group is not None
        }  # fmt: skip
        self._input_of = {source: each for each in plan.inputs for source in each.sources}
        self._promises: dict[tuple[Source, int], int] = {
            (source, task): MIN_TIMESTAMP.micros
            for source, tasks in writers.items()
            for task in tasks
        }
        self._held: list[tuple[str, bytes, int]] = []
        """(reading transform, element, its time) that waits for side inputs"""
        self._rest: list[tuple[float, str, bytes, int]] = []
        """(when, reading transform, element, watermark) of splittable DoFns"""
        self.output_watermark = MIN_TIMESTAMP
        self._restore()
        self.bundles = Bundles(plan, user_state, output)

    def _restore(self) -> None:
        for name, value in self._saved.restored("task"):
            if name == "promises":
                known = value
                self._promises.update({at: known[at] for at in self._promises if at in known})
            elif name == "held":
                self._held = value
            elif name == "rest":
                self._rest = value
        self._read_promises()

    # --- rows -------------------------------------------------------------------------------------

    def take(self, source: Source, data: bytes) -> None:
        """Process encoded elements. What user code raises passes."""
        if self._sides.take(source, data):
            self._release()
            return
        plan = self._input_of[source]
        if plan.group is None:
            self._feed(plan, data)
            return
        elements = self._group_coders[plan.transform].decode_all(data)
        fired = self._groups[plan.transform].add(elements, self._input_watermark)
        self._feed_groups(plan, fired)

    def promise(self, source: Source, task: int, micros: int) -> None:
        """A writer of an edge will write nothing earlier."""
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
        for each in fired:
            coder.encode_to_stream(each, stream, True)
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
                self._held.append((plan.transform, encoded, value.timestamp.micros))
        return bytes(ready)

    def _release(self) -> None:
        held, self._held = self._held, []
        data: dict[str, bytearray] = {}
        for transform, encoded, _ in held:
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
        marks = [
            each.seconds * 1_000_000 + each.nanos // 1_000
            for each in application.output_watermarks.values()
        ]
        reader = self._plan.inputs[0].transform
        return at, reader, application.element, min(marks, default=MIN_TIMESTAMP.micros)

    # --- time -------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Do what the inputs' watermark makes due; whether the output's watermark has risen."""
        if self._held:
            self._release()
        for plan in self._plan.inputs:
            if plan.transform in self._groups:
                fired = self._groups[plan.transform].advance(
                    TimeDomain.WATERMARK, self._input_watermark, self._input_watermark
                )
                self._feed_groups(plan, fired)
        while timers := self._timers.due(True, min(self._input_watermark, self._held_hold)):
            self._bundle({}, timers)
        before = self.output_watermark
        self.output_watermark = max(before, self._lowest_output())
        return self.output_watermark > before

    @property
    def _held_hold(self) -> Timestamp:
        times = [at for _, _, at in self._held]
        return Timestamp(micros=min(times)) if times else MAX_TIMESTAMP

    def _lowest_output(self) -> Timestamp:
        rest = [mark for _, _, _, mark in self._rest]
        return min(
            self._input_watermark, self._held_hold, self._timers.hold,
            Timestamp(micros=min(rest)) if rest else MAX_TIMESTAMP,
            *(each.hold for each in self._groups.values()),
        )  # fmt: skip

    @property
    def is_over(self) -> bool:
        """Whether nothing will be output any more."""
        return self.output_watermark >= MAX_TIMESTAMP and self.next_due == NEVER

    @property
    def next_due(self) -> float:
        """When `wake` has work, in seconds since 1970; NEVER without any."""
        return min(
            min((at for at, _, _, _ in self._rest), default=NEVER), self._timers.next_due,
            *(each.next_due for each in self._groups.values()), NEVER,
        )  # fmt: skip

    def wake(self, now: float) -> None:
        """Do what is due in processing time."""
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
        for each in rest:
            if each[0] <= now:
                self._bundle({each[1]: each[2]})
            else:
                self._rest.append(each)

    # --- checkpoints ------------------------------------------------------------------------------

    def save(self) -> None:
        """Write what has changed into the component's state."""
        self._discard_expired()
        self._user_state.save()
        self._sides.save()
        self._timers.save()
        for each in self._groups.values():
            each.save()
        self._saved.put("task", "promises", self._promises)
        self._saved.put("task", "held", self._held or None)
        self._saved.put("task", "rest", self._rest or None)

    def _discard_expired(self) -> None:
        """User states end with their window and its allowed lateness."""
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
