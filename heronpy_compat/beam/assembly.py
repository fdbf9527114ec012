"""From the plan of a pipeline to a topology."""

from typing import Any

from heron_api.stream import Grouping, Stream
from heron_api.topology import TopologyBuilder
from heron_core import config as keys
from heronpy_compat.beam.plans import (
    COPIED,
    FINALIZES,
    PLAN,
    REPORTS,
    ROW_FIELDS,
    EdgePlan,
    PipelinePlan,
    StagePlan,
    packed,
)
from heronpy_compat.beam.rows import BySlot
from heronpy_compat.beam.sources import EventSpout, ImpulseSpout
from heronpy_compat.beam.stage_bolt import ResumingStageBolt, StageBolt


def builder_of(
    plan: PipelinePlan, reports: str | None = None, finalizes_at_once: bool = False
) -> TopologyBuilder:
    """The topology, exactly once; `reports`: folder for the metrics of tasks.

    A bolt that raises ends the run, after retries: Beam's pipelines fail as a whole.
    """
    builder = TopologyBuilder(plan.name)
    builder.set_config(
        {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE, "topology.bolt.on.exception": "stop"}
    )
    added: dict[str, Any] = {}
    edges: dict[str, EdgePlan] = {}
    for source in plan.sources:
        edges.update((edge.stream, edge) for _, edge in source.edges)
        added[source.name] = builder.add_spout(
            source.name, EventSpout if source.events else ImpulseSpout, 1, {PLAN: packed(source)},
            [Stream(ROW_FIELDS, edge.stream) for _, edge in source.edges],
        )  # fmt: skip
    for stage in plan.stages:
        edges.update((edge.stream, edge) for edge in stage.edges)
    for stage in _in_order(plan, set(added)):
        inputs = {
            added[component][stream]: _grouping(edges[stream]) for component, stream in stage.reads
        }
        config = {PLAN: packed(stage), FINALIZES: finalizes_at_once}
        if reports:
            config[REPORTS] = reports
        added[stage.name] = builder.add_bolt(
            stage.name, ResumingStageBolt if stage.resumes else StageBolt, stage.parallelism,
            inputs, config, [Stream(ROW_FIELDS, edge.stream) for edge in stage.edges],
        )  # fmt: skip
    return builder


def _in_order(plan: PipelinePlan, known: set[str]) -> list[StagePlan]:
    """The stages, each behind those that it reads."""
    left, ordered = list(plan.stages), []
    while left:
        ready = [stage for stage in left if all(component in known for component, _ in stage.reads)]
        assert ready, "the stages of a pipeline have a cycle"
        for stage in ready:
            known.add(stage.name)
            left.remove(stage)
        ordered += ready
    return ordered


def _grouping(edge: EdgePlan) -> Any:
    return Grouping.ALL if edge.mode == COPIED else Grouping.custom(BySlot(edge.slots))
