"""A service is asked for each order: a hundred at a time, paced, tried again; answers are written
in batches, and a batch that is written twice changes nothing.

heronpy run examples/calls_to_the_outside.py
"""

import asyncio
import os
import sqlite3
import tempfile
from contextlib import closing

from heronpy_compat import Bolt, Spout, Topology

ORDERS = 300
FILE = os.path.join(tempfile.gettempdir(), "heronpy-orders.sqlite")


class Service:
    """Stands for a client of a service, whose session is opened once: every tenth request fails."""

    async def open(self):
        self.requests = 0
        return self

    async def price(self, order):
        self.requests += 1
        failing = self.requests % 10 == 0
        await asyncio.sleep(0.01)
        if failing:
            raise ConnectionError("the service is busy")
        return 100 + order % 7


class Pace:
    """So many requests a second (a rate limit)."""

    def __init__(self, per_sec):
        self.secs, self.next_at = 1 / per_sec, 0.0

    async def turn(self):
        now = asyncio.get_running_loop().time()
        self.next_at = max(now, self.next_at + self.secs)
        await asyncio.sleep(self.next_at - now)


class Orders(Spout):
    outputs = ["order"]

    def next_tuple(self):
        for order in range(ORDERS):
            yield [order]
        self.finish()


class Price(Bolt):
    outputs = ["order", "price"]

    async def initialize(self, config, context):
        self.service = await Service().open()
        self.pace = Pace(per_sec=2000)

    async def process(self, tup):
        yield [tup.order, await self.asked(tup.order)]

    async def asked(self, order, tries=5):
        """With retries of its own; the engine's retries follow (topology.bolt.retries)."""
        await self.pace.turn()
        try:
            return await self.service.price(order)
        except ConnectionError:
            if tries == 1:
                raise
        await asyncio.sleep(0.01)
        return await self.asked(order, tries - 1)


class Write(Bolt):
    """In batches; each tuple is acked when it is written."""

    outputs = []
    acks_later = True

    def initialize(self, config, context):
        self.batch = []
        with closing(sqlite3.connect(FILE)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS prices (number PRIMARY KEY, price)")

    def process(self, tup):
        self.batch.append(tup)
        if len(self.batch) == 50:
            self.write()

    def process_tick(self, tup):
        self.write()

    def write(self):
        """Keyed by the order's number: a repeated write gives the same row."""
        rows = [(tup.order, tup.price) for tup in self.batch]
        with closing(sqlite3.connect(FILE)) as database, database:
            database.executemany("INSERT OR REPLACE INTO prices VALUES (?, ?)", rows)
        for tup in self.batch:
            self.ack(tup)
        self.batch.clear()

    def on_finish(self):
        self.write()
        with closing(sqlite3.connect(FILE)) as database:
            (number,) = database.execute("SELECT count(*) FROM prices").fetchone()
        print(f"{number} orders have a price")


class Prices(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    orders = Orders.spec()
    price = Price.spec(inputs=[orders])
    write = Write.spec(inputs=[price], config={"topology.tick.tuple.freq.secs": 1})
