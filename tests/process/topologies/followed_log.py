"""Copies the lines of a log that is rotated."""

from heronpy_compat import Topology
from heronpy_compat.connectors.files import FileSink, FileSpout


class FollowedLog(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    lines = FileSpout.spec(
        config={
            "library.file.path": "app.log",
            "library.file.follow": True,
            "library.file.follow.secs": 0.2,
        }
    )
    copy = FileSink.spec(inputs=[lines], config={"file.folder": "out"})
