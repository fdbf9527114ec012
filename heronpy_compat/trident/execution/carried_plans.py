"""What a component of Trident runs, on its way to the component's processes: in its config."""

from typing import Any

from heron_api.serializer import default_serializer
from heron_api.submissions import capture_submissions

PLAN = "trident.plan"
"""The key, whose value is pickled: each instance opens a copy of its own."""


def packed_plan(plan: Any) -> bytes:
    """A plan with the user's objects."""
    return default_serializer.serialize(plan)


def carried_plan(config: dict[str, Any]) -> Any:
    """The plan again. It may import the file of the topology, which submits that once more."""
    with capture_submissions():
        return default_serializer.deserialize(config[PLAN])
