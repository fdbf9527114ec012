"""Storm's UI REST below /api/v1, plus problems as an extension."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import Response

from heron_core.operations import OperationKind, Way
from heron_tracker import actions
from heron_tracker.actions import kill_arguments, update_arguments
from heron_tracker.envelope import BadRequest, encoded
from heron_tracker.log_level_routes import add_storm_routes
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.requesters import client_of
from heron_tracker.service import Service
from heron_tracker.storm_api import cluster_views, graphs, views
from heron_tracker.storm_api.profiling import profiling_router

PREFIX = "/api/v1"
EVEN_ALREADY = "instances are spread evenly already: nothing changes without rebalanceOptions"
TopologyId = Annotated[str, Path(max_length=1000)]
MaybeHost = Annotated[str | None, Query(max_length=1000)]
Window = Annotated[Literal["600", "10800", "86400", ":all-time"], Query()]
WaitSecs = Annotated[int, Path(ge=0, le=10**6)]


class StormResponse(Response):
    """Storm's answers have no envelope."""

    media_type = "application/json"


def _answer(value: Any) -> Response:
    return StormResponse(encoded(value))


def storm_router(service: Service) -> APIRouter:
    """All served routes of Storm's UI."""
    router = APIRouter(prefix=PREFIX, default_response_class=StormResponse)
    _add_summaries(router, service)
    _add_topology(router, service)
    _add_actions(router, service)
    router.include_router(profiling_router(service))
    add_storm_routes(router, service)
    return router


def _add_summaries(router: APIRouter, service: Service) -> None:
    @router.get("/cluster/summary", tags=["Storm"])
    def cluster_summary() -> Response:
        """The whole."""
        uptime_secs = service.calendar() - service.started_at
        return _answer(views.cluster_summary(service.all(), uptime_secs))

    @router.get("/supervisor/summary", tags=["Storm"])
    def supervisor_summary() -> Response:
        """The machines."""
        return _answer(views.supervisor_summary(service.all()))

    @router.get("/cluster/configuration", tags=["Storm"])
    def cluster_configuration() -> Response:
        """Versions of the pages, and defaults of topologies."""
        return _answer(cluster_views.cluster_configuration())

    @router.get("/nimbus/summary", tags=["Storm"])
    def nimbus_summary(request: Request) -> Response:
        """The service."""
        uptime_secs = service.calendar() - service.started_at
        address = request.url
        port = address.port or (443 if address.scheme == "https" else 80)
        return _answer(cluster_views.nimbus_summary(address.hostname or "", port, uptime_secs))

    @router.get("/owner-resources", tags=["Storm"])
    def owner_resources() -> Response:
        """Users with topologies."""
        return _answer(cluster_views.owner_resources(service.all()))

    @router.get("/owner-resources/{owner}", tags=["Storm"])
    def owner(owner: TopologyId) -> Response:
        """A user with topologies."""
        return _answer(cluster_views.owner(service.all(), owner, service.calendar()))

    @router.get("/supervisor", tags=["Storm"])
    def supervisor(request: Request, id: MaybeHost = None, host: MaybeHost = None) -> Response:  # noqa: A002 (Storm's)
        """A machine with its workers."""
        name = id or host
        if not name:
            raise BadRequest("a supervisor is asked for by its id or host")
        return _answer(cluster_views.supervisor(service.all(), name, str(request.base_url)))

    @router.get("/topology/summary", tags=["Storm"])
    def topology_summary() -> Response:
        """All topologies."""
        return _answer(views.topology_summary(service.all(), service.calendar()))


def _add_topology(router: APIRouter, service: Service) -> None:
    def shown(request: Request, snapshot: TopologySnapshot, window: str) -> views.Shown:
        return views.Shown(
            service.added_in(snapshot), partial(service.last_error_at, snapshot), window,
            service.calendar(), str(request.base_url),
        )  # fmt: skip

    @router.get("/topology/{topology_id}", tags=["Storm"])
    def topology(
        request: Request, topology_id: TopologyId, window: Window = ":all-time"
    ) -> Response:
        """A topology with its components."""
        snapshot = service.with_stats(service.by_id(topology_id))
        return _answer(views.topology(snapshot, shown(request, snapshot, window)))

    @router.get("/topology/{topology_id}/component/{component}", tags=["Storm"])
    def component(
        request: Request,
        topology_id: TopologyId,
        component: Annotated[str, Path(max_length=1000)],
        window: Window = ":all-time",
    ) -> Response:
        """A component with its instances."""
        snapshot = service.with_stats(service.by_id(topology_id))
        return _answer(views.component(snapshot, component, shown(request, snapshot, window)))

    @router.get("/topology/{topology_id}/lag", tags=["Storm"])
    def lag(topology_id: TopologyId) -> Response:
        """Kafka lag of spouts: not available, so the list is empty."""
        service.by_id(topology_id)
        return _answer({})

    @router.get("/topology/{topology_id}/visualization-init", tags=["Storm"])
    def visualization_init(topology_id: TopologyId) -> Response:
        """The streams of a topology."""
        return _answer(graphs.stream_table(service.by_id(topology_id)))

    @router.get("/topology/{topology_id}/visualization", tags=["Storm"])
    def visualization(topology_id: TopologyId) -> Response:
        """A topology's graph, with the metrics of the components."""
        snapshot = service.with_stats(service.by_id(topology_id))
        return _answer(graphs.graph(snapshot))


def _add_actions(router: APIRouter, service: Service) -> None:
    def asked(
        request: Request,
        snapshot: TopologySnapshot,
        word: str,
        kind: OperationKind,
        arguments: Mapping[str, Any],
    ) -> Response:
        number = service.ask(snapshot, kind, arguments, client_of(request, Way.REST))
        return done(snapshot, word, number)

    def done(
        snapshot: TopologySnapshot, word: str, number: int | None, message: str = ""
    ) -> Response:
        return _answer(
            {
                "topologyOperation": word, "topologyId": snapshot.id, "status": "success",
                "operation": number, **({"message": message} if message else {}),
            }
        )  # fmt: skip

    @router.post("/topology/{topology_id}/activate", tags=["Storm"])
    def activate(request: Request, topology_id: TopologyId) -> Response:
        """Like `heronpy activate`; carried out before or soon after the answer."""
        snapshot = service.by_id(topology_id)
        return asked(request, snapshot, "activate", OperationKind.ACTIVATE, {})

    @router.post("/topology/{topology_id}/deactivate", tags=["Storm"])
    def deactivate(request: Request, topology_id: TopologyId) -> Response:
        """As `heronpy deactivate`."""
        snapshot = service.by_id(topology_id)
        return asked(request, snapshot, "deactivate", OperationKind.DEACTIVATE, {})

    @router.post("/topology/{topology_id}/kill/{wait_secs}", tags=["Storm"])
    def kill(request: Request, topology_id: TopologyId, wait_secs: WaitSecs) -> Response:
        """As `heronpy kill --wait`."""
        snapshot = service.by_id(topology_id)
        arguments = kill_arguments(wait_secs)
        return asked(request, snapshot, "kill", OperationKind.KILL, arguments)

    @router.post("/topology/{topology_id}/rebalance/{wait_secs}", tags=["Storm"])
    def rebalance(
        request: Request,
        topology_id: TopologyId,
        wait_secs: WaitSecs,
        body: Annotated[Any, Body()] = None,
    ) -> Response:
        """Like `heronpy update`, without a limit of the wait. Without options, as sent by Storm's
        pages, instances would be spread evenly, the present state: no change."""
        snapshot = service.by_id(topology_id)
        if body is None:
            actions.check_can_ask(snapshot)
            return done(snapshot, "rebalance", None, EVEN_ALREADY)
        arguments = update_arguments(snapshot, body)
        return asked(request, snapshot, "rebalance", OperationKind.UPDATE, arguments)


def problems_router(service: Service) -> APIRouter:
    """Problems of topologies, with remedies."""
    router = APIRouter(default_response_class=StormResponse)

    @router.get("/api/problems", tags=["Problems"])
    def problems(topology: Annotated[str | None, Query(max_length=1000)] = None) -> Response:
        """Of one topology, or of all: topologies with problems first."""
        if topology is not None:
            return _answer(service.problems(service.topology(topology)))
        answers = [service.problems(snapshot) for snapshot in service.all()]
        return _answer(
            sorted(answers, key=lambda answer: not (answer["problems"] or answer["trouble"]))
        )

    return router
