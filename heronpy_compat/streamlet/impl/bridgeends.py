"""Common parts of both ends of a bridge: settings and greeting."""

from typing import Any
from uuid import uuid4

from heron_connectors.bridge.frames import EndHello
from heron_connectors.bridge.link import END
from heronpy_compat.streamlet.errors import StreamletError


def hello_of(config: dict[str, Any], context: Any, is_source: bool) -> EndHello:
    """How an instance introduces itself to the client."""
    return EndHello(
        end=config[END],
        is_source=is_source,
        task=context.get_task_id(),
        tasks=len(context.get_component_tasks(context.get_component_id())),
        incarnation=uuid4().hex,
    )


def bridge_settings(end: Any) -> dict[str, Any]:
    """The settings of an end of a graph that is being materialized; RuntimeError without."""
    if end.settings is None:
        raise StreamletError(
            f"{end.get_name()!r} is a local end of the graph: run the graph with"
            " heronpy_compat.streamlet.materializer.materialize, and in tests with"
            " heronpy_compat.testing.materialize_in_tester"
        )
    return {**end.settings, END: end.get_name()}
