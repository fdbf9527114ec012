"""`python FILE NAME ARGS…` runs a heronpy program's topology, as people start Heron's examples."""

import os
import signal
import subprocess
import sys

import pytest

from tests.process.process_support import DEADLINE_SECS, Place

PARTS = """\
import sys

from heronpy.api.bolt.bolt import Bolt
from heronpy.api.spout.spout import Spout
from heronpy.api.stream import Grouping
from heronpy.api.topology import TopologyBuilder

class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.words = iter(config["words"])

    def next_tuple(self):
        word = next(self.words, None)
        if word is None:
            self.finish()
        else:
            self.emit([word])

class Shout(Bolt):
    def process(self, tup):
        print(tup.values[0].upper())

def main(name, *words):
    builder = TopologyBuilder(name)
    source = builder.add_spout("words", Words, 1)
    builder.add_bolt("shout", Shout, 1, inputs={source: Grouping.fields("word")})
    builder.set_config({"words": list(words)})
    builder.build_and_submit()

"""


@pytest.mark.parametrize("guard", ['if __name__ == "__main__":\n    ', ""])
def test_a_program_runs_its_topology(place: Place, guard: str) -> None:
    """Without the guard every process that imports the file submits again, to nobody."""
    (place.path / "shouting.py").write_text(f"{PARTS}{guard}main(*sys.argv[1:])\n")
    # What an installed environment does by itself (heronpy_aliases.pth).
    (place.path / "sitecustomize.py").write_text(
        "from heronpy_compat import aliases\naliases.install()\n"
    )
    paths = f"{place.path}{os.pathsep}{place.environment['PYTHONPATH']}"
    command = [sys.executable, "shouting.py", place.name, "--not-ours", "storm", "heron"]
    process = subprocess.Popen(
        command,
        cwd=place.path,
        env={**place.environment, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=DEADLINE_SECS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, err
    said = [line.partition(" | ")[2] for line in out.splitlines()]
    assert said == ["--NOT-OURS", "STORM", "HERON"]
    assert f"{place.name} ended after" in err
    place.nothing_is_left()
