"""HBase's sink with a real HBase and its Thrift gateway."""

from pathlib import Path

from heron_connectors.transactions import TransactionId
from heronpy_compat.connectors.hbase import HBaseSink
from heronpy_compat.testing import ComponentTester
from tests.cluster.hbase_server import HBaseServer
from tests.cluster.servers import START_SECS
from tests.process.process_support import GONE_SECS, Place

FILE = Path(__file__).with_name("counts_to_hbase.py")
WORDS, TIMES = 20, 300


def test_each_row_has_its_last_count_whatever_is_killed(place: Place, hbase: HBaseServer) -> None:
    """G21: kill -9 of a sink's process and of the gateway, each amid the commits."""
    hbase.create("counts", "c")
    running = place.start("run", FILE, "-o", f"hbase.thrift.port={hbase.port}")
    running.until(lambda: len(hbase.rows("counts")) > 0, "the first commit", START_SECS)
    running.until(lambda: running.process_called("heron: table[0]"), "the sink runs").kill()
    hbase.kill_gateway()
    hbase.start_gateway()
    running.wait(START_SECS).succeeded()
    assert hbase.rows("counts") == {
        f"word{number}".encode(): {b"c:count": b"%d" % TIMES, b"c:half": b"%.1f" % (TIMES / 2)}
        for number in range(WORDS)
    }
    place.nothing_is_left(GONE_SECS)


def test_a_commit_that_is_repeated_behind_a_later_one_is_not_seen(hbase: HBaseServer) -> None:
    hbase.create("late", "c")
    config = {
        "hbase.thrift.port": hbase.port, "hbase.table": "late", "hbase.family": "c",
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }  # fmt: skip
    with ComponentTester(
        HBaseSink, inputs={"rows": ["word", "count"]}, config=config, patch_time=False
    ) as tester:
        first, second = (
            tester.component.pre_commit([(b"a", {b"c:count": value})], TransactionId("w", number))
            for number, value in ((1, b"1"), (2, b"2"))
        )
        for prepared in (first, second, first):
            tester.component.commit(prepared, TransactionId("w", 1))
    assert hbase.rows("late") == {b"a": {b"c:count": b"2"}}
