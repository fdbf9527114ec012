"""Bundles: Beam's own BundleProcessor in this process, with a data channel of lists."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.worker import bundle_processor, data_plane, sdk_worker, statecache

from heronpy_compat.beam.metric_totals import MetricTotals
from heronpy_compat.beam.plans import StagePlan

OUTPUT_SIZE = 64 << 10
"""Bytes of encoded elements after which an output is sent on amid the bundle: the lines of a large
file would otherwise be one row, in memory several times."""

Output = Callable[[str, bytes], None]
"""output(writing transform, encoded windowed values)"""


class Channel(data_plane.DataChannel):
    """Both ends of the data channel of one stage; inputs are put in before a bundle."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._inputs: list[Any] = []
        self.timers: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
        """(transform, family) -> timers set or cleared by the bundle, encoded"""

    def put(self, data: dict[str, bytes], timers: dict[tuple[str, str], bytes]) -> None:
        """The inputs of the next bundle, by reading transform."""
        self._inputs = [
            beam_fn_api_pb2.Elements.Data(transform_id=transform, data=encoded)
            for transform, encoded in data.items()
        ]
        for (transform, family), encoded in timers.items():
            self._inputs.append(
                beam_fn_api_pb2.Elements.Timers(
                    transform_id=transform, timer_family_id=family, timers=encoded
                )
            )

    def input_elements(
        self, instruction_id: str, expected_inputs: Any, abort_callback: Any = None
    ) -> Iterator[Any]:
        """See DataChannel."""
        inputs, self._inputs = self._inputs, []
        yield from inputs

    def output_stream(self, instruction_id: str, transform_id: str) -> Any:
        """See DataChannel."""

        def send(data: bytes) -> None:
            if data:
                self._output(transform_id, data)

        return data_plane.SizeBasedBufferingClosableOutputStream(send, send, OUTPUT_SIZE)

    def output_timer_stream(
        self, instruction_id: str, transform_id: str, timer_family_id: str
    ) -> Any:
        """See DataChannel."""
        buffer = self.timers[transform_id, timer_family_id]
        return data_plane.SizeBasedBufferingClosableOutputStream(buffer.extend, buffer.extend)

    def close(self) -> None:
        """Nothing is open."""


class Bundles:
    """Runs the bundles of one stage, one after the other."""

    def __init__(self, plan: StagePlan, state: Any, output: Output) -> None:
        """`state`: the StateHandler of user states and side inputs."""
        descriptor = beam_fn_api_pb2.ProcessBundleDescriptor.FromString(plan.descriptor)
        self._channel = Channel(output)
        # Without cache tokens the cache is empty after each bundle, so one byte is enough.
        self._state = sdk_worker.GlobalCachingStateHandler(statecache.StateCache(1), state)
        self._processor = bundle_processor.BundleProcessor(
            frozenset(), descriptor, self._state, data_plane.InMemoryDataChannelFactory(
                self._channel
            ),
        )  # fmt: skip
        self._number = 0
        self._is_closed = False
        self._needs_finalization = False
        self.metrics = MetricTotals()

    def run(
        self, data: dict[str, bytes], timers: dict[tuple[str, str], bytes] | None = None
    ) -> tuple[list[Any], dict[tuple[str, str], bytes]]:
        """Run a bundle: residuals (DelayedBundleApplication), and timers in the channel's form.

        User code's exceptions pass.
        """
        self._number += 1
        instruction = str(self._number)
        self._channel.timers.clear()
        self._channel.put(data, timers or {})
        with self._state.process_instruction_id(instruction, ()):
            residuals, needs = self._processor.process_bundle(instruction)
        self._needs_finalization |= needs
        self._count()
        set_timers = {at: bytes(each) for at, each in self._channel.timers.items() if each}
        return residuals, set_timers

    def _count(self) -> None:
        """Add the counters of the bundle to the totals."""
        self.metrics.add(self._processor.monitoring_infos())
        if not self._needs_finalization:
            self._processor.reset()

    def finalize(self) -> None:
        """Call the callbacks of BundleFinalizerParam: outputs of the bundles are durable."""
        if self._needs_finalization:
            self._needs_finalization = False
            self._processor.finalize_bundle()
            self._processor.reset()

    def close(self) -> None:
        """Call `teardown` of the DoFns, once."""
        if not self._is_closed:
            self._is_closed = True
            self._processor.shutdown()
