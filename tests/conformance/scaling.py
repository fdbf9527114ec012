"""Autoscaling on any back end: a bolt too slow for the input gets more instances.

`heronpy autoscale` takes the decisions on a cluster with containers of its own, a process of the
topology elsewhere.
"""

from heron_core.plans import PackingPlan
from tests.conformance.checks import Deployment

LOADED = """
import time
from heronpy_compat import Bolt, Spout, Topology

class Numbers(Spout):
    outputs = ["number"]
    def next_tuple(self):
        time.sleep(0.002)
        self.emit([1])

class Slow(Bolt):
    def process(self, tup):
        time.sleep(0.01)

class Loaded(Topology):
    config = {"topology.autoscale.mode": "on", "topology.autoscale.interval.secs": 1,
              "topology.autoscale.window.secs": 4, "topology.autoscale.instances.max": 3}
    numbers = Numbers.spec()
    slow = Slow.spec(inputs=[numbers])
"""
"""The rate is five times the rate of one instance of the bolt."""
INSTANCES = 3


def scales_with_its_load(deployment: Deployment) -> PackingPlan:
    """Submit, wait until all three instances of the bolt work, kill; returns the last plan. On a
    cluster a second autoscaler is refused, and the first one ends with the topology."""
    place, name = deployment.place, deployment.name
    (file := place.path / "loaded.py").write_text(LOADED)
    words = ("submit", file, "-N", name, "-w", 1, *deployment.submit)
    submitted = place.heronpy(*words, secs=deployment.wait_secs).succeeded()
    named = f"`heronpy autoscale {name} {' '.join(map(str, deployment.known))}`"
    assert (named in submitted.err) == deployment.is_self_running
    autoscaler = None
    if deployment.is_self_running:
        autoscaler = place.start("autoscale", name, *deployment.known)
    deployment.until(
        lambda: len(deployment.packing().tasks_of["slow"]) == INSTANCES,
        "the bolt has three instances",
    )
    deployment.until(lambda: _working(deployment) == INSTANCES, "all of them work")
    plan = deployment.packing()
    if autoscaler is not None:
        autoscaler.until(lambda: "slow 1 -> 3" in autoscaler.err, "the autoscaler says so")
        second = place.heronpy("autoscale", name, *deployment.known)
        assert second.code == 1
        assert "has an autoscaler already" in second.errors[0]
    deployment.heronpy("kill")
    if autoscaler is not None:
        ended = autoscaler.wait(deployment.wait_secs).succeeded()
        assert ended.out == f"{name} has ended\n"
    return plan


def _working(deployment: Deployment) -> int:
    """Instances of the bolt with processed tuples."""
    rows = deployment.stats("slow").get("instances", [])
    return sum(each["executed"] > 0 for each in rows)
