"""Finance alerts: a price that moves by more than five per cent within a minute.

    heronpy run examples/use_cases/finance_alerts.py

    prices ── by symbol ── moves (1 min, every 10 s) ── by symbol ── alerts ── printed

An alert is given once, until the price has been calm for a whole window.
"""

from random import Random

from numbered import Numbered

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.monoid import Monoid
from heronpy_compat.windows import KeyedWindowBolt, Sliding

SYMBOLS = ["ACME", "HERO", "TOPO", "BOLT"]
STEP_MS = 250
DISORDER_MS = 1_000
START_MS = 1_700_000_040_000
WINDOW = Sliding(60_000, 10_000)
LIMIT = 0.05


def price(number):
    """[symbol, price, ms]; now and then a symbol is up by eight per cent for a while."""
    rng = Random(number)
    symbol = SYMBOLS[number % len(SYMBOLS)]
    is_up = Random(f"{symbol} {number // 500}").random() < 0.3
    value = round(100 * (1.08 if is_up else 1) + rng.uniform(-1, 1), 2)
    return [symbol, value, START_MS + number * STEP_MS - rng.randrange(DISORDER_MS)]


class Spread(Monoid):
    """[lowest, highest]"""

    def zero(self):
        return [float("inf"), 0.0]

    def add(self, value, element):
        return [min(value[0], element), max(value[1], element)]

    def merge(self, left, right):
        return [min(left[0], right[0]), max(left[1], right[1])]


class Prices(Numbered):
    outputs = ["symbol", "price", "time_ms"]
    number_of_events = 6_000

    def event(self, number):
        return price(number)


class Moves(KeyedWindowBolt):
    outputs = ["symbol", "end_ms", "move"]
    key_fields = ["symbol"]
    timestamp_field = "time_ms"
    lag_ms = DISORDER_MS
    window = WINDOW
    aggregate = Spread()

    def value(self, tup, timestamp_ms):
        return tup.price

    def values(self, result):
        lowest, highest = result.value
        return [result.key[0], result.window.end_ms, highest / lowest - 1]


class Alerts(Bolt):
    outputs = ["symbol", "end_ms", "move"]
    auto_ack = auto_anchor = True
    is_raised = value_state(default=False)

    def process(self, tup):  # the windows of a symbol come in order
        is_over = tup.move > LIMIT
        if is_over and not self.is_raised.get():
            self.emit([tup.symbol, tup.end_ms, tup.move])
        self.is_raised.put(is_over)


class Printed(Bolt):
    auto_ack = True

    def process(self, tup):
        print(f"{tup.symbol} moved by {tup.move:.1%} in the minute before {tup.end_ms}")


class FinanceAlerts(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    prices = Prices.spec()
    moves = Moves.spec(inputs={prices: Grouping.fields("symbol")}, par=2)
    alerts = Alerts.spec(inputs={moves: Grouping.fields("symbol")}, par=2)
    printed = Printed.spec(inputs=[alerts])
