"""Keys of windows, event time and watermarks."""

from heron_core.config import readers as r
from heron_core.config import values as v
from heron_core.config.key import Key, Owner, Subject

_DAY_MS = 24 * 60 * 60 * 1000

# A row is read as a paragraph.
# fmt: off
WINDOWS = Subject("Windows")
WINDOW_LENGTH_MS = WINDOWS.add(Key(
    "topology.bolts.window.length.duration.ms", r.whole(1), None,
    "the length of the windows of a `WindowedBolt`, this or the count",
    owner=Owner.BOLT, see="WINDOWS.md",
))
WINDOW_LENGTH_COUNT = WINDOWS.add(Key(
    "topology.bolts.window.length.count", r.whole(1), None,
    "the length of the windows of a `WindowedBolt` in tuples",
    owner=Owner.BOLT, see="WINDOWS.md",
))
WINDOW_SLIDE_MS = WINDOWS.add(Key(
    "topology.bolts.window.sliding.interval.duration.ms", r.whole(1), None,
    "the time between two windows of a `WindowedBolt`, this or the count",
    owner=Owner.BOLT, without="a window with each tuple", see="WINDOWS.md",
))
WINDOW_SLIDE_COUNT = WINDOWS.add(Key(
    "topology.bolts.window.sliding.interval.count", r.whole(1), None,
    "the tuples between two windows of a `WindowedBolt`",
    owner=Owner.BOLT, without="a window with each tuple", see="WINDOWS.md",
))
TIMESTAMP_FIELD = WINDOWS.add(Key(
    "topology.bolts.tuple.timestamp.field.name", r.name, None,
    "the field with the milliseconds since 1970, or a datetime (UTC without a time zone)",
    owner=Owner.BOLT, without="windows by processing time", see="WINDOWS.md",
))
TIMESTAMP_LAG_MS = WINDOWS.add(Key(
    "topology.bolts.tuple.timestamp.max.lag.ms", r.whole(0), None,
    "the lag: the largest disorder of events",
    owner=Owner.BOLT, fallback=0, without="or the value of the bolt's class",
    why="Storm's: no disorder", see="WINDOWS.md",
))
TIMESTAMP_AHEAD_MS = WINDOWS.add(Key(
    "topology.bolts.tuple.timestamp.max.ahead.ms", r.whole(0), None,
    "a tuple whose timestamp is further ahead of the clock fails, because it would make all "
    "other tuples late",
    owner=Owner.BOLT, fallback=_DAY_MS, see="WINDOWS.md",
    why="a clock with a wrong time zone is off by less than a day",
))
WATERMARK_INTERVAL_MS = WINDOWS.add(Key(
    "topology.bolts.watermark.event.interval.ms", r.whole(0), None,
    "the time between two watermarks; 0: after each tuple",
    owner=Owner.BOLT, fallback=1000, why="Storm's", see="WINDOWS.md",
))
WATERMARK_IDLE_MS = WINDOWS.add(Key(
    "topology.bolts.watermark.idle.ms", r.whole(1), None,
    "a source without output for this long is excluded from the watermark",
    owner=Owner.BOLT, without="never", see="WINDOWS.md",
))
WATERMARK_END_AFTER_MS = WINDOWS.add(Key(
    "topology.bolts.watermark.end.after.ms", r.whole(1), None,
    "open windows are completed after all sources were silent for this long",
    owner=Owner.BOLT, without="never", see="WINDOWS.md",
))
WATERMARK_SOURCES = WINDOWS.add(Key(
    "topology.bolts.watermark.sources", r.one_of(v.OF_STREAMS, v.OF_TASKS), None,
    "what the watermark is the minimum of: `streams` or `tasks`",
    owner=Owner.BOLT, without="`tasks`; bolts of Storm and heronpy: `streams`",
    see="WINDOWS.md",
))
WINDOW_LATENESS_MS = WINDOWS.add(Key(
    "topology.bolts.window.allowed.lateness.ms", r.whole(0), None,
    "how late a tuple may arrive for a window that was already emitted; not for `WindowedBolt`",
    owner=Owner.BOLT, fallback=0, without="or the value of the bolt's class",
    see="WINDOWS.md",
))
LATE_STREAM = WINDOWS.add(Key(
    "topology.bolts.late.tuple.stream", r.name, None,
    "a declared stream with the one field `late_tuple`: the list of the values of a late tuple",
    owner=Owner.BOLT, without="late tuples are counted and dropped", see="WINDOWS.md",
))
