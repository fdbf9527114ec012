"""What users write against: heronpy's API path by path, its main names re-exported here.

    from heronpy_compat import Bolt, Grouping, Spout, Topology

A name is imported when it is first asked for, so `import heronpy_compat` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_api.api_constants import TopologyReliabilityMode
    from heron_api.bolt.batch_bolt import BatchBolt
    from heron_api.bolt.bolt import Bolt
    from heron_api.component.component_spec import GlobalStreamId, HeronComponentSpec
    from heron_api.custom_grouping import ICustomGrouping
    from heron_api.metrics import (
        AssignableMetrics,
        CountMetric,
        IMetric,
        IReducer,
        MeanReducedMetric,
        MeanReducer,
        MultiAssignableMetrics,
        MultiCountMetric,
        MultiMeanReducedMetric,
        MultiReducedMetric,
        ReducedMetric,
    )
    from heron_api.serializer import IHeronSerializer, PythonSerializer
    from heron_api.spout.spout import Spout
    from heron_api.stream import Grouping, Stream
    from heron_api.task_hook import ITaskHook
    from heron_api.topology import Topology, TopologyBuilder
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Row, Tuple, TupleHelper

__all__ = [
    "AssignableMetrics",
    "BatchBolt",
    "Bolt",
    "CountMetric",
    "GlobalStreamId",
    "Grouping",
    "HeronComponentSpec",
    "ICustomGrouping",
    "IHeronSerializer",
    "IMetric",
    "IReducer",
    "ITaskHook",
    "MeanReducedMetric",
    "MeanReducer",
    "MultiAssignableMetrics",
    "MultiCountMetric",
    "MultiMeanReducedMetric",
    "MultiReducedMetric",
    "PythonSerializer",
    "ReducedMetric",
    "Row",
    "Spout",
    "Stream",
    "Topology",
    "TopologyBuilder",
    "TopologyContext",
    "TopologyReliabilityMode",
    "Tuple",
    "TupleHelper",
]

_HOME = {
    "BatchBolt": "bolt.batch_bolt",
    "Bolt": "bolt.bolt",
    "GlobalStreamId": "component.component_spec",
    "Grouping": "stream",
    "HeronComponentSpec": "component.component_spec",
    "ICustomGrouping": "custom_grouping",
    "IHeronSerializer": "serializer",
    "ITaskHook": "task_hook",
    "PythonSerializer": "serializer",
    "Row": "tuple",
    "Spout": "spout.spout",
    "Stream": "stream",
    "Topology": "topology",
    "TopologyBuilder": "topology",
    "TopologyContext": "topology_context",
    "TopologyReliabilityMode": "api_constants",
    "Tuple": "tuple",
    "TupleHelper": "tuple",
}
"""name -> module below heron_api; what is not here is a metric"""


if not TYPE_CHECKING:  # a type checker reports a name that is not exported

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.api.{_HOME.get(name, 'metrics')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
