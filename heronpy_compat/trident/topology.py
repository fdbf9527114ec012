"""A Trident topology: sources and merges of streams, and the conversion to spouts and bolts."""

from collections.abc import Sequence
from typing import Any

from heron_api.component.component_spec import GlobalStreamId, HeronComponentSpec, arriving_config
from heron_api.stream import Grouping
from heron_api.submissions import with_loaders_config
from heron_api.topology import TopologyBuilder
from heron_core import config as keys
from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.execution.carried_plans import PLAN, packed_plan
from heronpy_compat.trident.execution.coordinator import (
    BATCHES,
    COMMITS,
    SETTLED,
    SUCCESSES,
    CoordinatorPlan,
    MasterBatchCoordinator,
)
from heronpy_compat.trident.execution.micro_batches import NOT_ON_SPARK
from heronpy_compat.trident.execution.operator_bolt import OperatorBolt, OperatorPlan
from heronpy_compat.trident.execution.processors import (
    GroupedReducer,
    MultiReduceProcessor,
    StateSpec,
)
from heronpy_compat.trident.execution.row_output import reports_stream, streams_of
from heronpy_compat.trident.execution.spout_bolt import SpoutBolt
from heronpy_compat.trident.execution.spout_executors import commits
from heronpy_compat.trident.graph import ProcessorNode, SpoutNode, TridentGraph
from heronpy_compat.trident.joins import JoinOutFieldsMode, JoinReducer, JoinType, MergeReducer
from heronpy_compat.trident.naming import NamesMissing
from heronpy_compat.trident.operations import GroupedMultiReducer, MultiReducer
from heronpy_compat.trident.plan import ComponentPlan, TridentPlan, plan_of
from heronpy_compat.trident.requests import (
    ARGUMENTS,
    REQUESTS_MAX,
    RETURN_INFO,
    RequestSpout,
    ReturnResultsReducer,
)
from heronpy_compat.trident.spouts import ICommitterTridentSpout, TridentSpout
from heronpy_compat.trident.state.interfaces import StateFactory
from heronpy_compat.trident.stream import GroupedStream, Stream, TridentState
from heronpy_compat.trident.tuples import FieldNames, FieldSelection, Names, names_of

BATCHES_MAX = 1
"""Batches under way if `topology.max.spout.pending` is not set: Storm's."""
_PENDING_MARGIN = 10
"""Coordinator tuples in addition to one per batch: successes and outdated attempts."""


class TridentTopology(NamesMissing):
    """Streams of batches, made by `new_stream` and by what is done with them.

    Example:

        topology = TridentTopology()
        counts = (
            topology.new_stream("lines", spout)
            .each("line", Split(), "word")
            .group_by("word")
            .persistent_aggregate(MemoryMapState.opaque(), None, Count(), "count")
        )
        topology.submit("WordCount")
    """

    def __init__(self) -> None:
        self.graph = TridentGraph()
        self._static_states = 0
        self._requests_without_result: list[SpoutNode] = []

    def new_stream(self, name: str, spout: Any) -> Stream:
        """The tuples of a spout; its metadata is stored under `name`. TridentError for another kind
        of spout, or a name used before."""
        if not isinstance(name, str) or not name:
            raise TridentError(f"the name of a spout is a string, not {name!r}")
        if not isinstance(spout, TridentSpout):
            raise TridentError(
                f"new_stream takes an ITridentSpout, IBatchSpout, IPartitionedTridentSpout or"
                f" IOpaquePartitionedTridentSpout, not {spout!r}"
            )
        if any(node.txid == name for node in self.graph.spouts()):
            raise TridentError(f"two spouts are called {name!r}")
        fields = names_of(spout.get_output_fields(), f"spout {name}")
        node = SpoutNode(
            self.graph.next_number, fields, txid=name, spout=spout,
            parallelism_max=spout.max_task_parallelism,
        )  # fmt: skip
        return Stream(self.graph, self.graph.add(node))

    def new_drpc_stream(self, function: str, drpc: Any = None) -> Stream:
        """The requests for a function, one per batch, with the field `args`; the rows of the last
        derived stream are the result. `drpc`: a LocalDRPC; default: the servers of `drpc.servers`.
        """
        spout = RequestSpout(function, None if drpc is None else drpc.service_id)
        stream = self.new_stream(f"drpc-{function}", spout)
        assert isinstance(stream.node, SpoutNode)
        self._requests_without_result.append(stream.node)
        return stream.project(ARGUMENTS)

    def _return_results(self) -> None:
        """Have the last stream of each stream of requests returned."""
        while self._requests_without_result:
            spout = self._requests_without_result.pop()
            connected = self.graph.connected(spout)
            if sum(isinstance(node, SpoutNode) for node in connected) > 1:
                raise TridentError(
                    f"{spout.txid} is combined with another stream: a request is its own batch, "
                    "so query a state instead"
                )
            results = Stream(self.graph, connected[-1])
            origins = Stream(self.graph, spout).project(RETURN_INFO)
            self.multi_reduce(
                [RETURN_INFO, results.get_output_fields()],
                [origins.batch_global(), results.batch_global()],
                ReturnResultsReducer(),
                (),
            )

    def new_static_state(self, factory: StateFactory) -> TridentState:
        """A query-only state, e.g. a database filled by another program."""
        self._static_states += 1
        return TridentState(None, StateSpec(factory, -self._static_states))

    def merge(self, *arguments: Any) -> Stream:
        """merge(streams) or merge(fields, streams): the tuples of all streams, under the fields of
        the first stream unless fields are given. TridentError for unequal numbers of fields."""
        *fields, streams = _lists(arguments)
        names = names_of(fields[0], "merge") if fields else streams[0].get_output_fields()
        inputs = [stream.get_output_fields() for stream in streams]
        for each in inputs:
            if len(each) != len(names):
                raise TridentError(f"merge: {list(each)} are not as many fields as {list(names)}")
        return self.multi_reduce(inputs, streams, MergeReducer(), names)

    def multi_reduce(self, *arguments: Any) -> Stream:
        """A MultiReducer over several streams, or a GroupedMultiReducer over the groups of grouped
        streams, whose group fields come first in the result.

        multi_reduce([fields of each,] streams, reducer, new fields), or with the streams one by
        one, each after its fields if any are given: multi_reduce(fields, stream, …, reducer, new
        fields). Default: all fields of a stream. TridentError for other arguments, and for grouped
        streams with different numbers of group fields.
        """
        given, streams, reducer, output_fields = _multi_reduce_arguments(arguments)
        added = names_of(output_fields, "multi_reduce")
        inputs = [names_of(each, "multi_reduce") for each in given]
        if len(inputs) != len(streams) or not streams:
            raise TridentError("multi_reduce takes fields for each of its streams")
        if isinstance(reducer, MultiReducer):
            return self._reduced(inputs, list(streams), reducer, added)
        if not all(isinstance(stream, GroupedStream) for stream in streams):
            raise TridentError("a GroupedMultiReducer takes grouped streams")
        groups = [stream.get_group_fields() for stream in streams]
        if len({len(group) for group in groups}) != 1:
            raise TridentError("multi_reduce: all groups have as many fields as the first")
        plain = [
            stream.to_stream().partition_by(group)
            for stream, group in zip(streams, groups, strict=True)
        ]
        wanted = [(*group, *each) for group, each in zip(groups, inputs, strict=True)]
        grouped = GroupedReducer(reducer, len(groups[0]))
        return self._reduced(wanted, plain, grouped, (*groups[0], *added))

    def _reduced(
        self, inputs: list[Names], streams: list[Stream], reducer: MultiReducer, fields: Names
    ) -> Stream:
        selections = [
            FieldSelection(stream.get_output_fields(), wanted, "multi_reduce")
            for stream, wanted in zip(streams, inputs, strict=True)
        ]
        processor = MultiReduceProcessor(reducer, selections)
        parents = tuple(stream.node for stream in streams)
        if len({id(parent) for parent in parents}) != len(parents):
            raise TridentError(
                "a stream is combined with itself: insert a step into one of the two"
            )
        node = ProcessorNode(self.graph.next_number, fields, parents, processor=processor)
        return Stream(self.graph, self.graph.add(node))

    def join(
        self,
        streams: Sequence[Stream],
        join_fields: Sequence[FieldNames],
        output_fields: FieldNames,
        types: JoinType | Sequence[JoinType] = JoinType.INNER,
        mode: JoinOutFieldsMode = JoinOutFieldsMode.COMPACT,
    ) -> Stream:
        """Each combination of tuples of a batch with equal join fields, one of each stream.
        TridentError unless fields and types fit the streams."""
        on = [names_of(each, "join") for each in join_fields]
        if len(on) != len(streams) or len(streams) < 2:
            raise TridentError("join takes two streams or more, and join fields for each")
        kinds = [types] * len(streams) if isinstance(types, JoinType) else list(types)
        if len(kinds) != len(streams):
            raise TridentError("join takes one type for all streams, or one for each stream")
        preserves = mode is JoinOutFieldsMode.PRESERVE
        rests = [
            tuple(name for name in stream.get_output_fields() if preserves or name not in own)
            for stream, own in zip(streams, on, strict=True)
        ]
        names = names_of(output_fields, "join")
        width = sum(map(len, rests)) + (0 if preserves else len(on[0]))
        if len(names) != width:
            raise TridentError(f"join: its rows have {width} values, not the fields {list(names)}")
        grouped = [GroupedStream(stream, own) for stream, own in zip(streams, on, strict=True)]
        reducer = JoinReducer(kinds, [len(rest) for rest in rests])
        return self._joined(rests, grouped, reducer, names, len(on[0]) if preserves else 0)

    def _joined(
        self,
        rests: list[Names],
        grouped: list[GroupedStream],
        reducer: JoinReducer,
        names: Names,
        dropped: int,
    ) -> Stream:
        """Output under `names`, after the group's fields; `dropped` group fields are absent from
        names."""
        size = len(grouped[0].get_group_fields())
        keys_of_rows = [f"join key {at}" for at in range(size)]
        values = [f"join value {at}" for at in range(sum(map(len, rests)))]
        joined = self.multi_reduce(rests, grouped, reducer, values)
        joined.node.fields = (*keys_of_rows, *values)
        kept = joined.node.fields[dropped:]
        return joined.project(kept).map(list, names)

    def build(self, name: str, config: dict[str, Any] | None = None) -> TopologyBuilder:
        """The topology as a builder of spouts and bolts; TridentError if it cannot run."""
        builder = TopologyBuilder(name)
        builder.set_config({keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, **(config or {})})
        given = with_loaders_config(builder.get_config())
        if given[keys.RELIABILITY_MODE] != keys.ATLEAST_ONCE:
            raise TridentError(
                f"Trident replays batches by acks, which needs {keys.RELIABILITY_MODE}: "
                f"{keys.ATLEAST_ONCE}, not {given[keys.RELIABILITY_MODE]}"
            )
        self._return_results()
        _Assembly(builder, plan_of(self.graph), _batches_max(given)).add_all()
        return builder

    def submit(self, name: str, config: dict[str, Any] | None = None) -> None:
        """Submit the topology, as `TopologyBuilder.build_and_submit` does."""
        self.build(name, config).build_and_submit()

    newStream, newStaticState = new_stream, new_static_state
    newDRPCStream = new_drpc_stream
    multiReduce = multi_reduce


def _multi_reduce_arguments(
    arguments: Sequence[Any],
) -> tuple[list[FieldNames], list[Any], MultiReducer | GroupedMultiReducer, FieldNames]:
    """Fields of each stream, streams, reducer, new fields, in each of Storm's forms."""
    *inputs, reducer, output_fields = arguments
    if not inputs or not isinstance(reducer, (MultiReducer, GroupedMultiReducer)):
        raise TridentError("multi_reduce takes streams, a (Grouped)MultiReducer and new fields")
    is_stream = [isinstance(each, (Stream, GroupedStream)) for each in inputs]
    if len(inputs) == 1:
        fields, streams = None, list(inputs[0])
    elif all(is_stream):
        fields, streams = None, inputs
    elif any(is_stream):
        fields, streams = inputs[::2], inputs[1::2]
    else:
        fields, streams = list(inputs[0]), list(inputs[1])
    return fields or [each.get_output_fields() for each in streams], streams, reducer, output_fields


def _lists(arguments: Sequence[Any]) -> list[Any]:
    *before, streams = arguments
    if not isinstance(streams, (list, tuple)) or not streams:
        raise TridentError("merge takes a list of streams, after the optional fields")
    return [*before, streams]


def _batches_max(config: dict[str, Any]) -> int:
    given = arriving_config(config).get(keys.MAX_SPOUT_PENDING)
    return BATCHES_MAX if given is None else max(1, int(given))


class _Assembly:
    """Makes components of a plan."""

    def __init__(self, builder: TopologyBuilder, plan: TridentPlan, batches_max: int) -> None:
        self._builder = builder
        self._plan = plan
        self._batches_max = batches_max

    def add_all(self) -> None:
        """The coordinators, then the spouts and the bolts."""
        for group in self._plan.groups:
            self._add_coordinator(group)
        for component in self._plan.components:
            self._add(component)

    def _add_coordinator(self, group: str) -> None:
        members = self._plan.of_group(group)
        spouts = tuple(
            (member.spout.txid, member.spout.spout)
            for member in members
            if member.spout is not None
        )
        does_commit = any(group in member.committing for member in members)
        batches_max = self._batches_of(group)
        plan = CoordinatorPlan(
            group,
            spouts,
            batches_max,
            does_commit or any(commits(spout) for _, spout in spouts),
            0 if self._has_requests(group) else None,
        )
        self._builder.add_spout(
            coordinator_name(group),
            MasterBatchCoordinator,
            1,
            config={
                PLAN: packed_plan(plan),
                keys.MAX_SPOUT_PENDING: 2 * batches_max + _PENDING_MARGIN,
            },
        )

    def _has_requests(self, group: str) -> bool:
        spouts = (member.spout for member in self._plan.of_group(group))
        return any(isinstance(node.spout, RequestSpout) for node in spouts if node is not None)

    def _batches_of(self, group: str) -> int:
        return REQUESTS_MAX if self._has_requests(group) else self._batches_max

    def _add(self, component: ComponentPlan) -> None:
        inputs = self._inputs(component)
        if component.spout is not None:
            (group,) = component.groups
            coordinator = coordinator_name(group)
            inputs[GlobalStreamId(coordinator, BATCHES)] = Grouping.ALL
            inputs[GlobalStreamId(coordinator, SUCCESSES)] = Grouping.ALL
            inputs[GlobalStreamId(coordinator, SETTLED)] = Grouping.ALL
            if commits(component.spout.spout):
                inputs[GlobalStreamId(coordinator, COMMITS)] = Grouping.ALL
            self._add_bolt(component, SpoutBolt, component, inputs)
            return
        for group in component.committing:
            inputs[GlobalStreamId(coordinator_name(group), COMMITS)] = Grouping.ALL
        late = {group: self._plan.late(group) for group in component.groups}
        plan = OperatorPlan(
            component, late, {group: self._batches_of(group) for group in component.groups}
        )
        self._add_bolt(component, OperatorBolt, plan, inputs)

    def _inputs(self, component: ComponentPlan) -> dict[GlobalStreamId, Any]:
        inputs: dict[GlobalStreamId, Any] = {}
        for stream in component.inputs:
            inputs[GlobalStreamId(stream.source, stream.name)] = Grouping.DIRECT
            reports = GlobalStreamId(stream.source, reports_stream(stream.group))
            inputs[reports] = Grouping.DIRECT
        return inputs

    def _add_bolt(
        self, component: ComponentPlan, bolt: Any, plan: Any, inputs: dict[GlobalStreamId, Any]
    ) -> HeronComponentSpec:
        return self._builder.add_bolt(
            component.name,
            bolt,
            component.parallelism,
            inputs,
            config={PLAN: packed_plan(plan), **_refusal(component.spout)},
            optional_outputs=streams_of(component),
        )


def _refusal(node: SpoutNode | None) -> dict[str, str]:
    """Reason why a spout cannot run without acks."""
    if node is not None and isinstance(node.spout, RequestSpout):
        return {NOT_ON_SPARK: "takes requests (new_drpc_stream), each of which is a batch"}
    if node is not None and isinstance(node.spout, ICommitterTridentSpout):
        return {NOT_ON_SPARK: "is an ICommitterTridentSpout, which must commit its own output"}
    return {}


def coordinator_name(group: str) -> str:
    """Name of a batch group's coordinator component."""
    return f"mastercoord-{group}"
