"""Log levels of a running topology by REST: Storm's `logconfig`, and a route of heronpy.

Storm's body is `{"namedLoggerLevels": {"ROOT": {"target_level": "DEBUG", "timeout": 30}}}`, with
the timeout in seconds, 0 for the longest time of heronpy (7 days), and an empty target level to
restore. Levels of every process are in both directions; a level of one component has no name in
Storm's form, and stands there as `COMPONENT`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from fastapi.responses import Response

from heron_core.log_levels import DEFAULT, SECS, SECS_MAX
from heron_core.operations import Way
from heron_core.stats import LogLevelStats, TopologyStats
from heron_core.typed_json import to_json
from heron_tracker.envelope import NO_QUESTIONS, BadRequest, Unavailable, encoded
from heron_tracker.heron_api.routes import enveloped
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.requesters import client_of
from heron_tracker.rights import RIGHTS
from heron_tracker.service import Service

Name = Annotated[str, Path(max_length=1000)]
ROOT = "ROOT"
"""Storm's name of the logger above all others."""
FROM_STORM: Mapping[str, str] = {
    "ALL": "debug", "TRACE": "debug", "DEBUG": "debug", "INFO": "info", "WARN": "warning",
    "ERROR": "error", "FATAL": "critical", "OFF": "off",
}  # fmt: skip
"""Log4j's levels; Python has none below debug."""
TO_STORM = {"warning": "WARN", "critical": "FATAL"}
LOGGERS_MAX = 50
"""Of one request."""


def change(
    service: Service, request: Request, snapshot: TopologySnapshot, arguments: Mapping[str, Any]
) -> str:
    """Change one level; the change in words. HeronError for a wrong argument."""
    RIGHTS.check_may_operate(snapshot)
    if service.ask_master is None:
        raise Unavailable(NO_QUESTIONS.format(name=snapshot.name))
    requester = to_json(client_of(request, Way.REST))
    answer = service.ask_master(snapshot.name, "log_level", {**arguments, "requester": requester})
    return str(answer["changed"])


def log_level_router(service: Service) -> APIRouter:
    """POST /api/topologies/NAME/log-level, for operators."""
    router = APIRouter(tags=["Operations"])

    @router.post("/api/topologies/{name}/log-level")
    def log_level(request: Request, name: Name, body: Annotated[Any, Body()] = None) -> Response:
        """As `heronpy log_level`, of {"target": "count", "level": "debug", "secs": 600}; without
        target of all loggers of every process."""
        if not isinstance(body, dict) or "level" not in body:
            raise BadRequest('give {"target": "COMPONENT", "level": "debug", "secs": 600}')
        arguments = {
            "target": body.get("target", ""),
            "level": body["level"],
            "secs": body.get("secs", SECS),
        }
        changed = change(service, request, service.topology(name), arguments)
        return enveloped(request, {"topology": name, "changed": changed})

    return router


def add_storm_routes(router: APIRouter, service: Service) -> None:
    """GET and POST of Storm's logconfig."""

    @router.get("/topology/{topology_id}/logconfig", tags=["Storm"])
    def log_config(topology_id: Name) -> Response:
        """Log levels that differ from the config for a while."""
        return _storm(_levels(service, service.by_id(topology_id)), service.calendar())

    @router.post("/topology/{topology_id}/logconfig", tags=["Storm"])
    def set_log_config(
        request: Request, topology_id: Name, body: Annotated[Any, Body()] = None
    ) -> Response:
        """Change levels as `heronpy log_level`."""
        snapshot = service.by_id(topology_id)
        for logger, wanted in _wanted(body).items():
            change(service, request, snapshot, _arguments(logger, wanted))
        return _storm(_levels(service, snapshot), service.calendar())


def _wanted(body: Any) -> Mapping[str, Any]:
    """Logger -> Storm's entry; BadRequest for another body."""
    levels = body.get("namedLoggerLevels") if isinstance(body, dict) else None
    if not isinstance(levels, dict) or not levels or len(levels) > LOGGERS_MAX:
        raise BadRequest(
            'give {"namedLoggerLevels": {"ROOT": {"target_level": "DEBUG", "timeout": 30}}} with 1 '
            f"to {LOGGERS_MAX} loggers"
        )
    return levels


def _arguments(logger: str, wanted: Any) -> dict[str, Any]:
    """Of the master's command; BadRequest for an entry that Storm would refuse."""
    if not isinstance(wanted, dict):
        raise BadRequest(f'{logger!r:.200}: give {{"target_level": "DEBUG", "timeout": 30}}')
    level, timeout = wanted.get("target_level"), wanted.get("timeout") or SECS_MAX
    if level and level not in FROM_STORM:
        raise BadRequest(f"{level!r:.100} is not a log level of Storm: {', '.join(FROM_STORM)}")
    if type(timeout) is not int or not 1 <= timeout <= SECS_MAX:
        raise BadRequest(f"{logger!r:.200}: a timeout has 0 to {SECS_MAX} s")
    return {
        "target": "" if logger == ROOT else logger,
        "level": FROM_STORM[level] if level else DEFAULT,
        "secs": timeout,
    }


def _levels(service: Service, snapshot: TopologySnapshot) -> Sequence[LogLevelStats]:
    """From the topology master: the statistics of the service are some seconds old."""
    if service.ask_master is None:
        stats = service.with_stats(snapshot).stats
        return () if stats is None else stats.log_levels
    answer = service.ask_master(snapshot.name, "stats", {})
    return TopologyStats.from_json(answer).log_levels


def _storm(levels: Sequence[LogLevelStats], now: float) -> Response:
    named = {level.logger or level.target or ROOT: _entry(level, now) for level in levels}
    return Response(encoded({"namedLoggerLevels": named}), media_type="application/json")


def _entry(level: LogLevelStats, now: float) -> dict[str, Any]:
    return {
        "target_level": TO_STORM.get(level.level, level.level.upper()),
        "reset_level": "INFO",
        "timeout": round(level.secs_left),
        "timeout_epoch": round((now + level.secs_left) * 1000),
    }
