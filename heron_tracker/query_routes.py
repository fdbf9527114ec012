"""The route of live queries: what a component of a running topology has in its state now."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from heron_core.state.protocol import ABSENT
from heron_core.typed_values import given_value
from heron_io.saved_queries import query_saved
from heron_io.state_queries import LIMIT, LIMIT_MAX, SECS, WantedState
from heron_tracker.envelope import BadRequest
from heron_tracker.service import Service

SECS_MAX = 30.0
"""For which a thread of the service waits."""
Name = Annotated[str, Query(max_length=1000)]
Given = Annotated[str | None, Query(max_length=10_000)]


def query_router(service: Service) -> APIRouter:
    """GET: whoever may read the numbers may read it."""
    router = APIRouter()

    @router.get("/api/state", tags=["State"])
    def state(
        topology: Name,
        name: Name,
        key: Given = None,
        map_key: Given = None,
        prefix: Given = None,
        limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = LIMIT,
        secs: Annotated[float, Query(ge=0.01, le=SECS_MAX)] = SECS,
        checkpoint: bool = False,
    ) -> dict[str, object]:
        """The entries of COMPONENT.STATE now, or as of the last completed checkpoint: of a key, of
        those with a prefix, or the first ones."""
        if key is not None and prefix is not None:
            raise BadRequest("a key and a prefix exclude each other: give one of them")
        wanted = WantedState(
            name=name, key=_given(key), map_key=_given(map_key), prefix=_given(prefix),
            limit=limit, secs=secs,
        )  # fmt: skip
        origin: dict[str, object] = {}
        if checkpoint:
            saved = service.saved_state(topology, name)
            answer, described = query_saved(saved, wanted), saved.description
            origin = {"checkpoint": {"number": described.checkpoint, "at": described.at}}
        else:
            answer = service.query(topology, wanted)
        entries = [json.loads(line) for line in answer.lines()]
        return {
            "topology": topology,
            "state": answer.name,
            "entries": entries,
            "has_more": answer.has_more,
            **origin,
        }

    return router


def _given(text: str | None) -> Any:
    return ABSENT if text is None else given_value(text)
