"""`heronpy update` when the master dies with its answer."""

from types import SimpleNamespace
from typing import Any

import pytest

from heron_cli.commands import update
from heron_core.plans import PackingPlan, packing_to_json
from heron_core.state_tree import packing_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_io.master_client import NoAnswer
from scheduler.packing import pack, repack

SPEC = TopologySpec("t", (ComponentSpec("words", True, "m.Words", 2),))
OLD = pack(SPEC)
NEW = repack(SPEC, OLD, {"words": 3}, None)


def topology(stored: PackingPlan) -> Any:
    """One whose master never answers."""

    def ask(*_: object) -> None:
        raise NoAnswer("no answer")

    nodes = {topology_path("t"): topology_to_json(SPEC), packing_path("t"): packing_to_json(stored)}
    return SimpleNamespace(name="t", store=nodes, client=SimpleNamespace(ask=ask))


def test_its_successor_goes_on_with_what_it_had_stored() -> None:
    update._begin(topology(NEW), NEW)


def test_what_it_had_not_stored_is_not_begun() -> None:
    with pytest.raises(NoAnswer):
        update._begin(topology(OLD), NEW)
