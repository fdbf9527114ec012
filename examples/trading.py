"""Trading, exactly once: orders are executed against accounts, and every trade is written once.

    heronpy run examples/trading.py

    orders ─┬─ by account ── ledger ─── trades      the folder trading/trades
            └─ by symbol ─── volumes ── report      the folder trading/report

Kill any process while the example runs (`kill -9`): the topology is restored from its last
checkpoint, later orders are made again, and the lines in the folder `trading` are the same at the
end. The source keeps its position in its state; cash and shares of an account are keyed state;
volumes are per minute of event time; and the sinks work in two phases: a line is shown when its
checkpoint is complete. Config: `trading.orders` the number of orders, `trading.seed` another input,
`trading.secs` the pause between two orders, `trading.folder` another folder.
"""

from random import Random
from time import sleep

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import map_state, value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.connectors.files import FileSink
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

ORDERS = 5_000
FOLDER = "trading"
START_MS = 1_700_000_040_000
MINUTE_MS = 60_000
STEP_MS = 250
"""Of event time, between two orders."""
DISORDER_MS = 5_000
CASH = 10_000
"""What each account begins with."""
ACCOUNTS = [f"account{number}" for number in range(20)]
PRICES = {"ACME": 40, "HERO": 15, "TOPO": 95}
"""Symbol -> mean price."""


def order(number, seed):
    """(number, account, symbol, quantity, price, milliseconds); a sale has a negative quantity.

    An order depends on its number alone, and so can be made again.
    """
    rng = Random(f"{seed} {number}")
    symbol = rng.choice(list(PRICES))
    price = PRICES[symbol] + rng.randint(-5, 5)
    quantity = rng.choice([1, 1, 1, -1]) * rng.randint(1, 40)
    time_ms = START_MS + number * STEP_MS - rng.randrange(DISORDER_MS)
    return [number, rng.choice(ACCOUNTS), symbol, quantity, price, time_ms]


class Orders(Spout, StatefulComponent):
    """A single instance makes all orders, to keep the orders of an account in sequence."""

    outputs = ["number", "account", "symbol", "quantity", "price", "time_ms"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.total = int(config.get("trading.orders", ORDERS))
        self.seed = config.get("trading.seed", 1)
        self.secs = float(config.get("trading.secs", 0.001))

    def next_tuple(self):
        number = self.state.get("next", 0)
        if number >= self.total:
            self.finish()
            return
        self.emit(order(number, self.seed))
        self.state.put("next", number + 1)
        sleep(self.secs)  # so that there is something left to kill


class Ledger(Bolt):
    """Executes what an account can pay for, or has to sell; grouped by account."""

    outputs = ["line"]
    auto_ack = auto_anchor = True
    cash = value_state(default=CASH)
    shares = map_state()

    def process(self, tup):
        number, account, symbol, quantity, price, _ = tup.values
        cash = self.cash.get() - quantity * price
        shares = self.shares.get(symbol, 0) + quantity
        if cash < 0 or shares < 0:
            self.emit([f"{number} {account} refused"])
            return
        self.cash.put(cash)
        self.shares.put(symbol, shares)
        self.emit([f"{number} {account} {quantity:+} {symbol} at {price}: cash {cash}"])


class Volume:
    """How many shares were ordered; an aggregate needs no base class."""

    def create(self):
        return 0

    def add(self, volume, tup):
        return volume + abs(tup["quantity"])

    def merge(self, left, right):
        return left + right

    def result(self, volume):
        return volume


class Volumes(KeyedWindowBolt):
    outputs = ["line"]
    key_fields = ["symbol"]
    timestamp_field = "time_ms"
    window = Tumbling(MINUTE_MS)
    aggregate = Volume()
    lag_ms = DISORDER_MS

    def values(self, result):
        minute = (result.window.start_ms - START_MS) // MINUTE_MS
        return [f"minute {minute} {result.key[0]} {result.value}"]


class Lines(FileSink):
    """A line for each tuple, in a folder called as the sink."""

    def open(self, config, context):
        folder = f"{config.get('trading.folder', FOLDER)}/{context.get_component_id()}"
        super().open({**config, "file.folder": folder}, context)


class Trading(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    }

    orders = Orders.spec()
    ledger = Ledger.spec(par=2, inputs={orders: Grouping.fields("account")})
    trades = Lines.spec(inputs=[ledger])
    volumes = Volumes.spec(par=2, inputs={orders: Grouping.fields("symbol")})
    report = Lines.spec(inputs=[volumes])
