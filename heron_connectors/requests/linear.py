"""LinearDRPCTopologyBuilder: bolts in a row become a topology that answers requests."""

from collections.abc import Mapping
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.component.component_spec import GlobalStreamId, HeronComponentSpec, checked_outputs
from heron_api.component.local_classes import class_path_of
from heron_api.custom_grouping import ICustomGrouping
from heron_api.errors import WrongArgumentError
from heron_api.requests.batch_bolt import BaseBatchBolt
from heron_api.requests.coordinated_bolt import BOLT, COORDINATED_STREAM, SHAPE, CoordinatedBolt
from heron_api.requests.coordination import CoordinationShape, shape_to_json
from heron_api.requests.linear_bolts import (
    ARGS_STREAM,
    FAILED_STREAM,
    ID_STREAM,
    RETURN_COMPONENT,
    RETURN_STREAM,
    JoinResult,
    PrepareRequest,
)
from heron_api.stream import Grouping, Stream
from heron_api.topology import TopologyBuilder
from heron_connectors.requests.return_results import ReturnResults
from heron_connectors.requests.spout import DRPCSpout
from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.topology import DEFAULT_STREAM

SPOUT = "spout"
PREPARE = "prepare-request"
JOIN = "bolt{}"
OF_LAST_BOLT = "the first is the request's id, the second the result"

LinearBolt = type[Bolt] | type[BaseBatchBolt]


class LinearDRPCInputDeclarer:
    """Inputs of a bolt from its predecessor, and the bolt's config."""

    def __init__(self, kind: LinearBolt, parallelism: int) -> None:
        self.kind = kind
        self.parallelism = parallelism
        self.inputs: list[tuple[str, Any]] = []
        """Stream and grouping."""
        self.config: dict[str, Any] = {}

    def fields_grouping(
        self, *fields: str, stream: str = DEFAULT_STREAM
    ) -> "LinearDRPCInputDeclarer":
        """Equal values in the fields go to one task; the request id is one of the fields."""
        return self._add(stream, Grouping.fields(*fields))

    def partial_key_grouping(
        self, *fields: str, stream: str = DEFAULT_STREAM
    ) -> "LinearDRPCInputDeclarer":
        """To the less loaded of two tasks."""
        return self._add(stream, Grouping.partial_key(*fields))

    def shuffle_grouping(self, stream: str = DEFAULT_STREAM) -> "LinearDRPCInputDeclarer":
        """Evenly."""
        return self._add(stream, Grouping.SHUFFLE)

    def local_or_shuffle_grouping(self, stream: str = DEFAULT_STREAM) -> "LinearDRPCInputDeclarer":
        """Within the container, if it has a task."""
        return self._add(stream, Grouping.LOCAL_OR_SHUFFLE)

    def none_grouping(self, stream: str = DEFAULT_STREAM) -> "LinearDRPCInputDeclarer":
        """As shuffle."""
        return self._add(stream, Grouping.NONE)

    def global_grouping(self, stream: str = DEFAULT_STREAM) -> "LinearDRPCInputDeclarer":
        """To the first task."""
        return self._add(stream, Grouping.GLOBAL)

    def all_grouping(self, stream: str = DEFAULT_STREAM) -> "LinearDRPCInputDeclarer":
        """To every task."""
        return self._add(stream, Grouping.ALL)

    def direct_grouping(self, stream: str = DEFAULT_STREAM) -> "LinearDRPCInputDeclarer":
        """To the task named by the previous bolt."""
        return self._add(stream, Grouping.DIRECT)

    def custom_grouping(
        self, grouping: ICustomGrouping | str, stream: str = DEFAULT_STREAM
    ) -> "LinearDRPCInputDeclarer":
        """As an ICustomGrouping decides."""
        return self._add(stream, Grouping.custom(grouping))

    def add_configurations(self, config: Mapping[str, Any]) -> "LinearDRPCInputDeclarer":
        """Settings of the bolt."""
        self.config.update(config)
        return self

    def _add(self, stream: str, grouping: Any) -> "LinearDRPCInputDeclarer":
        self.inputs.append((stream, grouping))
        return self


class LinearDRPCTopologyBuilder:
    """Bolts in a row that answer requests for a function (Storm: LinearDRPCTopologyBuilder).

        builder = LinearDRPCTopologyBuilder("reach")
        builder.add_bolt(GetTweeters, 4)
        builder.add_bolt(GetFollowers, 12).shuffle_grouping()
        builder.add_bolt(PartialUniquer, 6).fields_grouping("id", "follower")
        builder.add_bolt(CountAggregator, 3).fields_grouping("id")
        builder.create_remote_topology().build_and_submit()

    The first bolt gets the id of the request and its arguments; each bolt emits the id first; the
    last one emits the id and the result. A BaseBatchBolt is told when it has all of a request.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._bolts: list[LinearDRPCInputDeclarer] = []

    def add_bolt(self, bolt: LinearBolt, parallelism: int = 1) -> LinearDRPCInputDeclarer:
        """Append a bolt class; the returned object declares the input grouping. WrongArgumentError
        for another type."""
        if not (isinstance(bolt, type) and issubclass(bolt, (Bolt, BaseBatchBolt))):
            raise WrongArgumentError(
                f"add_bolt takes a class derived from BaseBasicBolt, BaseBatchBolt or Bolt, not"
                f" {bolt!r:.100}"
            )
        declarer = LinearDRPCInputDeclarer(bolt, parallelism)
        self._bolts.append(declarer)
        return declarer

    def create_remote_topology(
        self, name: str | None = None, config: Mapping[str, Any] | None = None
    ) -> TopologyBuilder:
        """The topology, whose requests come from the servers of `drpc.servers`. Its name is that of
        the function, unless given."""
        return self._topology(DRPCSpout.spec(name=SPOUT, function=self._function), name, config)

    def create_local_topology(
        self, drpc: Any, name: str | None = None, config: Mapping[str, Any] | None = None
    ) -> TopologyBuilder:
        """The topology, whose requests come from a LocalDRPC."""
        spout = DRPCSpout.spec(name=SPOUT, function=self._function, drpc=drpc)
        return self._topology(spout, name, config)

    def _topology(
        self, spout: HeronComponentSpec, name: str | None, config: Mapping[str, Any] | None
    ) -> TopologyBuilder:
        if not self._bolts:
            raise TopologyError(f"the topology of function {self._function!r} has no bolt")
        builder = TopologyBuilder(name or self._function)
        # As Storm's: a bolt that fails, or dies, has the request fail before its time-out.
        builder.set_config({keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, **(config or {})})
        prepare = PrepareRequest.spec(PREPARE, {spout: Grouping.NONE})
        builder.add_spec(spout, prepare)
        for index, declarer in enumerate(self._bolts):
            builder.add_spec(self._coordinated(index, declarer))
        last = f"bolt{len(self._bolts) - 1}"
        stream, id_field = self._result_stream()
        join_inputs = {
            GlobalStreamId(last, stream): Grouping.fields(id_field),
            GlobalStreamId(PREPARE, RETURN_STREAM): Grouping.fields("request"),
        }
        for index in range(len(self._bolts)):
            join_inputs[GlobalStreamId(f"bolt{index}", FAILED_STREAM)] = Grouping.fields("request")
        join = JoinResult.spec(
            JOIN.format(len(self._bolts)), join_inputs, config={RETURN_COMPONENT: PREPARE}
        )
        builder.add_spec(join)
        back_inputs = {
            GlobalStreamId(JOIN.format(len(self._bolts)), stream): Grouping.NONE
            for stream in (DEFAULT_STREAM, FAILED_STREAM)
        }
        builder.add_spec(ReturnResults.spec(f"bolt{len(self._bolts) + 1}", back_inputs))
        return builder

    def _coordinated(self, index: int, declarer: LinearDRPCInputDeclarer) -> HeronComponentSpec:
        before = f"bolt{index - 1}" if index else PREPARE
        has_ids = index == len(self._bolts) - 1 and issubclass(declarer.kind, BaseBatchBolt)
        groupings = declarer.inputs or ([] if index else [(ARGS_STREAM, Grouping.NONE)])
        if not groupings:
            raise TopologyError(
                f"bolt {index} of function {self._function!r}, {declarer.kind.__name__}, reads"
                " nothing: say how, as in add_bolt(…).shuffle_grouping()"
            )
        inputs = {GlobalStreamId(before, stream): grouping for stream, grouping in groupings}
        if has_ids:
            inputs[GlobalStreamId(PREPARE, ID_STREAM)] = Grouping.fields("request")
        if index:
            inputs[GlobalStreamId(before, COORDINATED_STREAM)] = Grouping.DIRECT
        shape = CoordinationShape(
            # The first bolt receives one tuple per request, in one of its tasks.
            ((before, index == 1),) if index else (),
            (PREPARE, ID_STREAM) if has_ids else None,
        )
        outputs = [
            *checked_outputs(declarer.kind.__name__, getattr(declarer.kind, "outputs", ())),
            Stream(fields=["id", "count"], name=COORDINATED_STREAM, direct=True),
            Stream(fields=["request", "why"], name=FAILED_STREAM),
        ]
        return HeronComponentSpec(
            f"bolt{index}",
            class_path_of(CoordinatedBolt),
            False,
            declarer.parallelism,
            inputs,
            outputs,
            {
                **declarer.config,
                BOLT: class_path_of(declarer.kind),
                SHAPE: shape_to_json(shape),
            },
        )

    def _result_stream(self) -> tuple[str, str]:
        """Name and first field of the last bolt's only output stream; TopologyError unless the bolt
        has exactly one stream with two fields."""
        spec = HeronComponentSpec("last", "last", False, 1, None, self._bolts[-1].kind.outputs)
        streams = [stream for stream in spec.to_spec().outputs if stream.name != COORDINATED_STREAM]
        name = self._bolts[-1].kind.__name__
        if len(streams) != 1 or len(streams[0].fields) != 2:
            raise TopologyError(
                f"the last bolt of function {self._function!r}, {name}, must have one stream with"
                f" two fields: {OF_LAST_BOLT}"
            )
        return streams[0].name, streams[0].fields[0]
