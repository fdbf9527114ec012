"""Tick tuples come to a bolt of every API, as there: by whichever door a porter comes in."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heronpy_compat.testing import TopologyTester

TICKS = "topology.tick.tuple.freq.secs"
SEEN = "self.emit([tup.component, tup.stream, tup.task, list(tup.values or ())])"
HERONPY = f"""
from {{package}} import Bolt, Spout, Topology
class Silent(Spout):
    outputs = ["nothing"]
    def next_tuple(self):
        pass
class Ticked(Bolt):
    outputs = ["component", "stream", "task", "values"]
    def process(self, tup):
        raise AssertionError("no tuple comes")
    {{awaits}}def process_tick(self, tup):
        assert self.is_tick(tup)
        {SEEN}
class T(Topology):
    silent = Silent.spec()
    ticked = Ticked.spec(inputs=[silent], config={{{{"{TICKS}": 2}}}})
"""
CHILD = """
import json, os, sys
def say(message):
    print(json.dumps(message), "end", sep="\\n", flush=True)
def read():
    lines = []
    for line in iter(sys.stdin.readline, "end\\n"):
        lines.append(line) if line else sys.exit()
    return json.loads("".join(lines))
open(os.path.join(read()["pidDir"], str(os.getpid())), "w").close()
say({"pid": os.getpid()})
while True:
    tup = read()
    if isinstance(tup, list):
        continue
    if tup["stream"] == "__heartbeat":
        say({"command": "sync"})
        continue
    seen = [tup["comp"], tup["stream"], tup["task"], tup["tuple"]]
    say({"command": "emit", "tuple": seen, "need_task_ids": False})
    say({"command": "ack", "id": tup["id"]})
"""
STORM_PY = """
import storm
class Ticked(storm.BasicBolt):
    def process(self, tup):
        storm.emit([tup.component, tup.stream, tup.task, tup.values])
Ticked().run()
"""
PYSTORM_CHILD = f"""
from pystorm import Bolt
class Ticked(Bolt):
    def process_tick(self, tup):
        {SEEN}
Ticked().run()
"""
FLUX = """
config: {{{of_file}}}
spouts: [{{id: silent, className: doors.Silent}}]
bolts:
  - id: ticked
{bolt}
streams: [{{from: silent, to: ticked, grouping: {{type: SHUFFLE}}}}]
"""
SHELL = """    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [{command}, [component, stream, task, values]]
    configMethods: [{{name: addComponentConfig, args: [topology.tick.tuple.freq.secs, 2]}}]"""
STORMS = ["__system", "__tick", -1, [2]]
HERONS: list[Any] = ["__system", "__tick", None, []]
"""As heronpy makes them: without a task and without values."""


def python(package: str, awaits: str = "") -> Callable[[Path], str]:
    """A file of Python classes."""

    def written(folder: Path) -> str:
        (folder / "doors.py").write_text(HERONPY.format(package=package, awaits=awaits))
        return str(folder / "doors.py")

    return written


def flux(bolt: str, of_file: str = "", package: str = "heronpy_compat") -> Callable[[Path], str]:
    """A Flux file beside these classes."""

    def written(folder: Path) -> str:
        python(package)(folder)
        (folder / "t.yaml").write_text(FLUX.format(bolt=bolt, of_file=of_file))
        return str(folder / "t.yaml")

    return written


def child(program: str) -> Callable[[Path], str]:
    """A Flux file whose bolt is a program of its own."""

    def written(folder: Path) -> str:
        (folder / "child.py").write_text(program)
        command = json.dumps([sys.executable, str(folder / "child.py")])
        return flux(SHELL.format(command=command))(folder)

    return written


DOORS = {
    "heronpy_compat": python("heronpy_compat"),
    "heronpy_compat, a coroutine": python("heronpy_compat", "async "),
    "streamparse": python("streamparse"),
    "flux, a class of heronpy": flux(f"    className: doors.Ticked\n    config: {{{TICKS}: 2}}"),
    "flux, the file's config": flux("    className: doors.Ticked", f"{TICKS}: 2"),
    "flux, a class of streamparse": flux(
        SHELL.format(command="[streamparse_run, doors.Ticked]"), package="streamparse"
    ),
    "multi-lang": child(CHILD),
    "multi-lang, storm.py": child(STORM_PY),
    "multi-lang, pystorm": child(PYSTORM_CHILD),
}


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize("door", DOORS)
def test_a_bolt_gets_its_ticks_whatever_it_is_written_for(door: str, tmp_path: Path) -> None:
    with TopologyTester(DOORS[door](tmp_path)) as tester:
        tester.advance(7)
        seen = HERONS if "heronpy" in door or door.startswith("flux, the") else STORMS
        assert tester.values("ticked") == [seen] * 3
