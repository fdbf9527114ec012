"""A real HBase on local files: a master with a region server in one process, and the gateway."""

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import happybase

from tests.cluster.servers import START_SECS, Servers, answers, free_ports
from tests.process.process_support import until

OPENED = (
    "java.lang", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "sun.nio.ch",
)  # fmt: skip
"""Packages of java.base opened for HBase, as in bin/hbase."""
OPTIONS = ("-Xmx256m", *(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in OPENED))
TIMEOUT_MS = 60_000


class HBaseServer:
    """HBase, with its gateway at `port`."""

    def __init__(self, folder: Path, jars: Path) -> None:
        self._servers = Servers(folder, jars, OPTIONS)
        self.port, zookeeper = free_ports(2)
        settings = {
            "hbase.cluster.distributed": "false",
            "hbase.rootdir": f"file://{folder}/data",
            "hbase.tmp.dir": str(folder / "tmp"),
            # Local file systems promise no durable flush.
            "hbase.unsafe.stream.capability.enforce": "false",
            "hbase.wal.provider": "filesystem",
            "hbase.zookeeper.property.dataDir": f"{folder}/zookeeper",
            "hbase.zookeeper.property.clientPort": str(zookeeper),
            "hbase.zookeeper.quorum": "127.0.0.1",
            "hbase.master.port": "0",
            "hbase.regionserver.port": "0",
            "hbase.master.info.port": "-1",
            "hbase.regionserver.info.port": "-1",
        }
        rows = "".join(
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in settings.items()
        )
        site = self._servers.conf_dir / "hbase-site.xml"
        site.write_text(f"<configuration>{rows}</configuration>")

    def start(self) -> None:
        """Start master and gateway; returns when both are up."""
        self._servers.start("hbase", "org.apache.hadoop.hbase.master.HMaster", "start")
        until(self._is_up, "HBase is up", START_SECS)
        self.start_gateway()

    def _is_up(self) -> bool:
        self._servers.all_run()
        return "Master has completed initialization" in self._servers.log("hbase")

    def start_gateway(self) -> None:
        """Start the gateway, always at the same address."""
        gateway = "org.apache.hadoop.hbase.thrift.ThriftServer"
        words = ("start", "-b", "127.0.0.1", "-p", str(self.port), "--infoport", "-1")
        self._servers.start("gateway", gateway, *words)

        def listens() -> bool:
            self._servers.all_run()
            return answers(self.port)

        until(listens, "the gateway listens", START_SECS)

    def kill_gateway(self) -> None:
        """kill -9."""
        self._servers.kill("gateway")

    def create(self, table: str, family: str) -> None:
        """A new table with one version of each cell."""
        connection = self._connection()
        connection.create_table(table, {family: {"max_versions": 1}})
        connection.close()

    def rows(self, table: str) -> dict[bytes, dict[bytes, bytes]]:
        """All rows, in a reader's view."""
        connection = self._connection()
        found = dict(connection.table(table).scan())
        connection.close()
        return found

    def _connection(self) -> Any:
        return happybase.Connection("127.0.0.1", self.port, timeout=TIMEOUT_MS)

    def stop(self) -> None:
        """Kill both."""
        self._servers.stop()
