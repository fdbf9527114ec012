"""Orders joined with prices, by suppliers that end; an order without a price stays."""

from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.runner import Runner
from heronpy.streamlet.windowconfig import WindowConfig

ORDERS = iter([("apple", 3), ("pear", 1), ("apple", 2), ("fig", 7)])
PRICES = iter([("apple", 10), ("pear", 20), ("plum", 30)])


def main():
    builder = Builder()
    orders = builder.new_source(lambda: next(ORDERS)).set_name("orders").set_num_partitions(1)
    prices = builder.new_source(lambda: next(PRICES)).set_name("prices")
    bills = orders.outer_left_join(
        prices,
        WindowConfig.create_tumbling_window(3600),
        lambda number, price: None if price is None else number * price,
    )
    bills.set_num_partitions(2).map(lambda each: (each[0]._key, each[1])).consume(print)
    Runner().run("Bills", Config(), builder)


if __name__ == "__main__":
    main()
