"""The methods of Storm's Nimbus that are offered: what each takes, returns and may raise."""

from collections.abc import Mapping

from heron_core.thrift.calls import AuthorizationException, ThriftMethod, arguments
from heron_core.thrift.structs import BINARY, BOOL, STRING, ListOf
from heron_tracker.nimbus.structs import (
    AlreadyAliveException,
    ClusterSummary,
    GetInfoOptions,
    InvalidTopologyException,
    NimbusSummary,
    NotAliveException,
    RebalanceOptions,
    TopologyInfo,
)
from heronpy_compat.streamparse.thrift import (
    KillOptions,
    StormTopology,
    SubmitOptions,
    TopologySummary,
)

_MAY_NOT = (AuthorizationException,)
_OF_RUNNING = (NotAliveException, AuthorizationException)
_OF_SUBMIT = (AlreadyAliveException, InvalidTopologyException, AuthorizationException)
_OF_REBALANCE = (NotAliveException, InvalidTopologyException, AuthorizationException)
_NOTHING = arguments()
_NAME = arguments((1, "name", STRING))
_ID = arguments((1, "id", STRING))
_INFO_OPTIONS = (2, "options", GetInfoOptions)
_SUBMISSION = (
    (1, "name", STRING),
    (2, "uploadedJarLocation", STRING),
    (3, "jsonConf", STRING),
    (4, "topology", StormTopology),
)
_LOCATION = (1, "location", STRING)

METHODS: Mapping[str, ThriftMethod] = {
    "submitTopology": ThriftMethod(arguments(*_SUBMISSION), None, _OF_SUBMIT),
    "submitTopologyWithOpts": ThriftMethod(
        arguments(*_SUBMISSION, (5, "options", SubmitOptions)), None, _OF_SUBMIT
    ),
    "killTopology": ThriftMethod(_NAME, None, _OF_RUNNING),
    "killTopologyWithOpts": ThriftMethod(
        arguments((1, "name", STRING), (2, "options", KillOptions)), None, _OF_RUNNING
    ),
    "activate": ThriftMethod(_NAME, None, _OF_RUNNING),
    "deactivate": ThriftMethod(_NAME, None, _OF_RUNNING),
    "rebalance": ThriftMethod(
        arguments((1, "name", STRING), (2, "options", RebalanceOptions)), None, _OF_REBALANCE
    ),
    "beginFileUpload": ThriftMethod(_NOTHING, STRING, _MAY_NOT),
    "uploadChunk": ThriftMethod(arguments(_LOCATION, (2, "chunk", BINARY)), None, _MAY_NOT),
    "finishFileUpload": ThriftMethod(arguments(_LOCATION), None, _MAY_NOT),
    "beginFileDownload": ThriftMethod(arguments((1, "file", STRING)), STRING, _MAY_NOT),
    "downloadChunk": ThriftMethod(_ID, BINARY, _MAY_NOT),
    "getNimbusConf": ThriftMethod(_NOTHING, STRING, _MAY_NOT),
    "getClusterInfo": ThriftMethod(_NOTHING, ClusterSummary, _MAY_NOT),
    "getLeader": ThriftMethod(_NOTHING, NimbusSummary, _MAY_NOT),
    "isTopologyNameAllowed": ThriftMethod(_NAME, BOOL, _MAY_NOT),
    "getTopologySummaries": ThriftMethod(_NOTHING, ListOf(TopologySummary), _MAY_NOT),
    "getTopologySummary": ThriftMethod(_ID, TopologySummary, _OF_RUNNING),
    "getTopologySummaryByName": ThriftMethod(_NAME, TopologySummary, _OF_RUNNING),
    "getTopologyInfo": ThriftMethod(_ID, TopologyInfo, _OF_RUNNING),
    "getTopologyInfoByName": ThriftMethod(_NAME, TopologyInfo, _OF_RUNNING),
    "getTopologyInfoWithOpts": ThriftMethod(
        arguments((1, "id", STRING), _INFO_OPTIONS), TopologyInfo, _OF_RUNNING
    ),
    "getTopologyInfoByNameWithOpts": ThriftMethod(
        arguments((1, "name", STRING), _INFO_OPTIONS), TopologyInfo, _OF_RUNNING
    ),
    "getTopologyConf": ThriftMethod(_ID, STRING, _OF_RUNNING),
    "getTopology": ThriftMethod(_ID, StormTopology, _OF_RUNNING),
    "getUserTopology": ThriftMethod(_ID, StormTopology, _OF_RUNNING),
}
