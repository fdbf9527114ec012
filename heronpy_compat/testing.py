"""TopologyTester and ComponentTester: a topology, or one component, in an ordinary unit test.

    from heronpy_compat.testing import ComponentTester, TopologyTester, check_two_phase_sink

They run everything in one process on a virtual clock; docs/TESTING.md shows how.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_tester.component_tester import ComponentTester
    from heron_tester.errors import TesterError
    from heron_tester.local_drpc import LocalDRPC
    from heron_tester.materialized import materialize_in_tester
    from heron_tester.records import Emitted
    from heron_tester.sink_conformance import check_two_phase_sink
    from heron_tester.tester import TopologyTester

__all__ = [
    "ComponentTester", "Emitted", "LocalDRPC", "TesterError", "TopologyTester",
    "check_two_phase_sink", "materialize_in_tester",
]  # fmt: skip

_HOME = {
    "ComponentTester": "component_tester",
    "Emitted": "records",
    "LocalDRPC": "local_drpc",
    "TesterError": "errors",
    "TopologyTester": "tester",
    "check_two_phase_sink": "sink_conformance",
    "materialize_in_tester": "materialized",
}


if not TYPE_CHECKING:  # a type checker reports a name that is not exported

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"heron_tester.{_HOME[name]}"), name)
