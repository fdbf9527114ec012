"""Storm's REST of profiling: links to stacks, start, dump and stop, and what was recorded."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from heron_tracker.envelope import encoded
from heron_tracker.profiling import MINUTES_MAX, StormWorker
from heron_tracker.service import Service
from heron_tracker.storm_api import graphs

TopologyId = Annotated[str, Path(max_length=1000)]
HostPort = Annotated[str, Path(max_length=1000)]
Minutes = Annotated[int, Path(ge=1, le=MINUTES_MAX)]
PREFIX = "/topology/{topology_id}/profiling"


def profiling_router(service: Service) -> APIRouter:
    """GET throughout, as in Storm; access.py lets operators alone start, dump and stop."""
    router = APIRouter()

    @router.get(f"{PREFIX}/dumpjstack/{{host_port}}", tags=["Storm"])
    def stack_links(request: Request, topology_id: TopologyId, host_port: HostPort) -> Response:
        """Links to the Python stacks of a worker's instances."""
        snapshot = service.with_stats(service.by_id(topology_id))
        base_url = str(request.base_url)
        return _answer(graphs.stack_links(snapshot, host_port, base_url))

    @router.get(f"{PREFIX}/start/{{host_port}}/{{minutes}}", tags=["Storm"])
    def start(
        request: Request, topology_id: TopologyId, host_port: HostPort, minutes: Minutes
    ) -> Response:
        """py-spy records all processes of a worker, for so many minutes at most."""
        snapshot = service.with_stats(service.by_id(topology_id))
        worker = service.profilers.start(snapshot, host_port, minutes)
        return _answer({**_done(request, worker), "timeout": str(minutes)})

    @router.get(f"{PREFIX}/dumpprofile/{{host_port}}", tags=["Storm"])
    def dump(request: Request, topology_id: TopologyId, host_port: HostPort) -> Response:
        """Store the recording so far; profiling continues."""
        snapshot = service.with_stats(service.by_id(topology_id))
        return _answer(_done(request, service.profilers.dump(snapshot, host_port)))

    @router.get(f"{PREFIX}/stop/{{host_port}}", tags=["Storm"])
    def stop(request: Request, topology_id: TopologyId, host_port: HostPort) -> Response:
        """Store the recording and end profiling."""
        snapshot = service.with_stats(service.by_id(topology_id))
        return _answer(_done(request, service.profilers.stop(snapshot, host_port)))

    @router.get(f"{PREFIX}/dumps/{{host_port}}", tags=["Storm"])
    def profile(topology_id: TopologyId, host_port: HostPort) -> Response:
        """What was kept last: a line for each stack with its number of samples."""
        snapshot = service.with_stats(service.by_id(topology_id))
        text = service.profilers.profile(snapshot, host_port)
        return Response(text, media_type="text/plain; charset=utf-8")

    return router


def _answer(value: Any) -> Response:
    return Response(encoded(value), media_type="application/json")


def _done(request: Request, worker: StormWorker) -> dict[str, str]:
    topology, host_port = quote(worker.topology, safe=""), quote(worker.id, safe=":")
    link = f"{request.base_url}api/v1/topology/{topology}/profiling/dumps/{host_port}"
    return {"status": "ok", "id": worker.id, "dumplink": link}
