"""A project exactly as `sparse quickstart` makes it runs unmodified, on the installed streamparse
and on ours."""

import re
import subprocess
import sys

import pytest

from tests.process.process_support import DEADLINE_SECS, Place

PROJECT = "my_words"
TOPOLOGY = "wordcount"
QUICKSTART = f"from streamparse.bootstrap import quickstart; quickstart({PROJECT!r})"


@pytest.fixture
def quickstart(place: Place) -> None:
    """The tree that the installed package's own code writes."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", QUICKSTART],
        cwd=place.path,
        env={**place.environment, "HERONPY_STREAMPARSE": ""},
        stdout=subprocess.DEVNULL,
        timeout=DEADLINE_SECS,
        check=True,
    )


@pytest.mark.parametrize("streamparse", ["installed", "builtin"])
def test_the_quickstart_project_counts(place: Place, quickstart: None, streamparse: str) -> None:
    """The bolts count the words of the spout, until Ctrl-C."""
    place.environment["HERONPY_STREAMPARSE"] = streamparse
    running = place.start("run", f"{PROJECT}/topologies/{TOPOLOGY}.py", "-N", place.name)

    def counted() -> list[str]:
        text = "".join(place.log(place.name, f"count_bolt-{task}") for task in (2, 3))
        return re.findall(r"INFO counted \[([\d,]+)\] words \[pid=\d+\]", text)

    totals = running.until(counted, "words are counted")
    assert int(totals[0].replace(",", "")) % 1000 == 0
    running.signal()
    finished = running.wait()
    assert "Traceback" not in finished.err, finished.err
    found = re.search(rf"{place.name} stopped after .*: ([\d,]+) tuples processed", finished.err)
    assert found, finished.err
    assert int(found[1].replace(",", "")) > 0
    place.nothing_is_left()


COMPONENTS = """
import os
import socket
from streamparse import Bolt, Spout
class Words(Spout):
    outputs = ["word"]
    def initialize(self, conf, context):
        with open(os.path.join(os.getcwd(), "resources", "words.txt")) as file:
            self.words = file.read().split()
    def next_tuple(self):
        if self.words:
            self.emit([self.words.pop(0)])
        else:
            self.finish()
class Show(Bolt):
    def process(self, tup):
        print(tup.values[0], os.path.basename(os.getcwd()), callable(socket.gethostname))
"""
SHOWING = """
from streamparse import Topology
from showing import Show, Words
class Showing(Topology):
    words = Words.spec()
    show = Show.spec(inputs=[words])
"""


def test_components_run_in_src_as_in_storm(place: Place) -> None:
    """They open what lies there, and a sibling called socket.py is none of their modules."""
    for folder in ("src/resources", "topologies"):
        (place.path / folder).mkdir(parents=True)
    (place.path / "config.json").write_text('{"topology_specs": "topologies/", "envs": {"a": {}}}')
    (place.path / "src" / "showing.py").write_text(COMPONENTS)
    (place.path / "src" / "resources" / "words.txt").write_text("storm heron")
    (place.path / "topologies" / "words.py").write_text(SHOWING)
    (place.path / "topologies" / "socket.py").write_text("raise RuntimeError('not me')")
    out = place.heronpy("run", "-n", "words", "-N", place.name).succeeded().out
    assert [line.split(" | ")[-1] for line in out.splitlines()] == [
        "storm src True",
        "heron src True",
    ]
