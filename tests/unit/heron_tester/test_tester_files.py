"""Topologies from files: Python's of either door, and Flux."""

from heronpy_compat.testing import TopologyTester

STREAMPARSE = """
from heronpy_compat.streamparse import Bolt, Grouping, Spout, Topology

class Words(Spout):
    outputs = ["word"]

class Upper(Bolt):
    outputs = ["word"]

    def process(self, tup):
        self.emit([tup.values.word.upper()])

class Shouting(Topology):
    words = Words.spec()
    upper = Upper.spec(inputs=[words], par={"test": 2, "prod": 8})
"""

FLUX = """
name: shouting
config:
  topology.reliability.mode: ATLEAST_ONCE
spouts:
  - id: words
    className: tested_flux_classes.Words
    parallelism: 1
bolts:
  - id: upper
    className: tested_flux_classes.Upper
    parallelism: 2
streams:
  - from: words
    to: upper
    grouping:
      type: FIELDS
      args: [word]
"""

CLASSES = """
from heronpy_compat import Bolt, Spout

class Words(Spout):
    outputs = ["word"]

class Upper(Bolt):
    outputs = ["word"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        self.emit([tup.values[0].upper()])
"""


def shouted(path, **options):
    with TopologyTester(path, **options) as tester:
        tester.feed("words", ["storm"], tup_id=1)
        tester.run()
        assert tester.acked("words") == [1]
        assert len(tester.tasks("upper")) == 2
        return tester.values("upper")


def test_streamparse(tmp_path):
    path = tmp_path / "tested_shouting.py"
    path.write_text(STREAMPARSE)
    assert shouted(str(path), environment="test") == [["STORM"]]


def test_flux(tmp_path):
    (tmp_path / "tested_flux_classes.py").write_text(CLASSES)
    path = tmp_path / "shouting.yaml"
    path.write_text(FLUX)
    assert shouted(path) == [["STORM"]]
