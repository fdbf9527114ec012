"""A Nimbus over topologies that a test makes up, and the installed streamparse's own client."""

import ssl
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.rpc import make_client
from thriftpy2.transport import TFramedTransportFactory

from heron_core.state_tree import topology_path
from heron_core.topology import topology_to_json
from heron_io.listening import listen_on
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.nimbus.server import BACKLOG, NimbusServer
from heron_tracker.nimbus.service import NimbusService
from heron_tracker.nimbus.submissions import Submissions, TopologyFolders
from heron_tracker.nimbus.uploads import Uploads
from heronpy_compat.streamparse.thrift import (
    Bolt,
    ComponentCommon,
    ComponentObject,
    GlobalStreamId,
    Grouping,
    ShellComponent,
    SpoutSpec,
    StormTopology,
    StreamInfo,
)
from tests.unit.heron_tracker.nimbus.installed_storm import installed
from tests.unit.heron_tracker.tracker_support import SPEC, snapshot, stats

UPLOAD_BYTES_MAX = 1000
TIMEOUT_MS = 20_000

REGISTERS = """
import json, os, sys
from heron_core.state_tree import topology_path
from heron_io.state_store.opening import open_store
file = next(word for word in sys.argv if word.endswith(".yaml"))
text = open(file).read()
name = text.split()[1]
if "refuse" in name:
    sys.exit("heronpy: the topology has a mistake")
with open_store(sys.argv[1]) as store:
    folders = sorted(os.listdir(os.path.dirname(file)))
    store.put(topology_path(name), {"arguments": sys.argv[2:], "folders": folders})
if "late" in name:
    sys.exit("heronpy: it does not come up")
"""
"""Instead of `heronpy submit`: it registers the topology, and what it was called with."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Topologies by name."""

    snapshots: Mapping[str, TopologySnapshot]

    def find(self) -> list[str]:
        """All of them."""
        return list(self.snapshots)

    def read(self, name: str) -> TopologySnapshot:
        """One of them."""
        return self.snapshots[name]


@dataclass(frozen=True, slots=True)
class RunningNimbus:
    """A Nimbus that listens, and what is behind it."""

    port: int
    store: StateStore
    submissions: Submissions
    folders: TopologyFolders

    @contextmanager
    def client(self) -> Iterator[Any]:
        """streamparse's client, connected."""
        connected = make_client(
            installed.Nimbus,
            host="127.0.0.1",
            port=self.port,
            proto_factory=TBinaryProtocolFactory(),
            trans_factory=TFramedTransportFactory(),
            timeout=TIMEOUT_MS,
        )
        try:
            yield connected
        finally:
            connected.close()


@contextmanager
def running_nimbus(
    path: Path,
    users: Sequence[int],
    snapshots: Mapping[str, TopologySnapshot] | None = None,
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[RunningNimbus]:
    """A Nimbus whose topology `words` runs, for clients of these users."""
    known = {"words": snapshot(stats())} if snapshots is None else snapshots
    url = f"file://{path}/state"
    with open_store(url) as store, listen_on("127.0.0.1", 0, BACKLOG) as listener:
        for name in known:
            store.put(topology_path(name), topology_to_json(SPEC))
        folders = TopologyFolders(str(path), url)
        command = [sys.executable, "-c", REGISTERS, url]
        submissions = Submissions(store, folders, command)
        uploads = Uploads(folders.uploads, UPLOAD_BYTES_MAX, time.monotonic)
        port = listener.getsockname()[1]
        service = NimbusService(
            store, MadeUp(known), uploads, submissions, str(path), ("127.0.0.1", port)
        )
        server = NimbusServer(listener, service.answer, users, token, tls)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        try:
            yield RunningNimbus(port, store, submissions, folders)
        finally:
            server.close()
            thread.join()
            service.close()
            folders.close()


def storm_topology() -> StormTopology:
    """words -> count, in Python."""
    return StormTopology(
        spouts={
            "words": SpoutSpec(
                ComponentObject(shell=ShellComponent("streamparse_run", "-s json words.Words")),
                ComponentCommon({}, {"default": StreamInfo(["word"], False)}, None, '{"a": null}'),
            )
        },
        bolts={
            "count": Bolt(
                ComponentObject(shell=ShellComponent("/v/bin/streamparse_run", "counts.Count")),
                ComponentCommon(
                    {GlobalStreamId("words", "default"): Grouping(fields=["word"])},
                    {"rare": StreamInfo(["word"], True)},
                    2,
                    '{"topology.tick.tuple.freq.secs": 3}',
                ),
            )
        },
        state_spouts={},
    )


def jar(path: Path, files: Mapping[str, str]) -> bytes:
    """A zip archive with these files."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path.read_bytes()
