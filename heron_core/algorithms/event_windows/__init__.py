"""Windows by the time of the events: who belongs to which window, and when its result is ready.

An event carries a timestamp. A *watermark* W says: no event with a timestamp below W is expected
any more. A window [start, end) is complete as soon as W >= end. Until W >= end + lateness what
comes late changes its result once more; after that its content is dropped, and an event all of
whose windows are dropped is *late*: it is handed back, never lost without a word.

    assigners    timestamp -> windows, and the slices that they are made of
    aggregates   what is kept of the events of a window
    triggers     when a window's result is shown besides its end
    operator     all of it together, by key; `snapshot()` and `restore()`
    watermarks   timestamps of several sources -> one watermark
    storm        Storm's WindowManager, whose windows begin behind an event instead of with one
    interval_join  pairs of events of two streams that are close in time

Everything is pure. All times are whole milliseconds; event times count from 1970, processing times
from wherever the caller's clock does.
"""
