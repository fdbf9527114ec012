"""An ECO file says of its components what they need, as in Heron."""

from collections.abc import Callable

import pytest

from heron_core.config import CPU_MAP, DISK_MAP, RAM_MAP
from heron_core.plans import GIB, MIB
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing import pack
from heron_frontends.flux.component_resources import RESOURCE_MAP

Load = Callable[..., TopologySpec]
FILE = """
type: heron
config:
  topology.component.rammap: "two:64MB"
  topology.component.resourcemap: {entries}
spouts:
  - {{id: one, className: parts.Lines}}
  - {{id: two, className: parts.Lines}}
"""


def test_the_resource_map_of_an_eco_file_sizes_its_instances(load: Load) -> None:
    topology = load(
        FILE.format(entries="[{id: one, ram: 256MB, cpu: 0.5, disk: 2GB}, {id: two, ram: 1GB}]")
    )
    assert RESOURCE_MAP not in topology.config
    assert topology.config[RAM_MAP] == f"two:64MB,one:{256 * MIB}"
    assert topology.config[CPU_MAP] == "one:0.5"
    assert topology.config[DISK_MAP] == f"one:{2 * GIB}"
    sizes = {each.component: each.resource for each in pack(topology).instances.values()}
    assert (sizes["one"].cpu, sizes["one"].ram_bytes) == (0.5, 256 * MIB)
    assert sizes["two"].ram_bytes == 64 * MIB


@pytest.mark.parametrize("entries", ["", "[]", "[{id: one}]", "[{id: one, ram: }]"])
def test_a_resource_map_that_says_nothing_changes_nothing(load: Load, entries: str) -> None:
    assert load(FILE.format(entries=entries)).config == {RAM_MAP: "two:64MB"}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("[{ram: 1GB}]", f"an entry of {RESOURCE_MAP} has no id"),
        ("[{id: onee, ram: 1GB}]", "'onee', which is not a component; did you mean 'one'?"),
        ("[{id: one, ram: 1GB}, {id: one, cpu: 1}]", "has two entries of 'one'"),
        ("[{id: one, memory: 1GB}]", "has the key 'memory', which is not known"),
        ("[{id: one, ram: 256}]", "ram must be a size with its unit, for example 256MB, not '256'"),
        ("[{id: one, ram: B256}]", "not 'B256'"),
        ("[{id: one, disk: 0GB}]", "not '0GB'"),
        ("[{id: one, cpu: half}]", "cpu must be a number of at least 0, not 'half'"),
        ("[one]", f"an entry of {RESOURCE_MAP} must be a mapping, not 'one'"),
        ("{id: one}", f"{RESOURCE_MAP} must be a list, not a mapping"),
    ],
)
def test_a_wrong_entry_of_a_resource_map_is_told_with_its_line(
    refused: Callable[..., str], entries: str, expected: str
) -> None:
    line = refused(FILE.format(entries=entries))
    assert line.startswith("t.yaml:5: ")
    assert expected in line
