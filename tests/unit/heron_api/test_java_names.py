"""A method under Java's name of a hook, which the engine would silently ignore, is refused."""

from pathlib import Path
from typing import Any

import pytest

from heron_api.java_names import java_name_problems
from heron_core.errors import ComponentError, TopologyError
from heron_frontends.loading.component_checks import CALLED_OF_COMPONENTS, check_components
from heron_frontends.loading.load import load_topology
from heronpy_compat import Bolt, ICustomGrouping, ITaskHook, Spout
from heronpy_compat.drpc import BaseBatchBolt
from heronpy_compat.streams import CombinerAggregator
from heronpy_compat.trident import (
    IBatchSpout,
    MultiReducer,
    PartitionsCoordinator,
    State,
    TransactionalEmitter,
    WindowsStore,
)


def ignored(self: Any, *_: Any) -> None:
    """Any method."""


@pytest.mark.parametrize(
    ("base", "java", "python"),
    [
        (State, "beginCommit", "begin_commit"),
        (IBatchSpout, "emitBatch", "emit_batch"),
        (PartitionsCoordinator, "isReady", "is_ready"),
        (TransactionalEmitter, "refreshPartitions", "refresh_partitions"),
        (WindowsStore, "putAll", "put_all"),
        (ITaskHook, "boltAck", "bolt_ack"),
        (ICustomGrouping, "chooseTasks", "choose_tasks"),
        (BaseBatchBolt, "finishBatch", "finish_batch"),
    ],
)
def test_an_interface_with_a_method_of_java(base: type, java: str, python: str) -> None:
    with pytest.raises(ComponentError, match=f"{java} of class Mine .* name it {python}$"):
        type("Mine", (base,), {java: ignored})
    both = type("Both", (base,), {java: ignored, python: ignored})
    assert callable(getattr(both, python))


def test_helpers_of_a_user_s_own_may_have_any_name() -> None:
    for base in (State, MultiReducer, CombinerAggregator, Bolt, Spout):
        kind = type("Mine", (base,), {"readAll": ignored, "_beginCommit": ignored})
        assert list(java_name_problems(kind, CALLED_OF_COMPONENTS.__contains__)) == []


def test_a_component_with_a_hook_of_java_is_refused_when_it_is_loaded(
    fresh_imports: None, tmp_path: Path
) -> None:
    file = tmp_path / "half_ported.py"
    file.write_text(
        "from heronpy_compat import Bolt, Spout, Topology\n"
        "class Words(Spout):\n"
        "    outputs = ['word']\n"
        "    def next_tuple(self): self.finish()\n"
        "class Sums(Bolt):\n"
        "    def process(self, tup): pass\n"
        "    def processTick(self, tup): pass\n"
        "    def emitBatch(self): 'a helper, as user code alone calls emit_batch'\n"
        "class Half(Topology):\n"
        "    words = Words.spec()\n"
        "    sums = Sums.spec(inputs=[words])\n"
    )
    with pytest.raises(TopologyError, match=r"half_ported.py:7: .*name it process_tick$"):
        check_components(load_topology(str(file)), runs_here=True)
