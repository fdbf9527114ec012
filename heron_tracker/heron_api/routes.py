"""Heron's tracker over HTTP: each route below /topologies, as Heron has it, and by its name."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from heron_core.stats import InstanceStats
from heron_core.validation import choices
from heron_io.open_metrics import exposition
from heron_tracker import log_files, stacks
from heron_tracker.envelope import BadRequest, NotFound, encoded, success
from heron_tracker.heron_api import plans, stream_managers
from heron_tracker.heron_api.metrics import (
    STREAM_MANAGERS,
    Wanted,
    check_component,
    check_interval,
    check_values,
    chosen,
    component_metrics,
    exception_summary,
    exceptions,
    query_timelines,
    timeline_of,
)
from heron_tracker.heron_api.query import SPAN_SECS_MAX, Timeline, evaluate, parse
from heron_tracker.model.history import COARSE_KEPT_SECS, FINE_KEPT_SECS
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.open_metrics import service_families
from heron_tracker.service import Service, exception_times

Text = Annotated[str, Query(max_length=1000)]
MaybeText = Annotated[str | None, Query(max_length=1000)]
Texts = Annotated[list[str] | None, Query(max_length=200)]
Seconds = Annotated[int, Query(ge=0, le=10**11)]
NAMES: dict[str, tuple[str, ...]] = {
    "metricstimeline": ("/topologies/metrics/timeline",),
    "metricsquery": ("/topologies/metrics/query",),
    "containerfiledata": ("/topologies/container/filedata",),
    "containerfilestats": ("/topologies/container/filestats",),
}
"""Alternative paths of a route, from newer versions of Heron."""


class EnvelopeResponse(Response):
    """Heron's envelope around what a route returns."""

    media_type = "application/json"


def enveloped(request: Request, result: Any) -> Response:
    """An answer in Heron's envelope."""
    secs = time.perf_counter() - request.state.began
    return EnvelopeResponse(encoded(success(result, secs)))


def add_route(router: APIRouter, name: str, answer: Callable[..., Response]) -> None:
    """`answer` under /topologies/NAME, /NAME and further paths of it."""
    for path in (f"/topologies/{name}", f"/{name}", *NAMES.get(name, ())):
        router.add_api_route(
            path, answer, methods=["GET"], response_class=EnvelopeResponse, tags=["Heron"],
            operation_id=path.strip("/").replace("/", "_"),
        )  # fmt: skip


def found_by(service: Service) -> Callable[..., Awaitable[TopologySnapshot]]:
    """The topology of a request, by the arguments common to all routes."""

    async def found(
        topology: Text,
        cluster: MaybeText = None,
        environ: MaybeText = None,
        role: MaybeText = None,
    ) -> TopologySnapshot:
        return service.topology(topology, cluster, environ, role)

    return found


def heron_router(service: Service) -> APIRouter:
    """All routes of Heron's tracker except /metrics, a path shared with OpenMetrics."""
    router = APIRouter()
    _add_lists(router, service)
    for name, part in (
        ("info", plans.info),
        ("logicalplan", plans.logical_plan),
        ("physicalplan", plans.physical_plan),
        ("packingplan", plans.packing_plan),
        ("executionstate", plans.execution_state),
        ("schedulerlocation", plans.scheduler_location),
        ("metadata", plans.metadata),
        ("runtimestate", plans.runtime_state),
        ("config", lambda snapshot: plans.physical_plan(snapshot)["config"]),
    ):
        _add_part(router, service, name, part)
    _add_timelines(router, service)
    _add_exceptions(router, service)
    _add_files(router, service)
    _add_process(router, service, "pid", stacks.pid_answer)
    _add_process(router, service, "jstack", stacks.stack_answer)
    return router


def _add_lists(router: APIRouter, service: Service) -> None:
    def topologies(
        request: Request, cluster: Texts = None, environ: Texts = None, role: MaybeText = None
    ) -> Response:
        """cluster -> role -> environ -> names of topologies."""
        by_cluster: dict[str, dict[str, dict[str, list[str]]]] = {}
        for snapshot in service.all(cluster, environ, role):
            roles = by_cluster.setdefault(snapshot.cluster, {}).setdefault(snapshot.role, {})
            roles.setdefault(snapshot.environ, []).append(snapshot.name)
        return enveloped(request, by_cluster)

    def states(
        request: Request, cluster: Texts = None, environ: Texts = None, role: MaybeText = None
    ) -> Response:
        """cluster -> environ -> topology -> execution state."""
        by_cluster: dict[str, dict[str, dict[str, Any]]] = {}
        for snapshot in service.all(cluster, environ, role):
            environs = by_cluster.setdefault(snapshot.cluster, {}).setdefault(snapshot.environ, {})
            environs[snapshot.name] = plans.execution_state(snapshot)
        return enveloped(request, by_cluster)

    def machines(
        request: Request, cluster: Texts = None, environ: Texts = None, topology: Texts = None
    ) -> Response:
        """cluster -> environ -> topology -> the hosts of its containers."""
        by_cluster: dict[str, dict[str, dict[str, list[str]]]] = {}
        for snapshot in service.all(cluster, environ, names=topology):
            environs = by_cluster.setdefault(snapshot.cluster, {}).setdefault(snapshot.environ, {})
            environs[snapshot.name] = plans.machines(snapshot)
        return enveloped(request, by_cluster)

    def clusters(request: Request) -> Response:
        """The clusters with topologies."""
        return enveloped(request, sorted({snapshot.cluster for snapshot in service.all()}))

    router.add_api_route("/topologies", topologies, tags=["Heron"], response_class=EnvelopeResponse)
    add_route(router, "states", states)
    add_route(router, "machines", machines)
    add_route(router, "clusters", clusters)


def _add_part(
    router: APIRouter, service: Service, name: str, part: Callable[[TopologySnapshot], Any]
) -> None:
    def answer(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
    ) -> Response:
        """A part of what is known of a topology."""
        return enveloped(request, part(snapshot))

    add_route(router, name, answer)


def metrics_router(service: Service) -> APIRouter:
    """Metrics in both formats: they share a path."""
    router = APIRouter()

    def metrics(
        request: Request,
        topology: MaybeText = None,
        component: MaybeText = None,
        cluster: MaybeText = None,
        environ: MaybeText = None,
        role: MaybeText = None,
        metricname: Texts = None,
        instance: Texts = None,
        interval: Annotated[int, Query(ge=-1, le=FINE_KEPT_SECS)] = -1,
    ) -> Response:
        """Without arguments all of OpenMetrics. With them Heron's: metric -> instance -> value,
        since the start or over the last `interval` seconds."""
        if not request.query_params:
            return _open_metrics(service, request)
        if topology is None or component is None:
            raise BadRequest("Heron's metrics take the arguments topology and component")
        snapshot = service.with_stats(service.topology(topology, cluster, environ, role))
        now = int(service.calendar())
        wanted = Wanted(component, metricname or (), instance or ())
        if component == STREAM_MANAGERS:
            return enveloped(request, _of_stream_managers(service, snapshot, wanted, interval, now))
        recent = service.points(snapshot, component, now - interval, now) if interval > 0 else []
        return enveloped(request, component_metrics(snapshot, wanted, interval, recent, now))

    add_route(router, "metrics", metrics)
    return router


def _of_stream_managers(
    service: Service, snapshot: TopologySnapshot, wanted: Wanted, interval: int, now: int
) -> dict[str, Any]:
    if interval <= 0:
        metrics = stream_managers.metrics_since_start(snapshot, wanted.metrics, wanted.instances)
    else:
        points_of = partial(service.points, snapshot, start=now - interval, end=now)
        metrics = stream_managers.metrics_of_interval(
            snapshot, wanted.metrics, points_of, now - interval
        )
    return {"interval": interval, "component": wanted.component, "metrics": metrics}


def _timelines(
    service: Service, snapshot: TopologySnapshot, wanted: Wanted, metric: str, start: int, end: int
) -> dict[str, dict[int, float]]:
    """Heron's id of an instance or stream manager -> its timeline."""
    points_of = partial(service.points, snapshot, start=start, end=end)
    if wanted.component == STREAM_MANAGERS:
        timelines = stream_managers.timelines_of(snapshot, metric, points_of, start, end)
    else:
        points = points_of(wanted.component)
        timelines = timeline_of(snapshot, wanted.component, metric, points, start, end)
    return chosen(timelines, wanted, snapshot)


def _open_metrics(service: Service, request: Request) -> Response:
    service.collector.scraped()
    families = partial(service_families, service.all(), dict(service.problem_counts()))
    text, content_type = exposition(families, request.headers.get("accept", ""))
    return Response(text, media_type=content_type)


def _add_timelines(router: APIRouter, service: Service) -> None:
    def metricstimeline(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        component: Text,
        starttime: Seconds,
        endtime: Seconds,
        metricname: Texts = None,
        instance: Texts = None,
    ) -> Response:
        """metric -> instance -> minute -> value."""
        check_interval(starttime, endtime, SPAN_SECS_MAX)
        check_component(snapshot, component)
        check_values(snapshot, component, starttime, endtime)
        wanted = Wanted(component, metricname or (), instance or ())
        timelines = {
            name: _timelines(service, snapshot, wanted, name, starttime, endtime)
            for name in wanted.metrics
        }
        head = {"component": component, "starttime": starttime, "endtime": endtime}
        return enveloped(request, {**head, "timeline": timelines})

    def metricsquery(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        query: Annotated[str, Query(max_length=4000)],
        starttime: Seconds,
        endtime: Seconds,
    ) -> Response:
        """The timelines that a query of Heron's language comes to."""
        check_interval(starttime, endtime, SPAN_SECS_MAX)
        tree = parse(query)

        def fetch(
            component: str, instance: str | None, metric: str, start: int, end: int
        ) -> list[Timeline]:
            check_component(snapshot, component)
            check_values(snapshot, component, start, end)
            wanted = Wanted(component, (metric,), () if instance is None else (instance,))
            return query_timelines(_timelines(service, snapshot, wanted, metric, start, end))

        timelines = evaluate(tree, starttime, endtime, fetch)
        rows = [
            {"data": x.values, **({"instance": x.instance} if x.instance else {})}
            for x in timelines
        ]
        return enveloped(request, {"starttime": starttime, "endtime": endtime, "timeline": rows})

    add_route(router, "metricstimeline", metricstimeline)
    add_route(router, "metricsquery", metricsquery)


def _add_exceptions(router: APIRouter, service: Service) -> None:
    def found(topology: TopologySnapshot, component: str, instances: list[str] | None) -> Any:
        service.with_stats(topology)
        now = int(service.calendar())
        points = service.points(topology, component, now - COARSE_KEPT_SECS, now)
        return exceptions(
            topology, Wanted(component, (), instances or ()), *exception_times(points)
        )

    def answer(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        component: Text,
        instance: Texts = None,
    ) -> Response:
        """Errors of a component."""
        return enveloped(request, found(snapshot, component, instance))

    def summary(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        component: Text,
        instance: Texts = None,
    ) -> Response:
        """Errors of a component, one per kind."""
        return enveloped(request, exception_summary(found(snapshot, component, instance)))

    add_route(router, "exceptions", answer)
    add_route(router, "exceptionsummary", summary)


def _checked_container(snapshot: TopologySnapshot, container: str) -> None:
    """All containers of a topology on one machine share a folder; an unknown container has none."""
    known = ["0", *(str(each.id) for each in snapshot.packing.containers)]
    if container.removeprefix("stmgr-").removeprefix("container_") not in known:
        listed = choices("containers", container, known)
        raise NotFound(f"{snapshot.name} has no container {container!r:.100}: {listed}")


def _add_files(router: APIRouter, service: Service) -> None:
    def containerfiledata(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        container: Text,
        path: Text,
        offset: Annotated[int, Query(ge=-(10**15), le=10**15)] = 0,
        length: Annotated[int, Query(ge=0, le=log_files.LENGTH_MAX)] = 64 * 1024,
    ) -> Response:
        """A piece of a log file."""
        _checked_container(snapshot, container)
        return enveloped(request, log_files.file_data(snapshot, path, offset, length))

    def containerfilestats(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        container: Text,
        path: Text = ".",
    ) -> Response:
        """The files in the folder of the logs."""
        _checked_container(snapshot, container)
        return enveloped(request, log_files.file_stats(snapshot, path))

    add_route(router, "containerfiledata", containerfiledata)
    add_route(router, "containerfilestats", containerfilestats)


def _add_process(
    router: APIRouter,
    service: Service,
    name: str,
    make: Callable[[TopologySnapshot, InstanceStats], Any],
) -> None:
    def answer(
        request: Request,
        snapshot: Annotated[TopologySnapshot, Depends(found_by(service))],
        instance: Text,
    ) -> Response:
        """Of the process of an instance."""
        return enveloped(request, make(snapshot, service.instance(snapshot, instance)))

    add_route(router, name, answer)
