# ruff: noqa: B008 - so does Beam declare states
"""An unbounded pipeline with an exact result: numbers, counted by key in windows and in a state.

python -m tests.extras.beam.numbers_pipeline FOLDER NUMBERS [options of the pipeline]
"""

import sys
from pathlib import Path

import apache_beam as beam
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.transforms.userstate import (
    ReadModifyWriteStateSpec,
    TimeDomain,
    TimerSpec,
    on_timer,
)
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from apache_beam.utils.timestamp import Duration, Timestamp

KEYS = 7
BURST = 20
"""Numbers between two pauses."""
PAUSE_SECS = 0.02
WINDOW_SECS = 500
"""A number is a second of event time."""


class Numbers(RestrictionProvider):
    def initial_restriction(self, element):
        return OffsetRange(0, element)

    def create_tracker(self, restriction):
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, element, restriction):
        return restriction.size()


class Count(beam.DoFn):
    @beam.DoFn.unbounded_per_element()
    def process(
        self,
        element,
        tracker=beam.DoFn.RestrictionParam(Numbers()),
        estimator=beam.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider()),
    ):
        number = tracker.current_restriction().start
        while tracker.try_claim(number):
            estimator.set_watermark(Timestamp(number))
            yield TimestampedValue((number % KEYS, 1), number)
            number += 1
            if number % BURST == 0:
                tracker.defer_remainder(Duration(PAUSE_SECS))
                return


class Total(beam.DoFn):
    """Counts a key's numbers in a state, and emits the count at the end of the window."""

    TOTAL = ReadModifyWriteStateSpec("total", beam.coders.VarIntCoder())
    END = TimerSpec("end", TimeDomain.WATERMARK)

    def process(
        self,
        element,
        window=beam.DoFn.WindowParam,
        total=beam.DoFn.StateParam(TOTAL),
        end=beam.DoFn.TimerParam(END),
    ):
        total.write((total.read() or 0) + element[1])
        end.set(window.end)

    @on_timer(END)
    def emit(
        self,
        key=beam.DoFn.KeyParam,
        window=beam.DoFn.WindowParam,
        total=beam.DoFn.StateParam(TOTAL),
    ):
        yield f"state-{key}-{int(window.start)}", total.read()


def record(folder, result):
    """A result that comes again is written again: under the same name."""
    name, count = result
    Path(folder, name).write_text(f"{count}\n")


def main() -> None:
    folder, numbers, *arguments = sys.argv[1:]
    options = PipelineOptions(["--streaming", *arguments])
    with beam.Pipeline(options=options) as pipeline:
        windowed = (
            pipeline
            | beam.Create([int(numbers)])
            | beam.ParDo(Count())
            | beam.WindowInto(FixedWindows(WINDOW_SECS))
        )
        grouped = (
            windowed
            | beam.GroupByKey()
            | beam.Map(
                lambda pair, window=beam.DoFn.WindowParam: (
                    f"group-{pair[0]}-{int(window.start)}",
                    sum(pair[1]),
                )
            )
        )
        totals = windowed | beam.ParDo(Total())
        _ = (grouped, totals) | beam.Flatten() | beam.Map(lambda each: record(folder, each))


if __name__ == "__main__":
    main()
