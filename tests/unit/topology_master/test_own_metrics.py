"""`topology.metrics.port`: what is wrong with it is a line in the log, and the topology goes on."""

import socket
import sys

import pytest

from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.topology_master.metrics_port import TRY_SECS, OwnMetrics, labels_of
from heron_engine.topology_master.options import MasterOptions
from heron_io.server_loop import ServerLoop

TOPOLOGY = TopologySpec("t", (ComponentSpec("spout", True, "m.S", 1),))
LABELS = labels_of(TOPOLOGY, {"user": "ada"}, {"kind": "yarn", "cluster": "prod"})
LOOP: ServerLoop = None  # type: ignore[assignment]
"""Nothing is registered with it."""


def own_metrics(port: int) -> OwnMetrics:
    """Of a topology with that port in its config."""
    return OwnMetrics(TOPOLOGY, MasterOptions.of({"topology.metrics.port": port}), LABELS)


def test_a_port_that_is_taken_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        own = own_metrics(taken.getsockname()[1])
        for now in (0.0, 1.0, TRY_SECS, 2 * TRY_SECS):
            own.open(LOOP, now)
        own.close()
    (record,) = caplog.records
    assert "cannot be used: Address already in use" in record.getMessage()


def test_without_the_extra_the_cure_is_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if prometheus-client were not installed."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    own = own_metrics(0)
    for now in (0.0, TRY_SECS):
        own.open(LOOP, now)
    (record,) = caplog.records
    assert record.getMessage().endswith("pip install 'heronpy-topologies[metrics]'")


def test_who_runs_it_where_is_told_as_by_the_service() -> None:
    assert LABELS == {"cluster": "prod", "environ": "default", "role": "ada"}
    assert labels_of(TOPOLOGY, None, None) == {
        "cluster": "local", "environ": "default", "role": "unknown"
    }  # fmt: skip
