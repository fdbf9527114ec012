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


SHOWN = """\
from heronpy_compat import Bolt, Spout, Topology
FACTOR = 3
class Numbers(Spout):
    outputs = ["number"]
    at = 0
    def next_tuple(self):
        self.at += 1
        if self.at > 3:
            self.finish()
        else:
            self.emit([self.at])

class Show(Bolt):
    def process(self, tup):
        print("got", FACTOR * tup.values[0])

class NAME(Topology):
    numbers = Numbers.spec()
    show = Show.spec(inputs=[numbers])

"""


def test_a_topology_of_classes_of_a_prompt_runs_to_its_end(place: Place) -> None:
    # The topology's name is that of this test's place, which no class could have.
    typed = f"""{SHOWN.partition("class NAME")[0]}
from heronpy_compat import TopologyBuilder
builder = TopologyBuilder({place.name!r})
numbers = builder.add_spout("numbers", Numbers, 1)
shown = builder.add_bolt("show", Show, 1, [numbers])
builder.build_and_submit()
print("back at", "the prompt")
"""
    found = subprocess.run(
        [sys.executable, "-i", "-q"],
        check=True,
        cwd=place.path,
        env=place.environment,
        input=typed,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECS,
    )
    assert [each for each in (3, 6, 9) if f"got {each}\n" not in found.stdout] == []
    assert "back at the prompt" in found.stdout, found.stderr
    place.nothing_is_left()


def test_a_program_that_only_defines_a_topology_says_how_to_run_it(place: Place) -> None:
    (place.path / "silent.py").write_text(SHOWN.replace("NAME", "Silent"))
    (place.path / "tried.py").write_text(f"{SHOWN.replace('NAME', 'Tried')}Tried.to_spec()\n")
    told = {}
    for name in ("silent", "tried"):
        found = subprocess.run(
            [sys.executable, f"{name}.py"],
            check=True,
            cwd=place.path,
            env=place.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECS,
        )
        told[name] = found.stderr
    assert told == {
        "silent": "silent.py defines topology Silent and does not run it: start it with"
        " `heronpy run silent.py`, or end the file with `Silent.write()`\n",
        "tried": "",
    }
