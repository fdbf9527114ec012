"""From the protocol buffers of a Beam pipeline to the plan of a topology; pure.

Beam's own translations fuse transforms, lift combiners and expand splittable DoFns
(apache_beam.runners.portability.fn_api_runner.translations). A buffer between two stages becomes
edges. A stage with state or timers begins with the stateful DoFn, so that elements are divided by
key.
"""

import copy
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from apache_beam.coders.coder_impl import create_OutputStream
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_fn_api_pb2, beam_runner_api_pb2
from apache_beam.runners import pipeline_context
from apache_beam.runners.pipeline_utils import (
    merge_common_environments,
    merge_superset_dep_environments,
    validate_pipeline_graph,
)
from apache_beam.runners.portability.fn_api_runner import translations
from apache_beam.runners.worker import bundle_processor
from apache_beam.transforms import environments
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils import proto_utils
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from heron_core.errors import TopologyError
from heronpy_compat.beam.plans import (
    COPIED,
    KEYED,
    SPREAD,
    EdgePlan,
    EventPlan,
    GroupPlan,
    InputPlan,
    PipelinePlan,
    SidePlan,
    SourcePlan,
    StagePlan,
    TimerPlan,
)

CHANNEL = "heronpy"
"""Address of the data channel in descriptors; a process has one channel per stage."""
IMPULSE = "impulse"
TEST_STREAM_URN = common_urns.primitives.TEST_STREAM.urn
NAME_LENGTH_MAX = 40
"""Characters of a component's name."""
_REQUIREMENTS = frozenset(
    each.urn
    for each in (
        common_urns.requirements.REQUIRES_STATEFUL_PROCESSING,
        common_urns.requirements.REQUIRES_BUNDLE_FINALIZATION,
        common_urns.requirements.REQUIRES_SPLITTABLE_DOFN,
        common_urns.requirements.REQUIRES_STABLE_INPUT,
    )
)
_PHASES = (
    "annotate_downstream_side_inputs",
    "annotate_stateful_dofns_as_roots",
    "fix_side_input_pcoll_coders",
    "pack_combiners",
    "lift_combiners",
    "expand_sdf",
    "expand_gbk",
    "sink_flattens",
    "greedily_fuse",
    "read_to_impulse",
    "impulse_to_input",
)


def plan_of(pipeline: Any, name: str, parallelism: int, is_drain: bool = False) -> PipelinePlan:
    """The plan of a `beam_runner_api_pb2.Pipeline`, with `parallelism` tasks for each stage.

    `is_drain`: splittable DoFns truncate their restrictions, so that unbounded ones end.
    TopologyError naming a transform that is not supported.
    """
    validate_pipeline_graph(pipeline)
    _refuse_unsupported(pipeline)
    pipeline = _in_one_environment(pipeline)
    context, stages = translations.create_and_optimize_stages(
        copy.deepcopy(pipeline),
        phases=[
            *(getattr(translations, each) for each in _PHASES),
            _test_streams_to_input,
            translations.sort_stages,
            translations.add_impulse_to_dangling_transforms,
            translations.setup_timer_mapping,
            translations.populate_data_channel_coders,
        ],
        known_runner_urns=frozenset(
            [
                common_urns.primitives.FLATTEN.urn,
                common_urns.primitives.GROUP_BY_KEY.urn,
                TEST_STREAM_URN,
            ]
        ),
        is_drain=is_drain,
    )
    return _StagePlanner(context, stages, name, parallelism).plan()


def _in_one_environment(pipeline: Any) -> Any:
    pipeline = merge_superset_dep_environments(copy.deepcopy(pipeline))
    for environment in pipeline.components.environments.values():
        environment.CopyFrom(
            environments.resolve_anyof_environment(environment, python_urns.EMBEDDED_PYTHON)
        )
    return merge_common_environments(pipeline)


def _refuse_unsupported(pipeline: Any) -> None:
    transforms = pipeline.components.transforms.values()
    for urn in pipeline.requirements:
        if urn not in _REQUIREMENTS:
            users = [
                transform.unique_name
                for transform in transforms
                if transform.spec.urn in translations.PAR_DO_URNS
                and _par_do(transform).requires_time_sorted_input
            ]
            where = f"{users[0]!r}: " if users else ""
            raise TopologyError(f"{where}heronpy's runner does not support {urn}")
    for transform in transforms:
        if transform.spec.urn == TEST_STREAM_URN and _test_stream(transform).endpoint.url:
            raise TopologyError(
                f"{transform.unique_name!r}: a TestStream with the events of a service is not"
                " supported: give it its events"
            )
    external = common_urns.environments.EXTERNAL.urn
    for transform in transforms:
        environment = pipeline.components.environments.get(transform.environment_id)
        if environment is not None and environment.urn == external:
            raise TopologyError(
                f"{transform.unique_name!r}: a transform of an external environment is not"
                " supported: only Python's transforms run here"
            )


def _test_stream(transform: Any) -> Any:
    return proto_utils.parse_Bytes(transform.spec.payload, beam_runner_api_pb2.TestStreamPayload)


def _par_do(transform: Any) -> Any:
    return proto_utils.parse_Bytes(transform.spec.payload, beam_runner_api_pb2.ParDoPayload)


def _test_streams_to_input(stages: Iterable[Any], context: Any) -> Iterable[Any]:
    """A TestStream becomes a reading transform for each output."""
    for stage in stages:
        for transform in list(stage.transforms):
            if transform.spec.urn != TEST_STREAM_URN:
                continue
            stage.transforms.remove(transform)
            for tag, collection in transform.outputs.items():
                stage.transforms.append(
                    beam_runner_api_pb2.PTransform(
                        unique_name=f"{transform.unique_name}/{tag}",
                        spec=beam_runner_api_pb2.FunctionSpec(
                            urn=bundle_processor.DATA_INPUT_URN,
                            payload=f"events:{transform.unique_name}\n{tag}".encode(),
                        ),
                        outputs={"out": collection},
                    )
                )
            context.test_streams = [*getattr(context, "test_streams", ()), transform]
        yield stage


class _StagePlanner:
    """Stages with a context; `plan` is called once."""

    def __init__(self, context: Any, stages: list[Any], name: str, parallelism: int) -> None:
        self._context, self._stages, self._name = context, stages, name
        self._components = context.components
        self._parallelism = parallelism
        self._names = [_component_name(at, stage) for at, stage in enumerate(stages)]
        self._edges: dict[str, list[EdgePlan]] = defaultdict(list)
        self._source_edges: dict[str, list[tuple[str, EdgePlan]]] = defaultdict(list)
        self._writers: dict[bytes, list[tuple[int, Any]]] = defaultdict(list)
        """Buffer -> (stage, writing transform)"""
        self._edge_count = 0
        for at, stage in enumerate(stages):
            for transform in stage.transforms:
                if transform.spec.urn == bundle_processor.DATA_OUTPUT_URN:
                    self._writers[transform.spec.payload].append((at, transform))

    def plan(self) -> PipelinePlan:
        """The plan of the pipeline."""
        read = [self._inputs_of(at, stage) for at, stage in enumerate(self._stages)]
        stages = [self._stage_plan(at, stage, *read[at]) for at, stage in enumerate(self._stages)]
        events = {each.unique_name: each for each in getattr(self._context, "test_streams", ())}
        sources = [
            SourcePlan(
                _plain("source" if name == IMPULSE else name), tuple(edges),
                self._events_of(events[name]) if name in events else (),
            )
            for name, edges in self._source_edges.items()
        ]  # fmt: skip
        return PipelinePlan(self._name, tuple(sources), tuple(stages))

    # --- inputs -----------------------------------------------------------------------------------

    def _inputs_of(self, at: int, stage: Any) -> tuple[list[InputPlan], list[SidePlan]]:
        reading = [t for t in stage.transforms if t.spec.urn == bundle_processor.DATA_INPUT_URN]
        slots = self._slots(stage, reading)
        inputs = [self._input(at, stage, transform, slots) for transform in reading]
        sides = []
        for transform in stage.transforms:
            if transform.spec.urn in translations.PAR_DO_URNS or _is_part_of_sdf(transform):
                for tag, side in _par_do(transform).side_inputs.items():
                    sides.append(self._side(at, transform, tag, side, slots))
        return inputs, sides

    def _slots(self, stage: Any, reading: list[Any]) -> int:
        """One task reads an impulse, or the ordered events of a TestStream."""
        kinds = {each.spec.payload.split(b":", 1)[0] for each in reading}
        if stage.is_stateful() or b"group" in kinds:
            return self._parallelism
        return self._parallelism if kinds & {b"materialize"} else 1

    def _input(self, at: int, stage: Any, transform: Any, slots: int) -> InputPlan:
        (collection,) = transform.outputs.values()
        coder = self._coder(collection)
        windowing = self._components.pcollections[collection].windowing_strategy_id
        payload: bytes = transform.spec.payload
        if payload == translations.IMPULSE_BUFFER or payload.startswith(b"events:"):
            source, tag = IMPULSE, ""
            if payload != translations.IMPULSE_BUFFER:
                source, tag = payload[len(b"events:") :].decode().split("\n")
            mode = KEYED if stage.is_stateful() else SPREAD
            edge = self._edge(transform.unique_name, coder, mode, slots)
            self._source_edges[source].append((tag, edge))
            name = _plain("source" if source == IMPULSE else source)
            return InputPlan(transform.unique_name, ((name, edge.stream),), coder, windowing)
        group = self._group(payload)
        mode = KEYED if group is not None or stage.is_stateful() else SPREAD
        sources = self._sources(payload, mode, slots)
        return InputPlan(transform.unique_name, sources, coder, windowing, group)

    def _group(self, payload: bytes) -> GroupPlan | None:
        kind, name = translations.split_buffer_id(payload)
        if kind != "group":
            return None
        (collection,) = self._components.transforms[name].inputs.values()
        windowing = self._components.pcollections[collection].windowing_strategy_id
        return GroupPlan(self._coder(collection), windowing)

    def _side(self, at: int, transform: Any, tag: str, side: Any, slots: int) -> SidePlan:
        collection = transform.inputs[tag]
        buffer = translations.create_buffer_id(collection)
        strategy = self._components.windowing_strategies[
            self._components.pcollections[collection].windowing_strategy_id
        ]
        return SidePlan(
            transform.unique_name, tag, self._sources(buffer, COPIED, slots),
            self._coder(collection), side.access_pattern.urn,
            side.SerializeToString(),
            not strategy.trigger.HasField("default"),
        )  # fmt: skip

    def _sources(self, buffer: bytes, mode: str, slots: int) -> tuple[tuple[str, str], ...]:
        sources = []
        for at, transform in self._writers[buffer]:
            (collection,) = transform.inputs.values()
            edge = self._edge(transform.unique_name, self._coder(collection), mode, slots)
            self._edges[self._names[at]].append(edge)
            sources.append((self._names[at], edge.stream))
        return tuple(sources)

    def _edge(self, transform: str, coder: str, mode: str, slots: int) -> EdgePlan:
        self._edge_count += 1
        return EdgePlan(f"edge{self._edge_count}", transform, coder, mode, slots)

    def _coder(self, collection: str) -> str:
        """The coder with which this process divides encoded elements; user classes stay bytes."""
        coder = self._context.data_channel_coders.get(collection)
        if coder is None:
            self._context.add_data_channel_coder(collection)
            coder = self._context.data_channel_coders[collection]
        return str(self._context.safe_coders.get(coder, coder))

    # --- a stage ----------------------------------------------------------------------------------

    def _stage_plan(
        self, at: int, stage: Any, inputs: list[InputPlan], sides: list[SidePlan]
    ) -> StagePlan:
        timers = self._timers(stage)
        reading = [t for t in stage.transforms if t.spec.urn == bundle_processor.DATA_INPUT_URN]
        return StagePlan(
            self._names[at], _label(stage), self._descriptor(at, stage), tuple(inputs),
            tuple(sides), tuple(self._edges[self._names[at]]), timers,
            self._slots(stage, reading), self._resumes(stage, inputs, timers),
        )  # fmt: skip

    def _timers(self, stage: Any) -> tuple[TimerPlan, ...]:
        timers = []
        for transform in stage.transforms:
            if transform.spec.urn in translations.PAR_DO_URNS:
                for family, spec in _par_do(transform).timer_family_specs.items():
                    coder = spec.timer_family_coder_id
                    is_event = spec.time_domain == beam_runner_api_pb2.TimeDomain.EVENT_TIME
                    timers.append(
                        TimerPlan(
                            transform.unique_name, family,
                            str(self._context.safe_coders.get(coder, coder)), is_event,
                        )
                    )  # fmt: skip
        return tuple(timers)

    def _resumes(self, stage: Any, inputs: list[InputPlan], timers: tuple[TimerPlan, ...]) -> bool:
        strategies = self._components.windowing_strategies
        waits = any(
            read.group and b"processing_time" in _field_names(strategies[read.group.windowing])
            for read in inputs
        )
        return (
            waits
            or any(not timer.by_event_time for timer in timers)
            or any(map(_is_part_of_sdf, stage.transforms))
        )

    def _descriptor(self, at: int, stage: Any) -> bytes:
        transforms = {}
        for original in stage.transforms:
            transform = copy.deepcopy(original)
            is_input = transform.spec.urn == bundle_processor.DATA_INPUT_URN
            if is_input or transform.spec.urn == bundle_processor.DATA_OUTPUT_URN:
                (collection,) = (transform.outputs if is_input else transform.inputs).values()
                port = beam_fn_api_pb2.RemoteGrpcPort(
                    coder_id=self._context.data_channel_coders[collection]
                )
                port.api_service_descriptor.url = CHANNEL
                transform.spec.payload = port.SerializeToString()
            transforms[transform.unique_name] = transform
        components = self._components
        descriptor = beam_fn_api_pb2.ProcessBundleDescriptor(
            id=self._names[at], transforms=transforms,
            pcollections=dict(components.pcollections), coders=dict(components.coders),
            windowing_strategies=dict(components.windowing_strategies),
            environments=dict(components.environments),
        )  # fmt: skip
        descriptor.state_api_service_descriptor.url = CHANNEL
        descriptor.timer_api_service_descriptor.url = CHANNEL
        return bytes(descriptor.SerializeToString())

    # --- TestStream -------------------------------------------------------------------------------

    def _events_of(self, transform: Any) -> tuple[EventPlan, ...]:
        payload = _test_stream(transform)
        coders = pipeline_context.PipelineContext(self._components).coders
        element = coders[payload.coder_id]
        outputs = {
            tag: coders[self._context.data_channel_coders[collection]]
            for tag, collection in transform.outputs.items()
        }
        return tuple(_event(each, element, outputs) for each in payload.events)


def _event(event: Any, element: Any, outputs: dict[str, Any]) -> EventPlan:
    """An event of the payload, in which times are milliseconds."""
    kind = event.WhichOneof("event")
    if kind == "processing_time_event":
        return EventPlan("", advance_secs=event.processing_time_event.advance_duration / 1_000)
    given = getattr(event, kind)
    tag = given.tag if given.tag in outputs else next(iter(outputs))
    if kind == "watermark_event":
        return EventPlan(tag, watermark_micros=given.new_watermark * 1_000)
    stream = create_OutputStream()
    for timed in given.elements:
        value = WindowedValue(
            element.decode(timed.encoded_element),
            Timestamp(micros=timed.timestamp * 1_000), (GlobalWindow(),),
        )  # fmt: skip
        outputs[tag].get_impl().encode_to_stream(value, stream, True)
    return EventPlan(tag, stream.get())


def _is_part_of_sdf(transform: Any) -> bool:
    return bool(
        transform.spec.urn == common_urns.sdf_components.PROCESS_SIZED_ELEMENTS_AND_RESTRICTIONS.urn
    )


def _field_names(strategy: Any) -> bytes:
    """The text of a trigger, with the kinds of all parts."""
    return str(strategy.trigger).encode()


def _label(stage: Any) -> str:
    kinds = (bundle_processor.DATA_INPUT_URN, bundle_processor.DATA_OUTPUT_URN)
    names = [t.unique_name for t in stage.transforms if t.spec.urn not in kinds]
    return ", ".join(names) or str(stage.name)


def _component_name(at: int, stage: Any) -> str:
    return f"{at:02d}-{_plain(_label(stage).split(', ')[0])}"


def _plain(name: str) -> str:
    """The beginning of a transform's name, without parentheses, as a component's name."""
    bare = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", name)
    return re.sub(r"[^A-Za-z0-9]+", "-", bare).strip("-")[:NAME_LENGTH_MAX].strip("-")
