"""A real HDFS of one NameNode and one DataNode: the default file system of the YARN here."""

import json
import urllib.request
from pathlib import Path

from tests.cluster.servers import Servers, free_ports

NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
LIVE = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"


class Hdfs:
    """`settings` has to be written to the configuration's hdfs-site.xml before `start`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        name, web, *data = free_ports(5)
        self.url = f"hdfs://127.0.0.1:{name}"
        self._web_url = f"http://127.0.0.1:{web}"
        self.settings: dict[str, object] = {
            "dfs.replication": 1,
            "dfs.namenode.name.dir": folder / "names",
            "dfs.datanode.data.dir": folder / "blocks",
            "dfs.namenode.http-address": f"127.0.0.1:{web}",
            "dfs.datanode.address": f"127.0.0.1:{data[0]}",
            "dfs.datanode.http.address": f"127.0.0.1:{data[1]}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{data[2]}",
        }

    def start(self, servers: Servers) -> None:
        """Format the NameNode and start both; `is_ready` tells when a file can be written."""
        for each in ("hdfs", "datanode"):  # the web pages, which are in no jar
            (servers.conf_dir / "webapps" / each).mkdir(parents=True)
        servers.start("namenode", NAMENODE, first=(NAMENODE, "-format", "-nonInteractive"))
        servers.start("datanode", DATANODE)

    def is_ready(self) -> bool:
        """Whether the NameNode answers and knows the DataNode."""
        try:
            with urllib.request.urlopen(f"{self._web_url}/{LIVE}", timeout=10) as answer:
                (state,) = json.load(answer)["beans"]
        except (OSError, ValueError):
            return False
        return bool(state["NumLiveDataNodes"] == 1 and state["FSState"] == "Operational")
