"""The same topology file, written against streamparse: with the installed package and with ours
it comes to the same topology, the same bytes for Nimbus and the same Flux file."""

import base64
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heron_core.thrift.structs import Reader
from heronpy_compat.streamparse.thrift import StormTopology

HERE = Path(__file__).parent
EVERYTHING = HERE / "topologies" / "sp_everything.py"
REPOSITORY = HERE.parents[3]


def _start(preference: str, place: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HERONPY_STREAMPARSE": preference, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(HERE / "both_packages.py"), str(EVERYTHING)]
    return subprocess.Popen(
        [*command, str(place / f"written-{preference}")], stdout=subprocess.PIPE, env=environment
    )


@dataclass(frozen=True, slots=True)
class Both:
    """What ours and what the installed package make of the same file."""

    ours: dict[str, Any]
    installed: dict[str, Any]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Two processes, as one can have only one streamparse."""
    place = tmp_path_factory.mktemp("both")
    started = [_start("builtin", place), _start("", place)]
    ours, installed = (json.loads(each.communicate()[0]) for each in started)
    return Both(ours, installed)


def test_each_is_what_it_says(both: Both) -> None:
    assert both.ours["module"] == "heronpy_compat.streamparse.dsl.topology"
    assert both.installed["module"] == "streamparse.dsl.topology"
    assert both.ours["heavy"] == []
    assert both.installed["heavy"] == ["simplejson", "thriftpy2"]


def test_both_come_to_the_same_topology(both: Both) -> None:
    for found in (both.ours, both.installed):
        for component in found["spec"]["components"]:
            # The original puts inputs that were given as components behind the others.
            component["inputs"].sort(key=lambda each: (each["component"], each["stream"]))
    assert both.ours["spec"] == both.installed["spec"]


def test_both_write_the_same_for_nimbus(both: Both) -> None:
    ours, installed = (base64.b64decode(each["thrift"]) for each in (both.ours, both.installed))
    theirs = StormTopology.read(Reader(installed))
    assert theirs.write() == installed
    assert StormTopology.read(Reader(ours)) == theirs


def test_both_make_the_same_flux_file(both: Both) -> None:
    # The original forgets how many instances a Java component has.
    (printer,) = (each for each in both.ours["flux"]["bolts"] if each["id"] == "printer")
    assert printer.pop("parallelism") == 1
    for found in (both.ours, both.installed):
        found["flux"]["streams"].sort(
            key=lambda each: (each["from"], each["to"], each["grouping"]["streamId"])
        )
    assert both.ours["flux"] == both.installed["flux"]
