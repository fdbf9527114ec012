"""Storm's Streams API by its names (org.apache.storm.streams), over streamlets.

    builder = StreamBuilder()
    builder.newStream(Sentences, ValueMapper(0)).flatMap(str.split).window(
        TumblingWindows.of(Duration.seconds(2))
    ).mapToPair(lambda word: (word, 1)).countByKey().print()
    builder.build_and_submit("WindowedWordCount")

An element of a PairStream is a tuple (key, value). docs/PORTING.md has what differs from Storm.
"""

from heronpy_compat.streams.aggregators import ElementCount as Count
from heronpy_compat.streams.aggregators import ElementSum as Sum
from heronpy_compat.streams.aggregators import KeyStateUpdater as StateUpdater
from heronpy_compat.streams.aggregators import StreamAggregator as CombinerAggregator
from heronpy_compat.streams.builder import StreamBuilder as StreamBuilder
from heronpy_compat.streams.mappers import PairValueMapper as PairValueMapper
from heronpy_compat.streams.mappers import TupleValueMapper as TupleValueMapper
from heronpy_compat.streams.mappers import TupleValueMappers as TupleValueMappers
from heronpy_compat.streams.mappers import ValueMapper as ValueMapper
from heronpy_compat.streams.stream import PairStream as PairStream
from heronpy_compat.streams.stream import Stream as Stream
from heronpy_compat.streams.stream import StreamState as StreamState
from heronpy_compat.streams.windows import SlidingWindows as SlidingWindows
from heronpy_compat.streams.windows import StreamDuration as Duration
from heronpy_compat.streams.windows import TumblingWindows as TumblingWindows

__all__ = [
    "CombinerAggregator", "Count", "Duration", "PairStream", "PairValueMapper", "SlidingWindows",
    "StateUpdater", "Stream", "StreamBuilder", "StreamState", "Sum", "TumblingWindows",
    "TupleValueMapper", "TupleValueMappers", "ValueMapper",
]  # fmt: skip
