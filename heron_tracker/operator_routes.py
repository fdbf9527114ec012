"""Operations on a topology by REST, besides those of Storm's UI: checkpoint, savepoint, restart,
cancel. Each answer has the number of the durable request, as Storm's actions do.
"""

import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from fastapi.responses import Response

from heron_core.operations import OperationKind, Way
from heron_core.plans import MASTER_CONTAINER
from heron_engine.scheduler.user_folder import Home
from heron_tracker.actions import kill_arguments
from heron_tracker.envelope import BadRequest
from heron_tracker.heron_api.routes import enveloped
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.requesters import client_of
from heron_tracker.service import Service

PREFIX = "/api/topologies/{name}"
Name = Annotated[str, Path(max_length=1000)]


def operator_router(service: Service) -> APIRouter:
    """POST routes, which need an operator."""
    router = APIRouter(prefix=PREFIX, tags=["Operations"])

    def asked(
        request: Request,
        snapshot: TopologySnapshot,
        kind: OperationKind,
        arguments: Mapping[str, Any],
    ) -> Response:
        number = service.ask(snapshot, kind, arguments, client_of(request, Way.REST))
        answer = {"topology": snapshot.name, "kind": kind.value, "operation": number}
        savepoint = arguments.get("savepoint")
        return enveloped(request, {**answer, "savepoint": savepoint} if savepoint else answer)

    @router.post("/checkpoint")
    def checkpoint(request: Request, name: Name) -> Response:
        """As `heronpy checkpoint`."""
        return asked(request, service.topology(name), OperationKind.CHECKPOINT, {})

    @router.post("/savepoint")
    def savepoint(request: Request, name: Name) -> Response:
        """As `heronpy kill --savepoint`: the answer names the folder of the savepoint."""
        snapshot = service.topology(name)
        folder = Home.of_user().savepoint(snapshot.name, time.strftime("%Y%m%d-%H%M%S"))
        arguments = {**kill_arguments(0), "savepoint": folder}
        return asked(request, snapshot, OperationKind.KILL, arguments)

    @router.post("/restart")
    def restart(request: Request, name: Name, body: Annotated[Any, Body()] = None) -> Response:
        """As `heronpy restart`, of {"containers": [1, 2]} or of all."""
        snapshot = service.topology(name)
        arguments = {"containers": _containers(snapshot, body)}
        return asked(request, snapshot, OperationKind.RESTART, arguments)

    @router.post("/cancel")
    def cancel(request: Request, name: Name) -> Response:
        """As `heronpy update --cancel`."""
        return asked(request, service.topology(name), OperationKind.CANCEL, {})

    return router


def _containers(snapshot: TopologySnapshot, body: Any) -> list[int]:
    """The wanted containers; BadRequest for a container without a place in the plan."""
    known = [MASTER_CONTAINER, *(each.id for each in snapshot.packing.containers)]
    wanted = body.get("containers") if isinstance(body, dict) else None
    if body is None:
        return known
    if (
        not isinstance(wanted, list)
        or not wanted
        or not set(map(str, wanted)) <= set(map(str, known))
    ):
        raise BadRequest(
            f'give {{"containers": [N, ...]}}; containers of {snapshot.name}: '
            f"{', '.join(map(str, known))}"
        )
    return [each for each in known if each in wanted]
