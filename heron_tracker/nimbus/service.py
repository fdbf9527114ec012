"""Methods of Nimbus: clients' requests, carried out by the functions of `heronpy`."""

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from heron_core.config import MESSAGE_TIMEOUT_SECS
from heron_core.errors import HeronError, TopologyError, shown
from heron_core.operations import OperationKind, Requester
from heron_core.state_tree import topology_path
from heron_core.thrift.calls import (
    AuthorizationException,
    TApplicationException,
    ThriftCall,
    parse_arguments,
    refusal,
    reply,
)
from heron_io.state_store.protocol import StateStore
from heron_tracker import actions
from heron_tracker.envelope import BadRequest
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.nimbus import answers, rights
from heron_tracker.nimbus.calls import unknown_method
from heron_tracker.nimbus.flux_document import parse_config
from heron_tracker.nimbus.methods import METHODS
from heron_tracker.nimbus.structs import (
    InvalidTopologyException,
    NimbusSummary,
    NotAliveException,
)
from heron_tracker.nimbus.submissions import Submissions, WantedTopology
from heron_tracker.nimbus.uploads import Uploads
from heronpy_compat.streamparse.thrift import StormTopology, TopologyInitialStatus, TopologySummary

log = logging.getLogger("nimbus")

READERS = 8
"""Topologies queried concurrently: a hanging master blocks one thread for ANSWER_SECS."""
ANSWER_SECS = 1.0
CLIENT = ""
"""Among a call's arguments, whose names are never empty: its Requester."""
KILL_WAIT_SECS = 30
"""Storm waits for topology.message.timeout.secs; the value is its default."""


class TopologyLookup(Protocol):
    """Where topologies are looked up: TrackerReader, but for tests."""

    def find(self) -> list[str]:
        """Names of the existing topologies."""

    def read(self, name: str) -> TopologySnapshot:
        """Current snapshot of a topology."""


@dataclass(frozen=True, slots=True)
class NimbusService:
    """Everything behind the methods."""

    store: StateStore
    reader: TopologyLookup
    uploads: Uploads
    submissions: Submissions
    home: str
    address: tuple[str, int]
    readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(READERS))
    started_at: float = field(default_factory=time.time)

    def answer(self, call: ThriftCall, client: Requester) -> bytes:
        """Answer a client's call; a failure becomes a Thrift exception, in one sentence."""
        method, handler = METHODS.get(call.method), _HANDLERS.get(call.method)
        try:
            rights.check_method(call.method)
        except AuthorizationException as denied:
            log.warning("%s", denied)
            return refusal(call, method, denied)
        if method is None or handler is None:
            error = unknown_method(call, METHODS)
            log.warning("%s", error)
            return refusal(call, None, error)
        try:
            return reply(
                call, method, handler(self, {**parse_arguments(method, call), CLIENT: client})
            )
        except Exception as error:
            as_storm = _as_storm(call, error)
            log.warning("%s: %s", call.method, as_storm)
            return refusal(call, method, as_storm)

    def close(self) -> None:
        """End; what was submitted goes on."""
        self.readers.shutdown(wait=True, cancel_futures=True)
        self.submissions.close()
        self.uploads.close()

    def snapshots(self) -> Sequence[TopologySnapshot]:
        """Present snapshots of the topologies visible to the client."""
        found = self.readers.map(self.reader.read, self.reader.find())
        return rights.seen([each for each in found if each.spec is not None or each.trouble])

    def named(self, name: str | None) -> TopologySnapshot:
        """One topology; NotAliveException for an unknown name."""
        if not name or "/" in name or self.store.get(topology_path(name)) is None:
            known = ", ".join(each.name for each in self.snapshots()) or "none"
            raise NotAliveException(f"no topology called {shown(name)} is running ({known})")
        return rights.RIGHTS.check_visible(self.reader.read(name))

    def operated(self, name: str | None) -> TopologySnapshot:
        """One topology to act on; AuthorizationException without the right."""
        return rights.RIGHTS.check_may_operate(self.named(name))

    def by_id(self, topology_id: str | None) -> TopologySnapshot:
        """The topology with Storm's id: its name and submission time."""
        name, _, number = (topology_id or "").rpartition("-")
        for candidate in (topology_id or "", name if number.isdecimal() else ""):
            if candidate in self.reader.find():
                snapshot = self.reader.read(candidate)
                if topology_id in (snapshot.id, snapshot.name):
                    return rights.RIGHTS.check_visible(snapshot)
        raise NotAliveException(f"no topology with the id {shown(topology_id)} is running")

    def nimbus(self) -> NimbusSummary:
        """The process as seen by its clients."""
        return answers.nimbus_summary(*self.address, time.time() - self.started_at)


def _as_storm(call: ThriftCall, error: Exception) -> Exception:
    """As the exception expected by Storm's clients."""
    declared = METHODS[call.method].throws
    if isinstance(error, (TopologyError, BadRequest)) and InvalidTopologyException in declared:
        return InvalidTopologyException(str(error))
    expected = (HeronError, TApplicationException, *declared)
    if not isinstance(error, expected):
        log.error("%s failed", call.method, exc_info=error)
    return error


def _submit(service: NimbusService, given: Mapping[str, Any]) -> None:
    if given["topology"] is None or not given["name"]:
        raise TopologyError("a submission has a name and a topology")
    service.submissions.sweep()
    options = given.get("options")
    inactive = options is not None and options.initial_status == TopologyInitialStatus.INACTIVE
    wanted = WantedTopology(
        given["name"],
        given["topology"],
        parse_config(given["jsonConf"]),
        service.uploads.finished(given["uploadedJarLocation"]),
        not inactive,
        given[CLIENT],
    )
    log.info("%s is submitted by %s", wanted.name, given[CLIENT])
    service.submissions.submit(wanted)


def _kill(service: NimbusService, given: Mapping[str, Any]) -> None:
    snapshot, options = service.operated(given["name"]), given.get("options")
    wanted = options.wait_secs if options is not None else None
    if wanted is None:
        config = snapshot.spec.config if snapshot.spec is not None else {}
        secs = config.get(MESSAGE_TIMEOUT_SECS)
        wanted = int(secs) if isinstance(secs, int | float) else KILL_WAIT_SECS
    arguments = actions.kill_arguments(wanted)
    actions.ask(service.store, snapshot, OperationKind.KILL, arguments, given[CLIENT])
    log.info("%s is killed by %s, within %d s", snapshot.name, given[CLIENT], wanted)


def _change(kind: OperationKind) -> Callable[[NimbusService, Mapping[str, Any]], None]:
    def change(service: NimbusService, given: Mapping[str, Any]) -> None:
        actions.ask(service.store, service.operated(given["name"]), kind, {}, given[CLIENT])
        log.info("%s of %s by %s", kind.value, given["name"], given[CLIENT])

    return change


def _rebalance(service: NimbusService, given: Mapping[str, Any]) -> None:
    """wait_secs is not needed: an update waits until the tuples in flight are processed."""
    snapshot, options = service.operated(given["name"]), given["options"]
    wanted: dict[str, Any] = {}
    if options is not None and options.num_executors:
        wanted["executors"] = options.num_executors
    if options is not None and options.num_workers is not None:
        wanted["numWorkers"] = options.num_workers
    if not wanted:
        raise BadRequest("a rebalance says num_workers or num_executors: nothing else changes here")
    arguments = actions.update_arguments(snapshot, {"rebalanceOptions": wanted})
    actions.ask(service.store, snapshot, OperationKind.UPDATE, arguments, given[CLIENT])
    log.info("%s is rebalanced by %s", snapshot.name, given[CLIENT])


def _is_allowed(service: NimbusService, given: Mapping[str, Any]) -> bool:
    return not service.submissions.problem_with(given["name"] or "")


def _nimbus_conf(service: NimbusService, given: Mapping[str, Any]) -> str:
    """sparse reads storm.log.dir from the answer: the folder of topologies' logs on the machine."""
    host, port = service.address
    return json.dumps(
        {
            "nimbus.seeds": [host],
            "nimbus.thrift.port": port,
            "storm.local.hostname": socket.gethostname(),
            "storm.log.dir": os.path.join(service.home, "topologies"),
            "storm.thrift.transport": "org.apache.storm.security.auth.SimpleTransportPlugin",
        }
    )


def _cluster_info(service: NimbusService, given: Mapping[str, Any]) -> Any:
    here = socket.gethostname()
    return answers.cluster_summary(service.snapshots(), service.nimbus(), here, time.time())


def _summaries(service: NimbusService, given: Mapping[str, Any]) -> list[TopologySummary]:
    return [answers.topology_summary(each, time.time()) for each in service.snapshots()]


def _summary(service: NimbusService, given: Mapping[str, Any]) -> TopologySummary:
    return answers.topology_summary(_asked(service, given), time.time())


def _info(service: NimbusService, given: Mapping[str, Any]) -> Any:
    options = given.get("options")
    errors = options.num_err_choice if options is not None else None
    return answers.topology_info(_asked(service, given), time.time(), errors)


def _asked(service: NimbusService, given: Mapping[str, Any]) -> TopologySnapshot:
    return service.named(given["name"]) if "name" in given else service.by_id(given["id"])


def _topology_conf(service: NimbusService, given: Mapping[str, Any]) -> str:
    return answers.topology_config(service.by_id(given["id"]))


def _topology(service: NimbusService, given: Mapping[str, Any]) -> StormTopology:
    snapshot = service.by_id(given["id"])
    stored = service.submissions.stored(snapshot.name)
    if stored is not None:
        return stored
    if snapshot.spec is None:
        raise HeronError(f"{snapshot.name}: {snapshot.trouble}")
    return answers.user_topology(snapshot.spec)


_HANDLERS: Mapping[str, Callable[[NimbusService, Mapping[str, Any]], Any]] = {
    "submitTopology": _submit,
    "submitTopologyWithOpts": _submit,
    "killTopology": _kill,
    "killTopologyWithOpts": _kill,
    "activate": _change(OperationKind.ACTIVATE),
    "deactivate": _change(OperationKind.DEACTIVATE),
    "rebalance": _rebalance,
    "beginFileUpload": lambda service, given: service.uploads.begin(),
    "uploadChunk": lambda service, given: service.uploads.add(
        given["location"], given["chunk"] or b""
    ),
    "finishFileUpload": lambda service, given: service.uploads.finish(given["location"]),
    "beginFileDownload": lambda service, given: service.uploads.begin_download(given["file"]),
    "downloadChunk": lambda service, given: service.uploads.next_chunk(given["id"]),
    "getNimbusConf": _nimbus_conf,
    "getClusterInfo": _cluster_info,
    "getLeader": lambda service, given: service.nimbus(),
    "isTopologyNameAllowed": _is_allowed,
    "getTopologySummaries": _summaries,
    "getTopologySummary": _summary,
    "getTopologySummaryByName": _summary,
    "getTopologyInfo": _info,
    "getTopologyInfoByName": _info,
    "getTopologyInfoWithOpts": _info,
    "getTopologyInfoByNameWithOpts": _info,
    "getTopologyConf": _topology_conf,
    "getTopology": _topology,
    "getUserTopology": _topology,
}
