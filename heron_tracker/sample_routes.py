"""The route of samples: tuples of a stream, for operators, as they are data and not numbers."""

from typing import Annotated

from fastapi import APIRouter, Query

from heron_io.stream_sample import COUNT, COUNT_MAX, SECS, WantedSample
from heron_tracker.service import Service

SECS_MAX = 30
"""For which a thread of the service waits."""
Name = Annotated[str, Query(max_length=1000)]


def sample_router(service: Service) -> APIRouter:
    """POST: whoever may only read does not get it."""
    router = APIRouter()

    @router.post("/api/sample", tags=["Sample"])
    def sample(
        topology: Name,
        component: Name,
        stream: Name = "default",
        count: Annotated[int, Query(ge=1, le=COUNT_MAX)] = COUNT,
        secs: Annotated[int, Query(ge=1, le=SECS_MAX)] = SECS,
    ) -> dict[str, object]:
        """The next tuples that a component sends on a stream, as `heronpy sample`."""
        tuples = service.sample(topology, WantedSample(component, stream, count, secs))
        return {"topology": topology, "component": component, "stream": stream, "tuples": tuples}

    return router
