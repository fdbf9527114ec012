"""How often each ad is clicked, minute by minute, by the time of the clicks, not of their arrival.

    heronpy run examples/click_through_rate.py

    events ── by ad ── rates ──┬── table
                               └── late

Events come up to 20 seconds out of order, and a few of them minutes too late (phones that were
offline). The watermark is 20 s behind; a minute that is over takes late events for another minute,
and shows its rate again; what comes later still goes to the stream `late`. Config:
`click_through_rate.events` the number of events, `click_through_rate.seed` another input. With
`-o topology.reliability.mode=ATLEAST_ONCE` open windows hold their events, which are more than the
default of `topology.max.spout.pending`: set that to 5000, too.
"""

from random import Random

from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

EVENTS = 5_000
START_MS = 1_700_000_040_000
"""A full minute of November 2023."""
MINUTE_MS = 60_000
STEP_MS = 100
"""Between two events."""
DISORDER_MS = 20_000
LATE_MS = 10 * MINUTE_MS
"""Lag of late events: beyond any window."""
ADS = {"shoes": 0.05, "books": 0.12, "tea": 0.3}
"""Ad -> click probability of a viewer."""


def events(number, seed):
    """(ad, kind, milliseconds) in order of arrival."""
    rng = Random(seed)
    for at in range(number):
        ad = rng.choice(list(ADS))
        kind = "click" if rng.random() < ADS[ad] else "view"
        behind = rng.randrange(DISORDER_MS)
        if at * STEP_MS > LATE_MS / 2 and rng.random() < 0.01:
            behind += LATE_MS
        yield ad, kind, START_MS + at * STEP_MS - behind


class Events(Spout):
    outputs = ["ad", "kind", "time_ms"]

    def initialize(self, config, context):
        number = int(config.get("click_through_rate.events", EVENTS))
        self.events = enumerate(events(number, config.get("click_through_rate.seed", 1)))
        self.tracked = config.get("topology.reliability.mode") == "ATLEAST_ONCE"

    def next_tuple(self):
        number, event = next(self.events, (None, None))
        if event is None:
            self.finish()
        else:
            self.emit(event, tup_id=number if self.tracked else None)


class Rate:
    """Counts views and clicks; an aggregate needs no base class."""

    def create(self):
        return [0, 0]

    def add(self, counts, tup):
        counts[tup["kind"] == "click"] += 1
        return counts

    def merge(self, left, right):
        return [left[0] + right[0], left[1] + right[1]]

    def result(self, counts):
        return list(counts)


class Rates(KeyedWindowBolt):
    outputs = ["ad", "start_ms", "end_ms", "counts", Stream(["late_tuple"], name="late")]
    key_fields = ["ad"]
    timestamp_field = "time_ms"
    window = Tumbling(MINUTE_MS)
    aggregate = Rate()
    lag_ms = DISORDER_MS
    allowed_lateness_ms = MINUTE_MS
    late_stream = "late"


class Table(Bolt):
    """The last rate of each minute counts: a late click corrects the one before."""

    auto_ack = True

    def initialize(self, config, context):
        self.counts, self.late = {}, 0

    def process(self, tup):
        if tup.stream == "late":
            self.late += 1
        else:
            ad, start_ms, _, counts = tup.values
            self.counts[ad, start_ms] = counts

    def on_finish(self):
        print("minute  ad     views clicks  rate")
        for (ad, start_ms), (views, clicks) in sorted(self.counts.items(), key=by_minute):
            minute = (start_ms - START_MS) // MINUTE_MS
            print(f"{minute:6} {ad:6} {views:6} {clicks:6} {clicks / (views or 1):6.1%}")
        print(f"{self.late} events came too late")


def by_minute(item):
    (ad, start_ms), _ = item
    return start_ms, ad


class ClickThroughRate(Topology):
    events = Events.spec()
    # A watermark with each tuple: what is late depends on the input alone, not on the clock.
    rates = Rates.spec(
        par=2,
        inputs={events: Grouping.fields("ad")},
        config={"topology.bolts.watermark.event.interval.ms": 0},
    )
    table = Table.spec(inputs={rates: Grouping.GLOBAL, rates["late"]: Grouping.GLOBAL})
