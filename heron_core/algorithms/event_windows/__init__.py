"""Windows by event time: assignment of events, and completeness of results.

An event carries a timestamp. A *watermark* W states that events with a timestamp below W are not
expected any more. A window [start, end) is complete as soon as W >= end. Until W >= end +
lateness, late events update the result; after that the content is dropped, and an event without
an open window is *late*: it is returned to the caller, never lost silently.

    assigners    timestamp -> windows, and their slices
    aggregates   accumulators of a window's events
    triggers     additional results besides a window's end
    operator     all of it together, by key; `snapshot()` and `restore()`
    watermarks   timestamps of several sources -> one watermark
    storm        Storm's WindowManager, whose windows begin behind an event instead of with one
    interval_join  pairs of events of two streams that are close in time

All modules are pure. All times are whole milliseconds; event times count from 1970, processing
times from the origin of the caller's clock.
"""
