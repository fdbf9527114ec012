"""Alert rules for Prometheus over what /metrics serves: `heronpy ui --alert-rules > heronpy.yml`.

Pure: a table of rules, and the YAML that Prometheus 2.42 and later load. Each rule names its
section of docs/RUNBOOK.md; each kind of problem has a rule. `python -m heron_tracker.alert_rules`
prints the file that the repository has as docs/heronpy-alerts.yml.

A rule for a kind of problem waits (`for`) as long as the problem may pass by itself: what is over
stays over, a process that ended is replaced within seconds, a burst fills a queue for minutes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from heron_tracker.model.tracker_problem import ProblemKind

RUNBOOK = "docs/RUNBOOK.md"
PAGE, TICKET, INFO = "page", "ticket", "info"
"""Severities: a person is woken, a person looks in the morning, a person may look."""
CRASHES_MAX = 3
"""Restarts in CRASH_WINDOW: two are routine, the third raises an alert."""
CRASH_WINDOW = "15m"
DROPS_WINDOW = "10m"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """One rule."""

    name: str
    query: str
    """PromQL: a series for each thing that is wrong."""
    wait: str
    """For how long it has to be wrong; Prometheus's `for`."""
    severity: str
    summary: str
    """With Prometheus's templates."""
    section: str
    """Of RUNBOOK: the heading, in lower case and with hyphens."""


_ABOUT = "{{ $labels.topology }}"
_OF = "{{ $labels.topology }}, {{ $labels.component }}"
_CAUSE = "{{ $labels.cause }}"
_OF_KINDS: tuple[tuple[ProblemKind, str, str, str, str], ...] = (
    (ProblemKind.OVER, "TopologyOver", "0s", PAGE, f"{_ABOUT} has failed or was lost: {_CAUSE}"),
    (
        ProblemKind.CANNOT_START, "InstanceCannotStart", "30s", PAGE,
        f"{_OF} cannot start: {_CAUSE}",
    ),
    (ProblemKind.DOWN, "InstancesDown", "1m", PAGE, f"{_OF} has instances that are down"),
    (ProblemKind.STUCK, "CallStuck", "1m", PAGE, f"{_OF} is in a call that does not return"),
    (ProblemKind.RESTORE, "RestoreFails", "0s", PAGE, f"{_ABOUT} cannot be restored: {_CAUSE}"),
    (ProblemKind.SKEWED, "ComponentSkewed", "10m", TICKET, f"{_OF} is skewed: {_CAUSE}"),
    (ProblemKind.BOTTLENECK, "ComponentTooSlow", "10m", TICKET, f"{_OF} is too slow: {_CAUSE}"),
    (ProblemKind.CRASHED, "ProcessCrashed", "0s", TICKET, f"{_OF} crashed: {_CAUSE}"),
    (ProblemKind.MEMORY, "MemoryShort", "1m", TICKET, f"{_OF} has nearly all of its memory"),
    (
        ProblemKind.UNSETTLED, "TuplesUnsettled", "1m", PAGE,
        f"{_OF} neither acks nor fails its tuples",
    ),
    (ProblemKind.FAILING, "TuplesFail", "1m", PAGE, f"{_OF} fails tuples or calls: {_CAUSE}"),
    (ProblemKind.CHECKPOINT, "CheckpointFails", "5m", PAGE, f"{_ABOUT}: {_CAUSE}"),
    (ProblemKind.LOST, "DeliveriesLost", "0s", TICKET, f"{_ABOUT} has lost deliveries: {_CAUSE}"),
    (
        ProblemKind.WATERMARK, "WatermarkWaits", "10m", TICKET,
        f"{_OF} waits for a source that sends nothing",
    ),
    (ProblemKind.SILENT, "SpoutSilent", "15m", INFO, f"{_OF} emits nothing: {_CAUSE}"),
    (ProblemKind.METRICS, "MetricsLeftOut", "15m", INFO, f"{_OF} has metrics that are not served"),
)  # fmt: skip
"""Kind -> name, wait, severity, summary."""


def rules() -> Iterator[AlertRule]:
    """Rules for each kind of problem, and for metrics outside of problems."""
    for kind, name, wait, severity, summary in _OF_KINDS:
        yield AlertRule(
            name=f"Heron{name}",
            query=f'heron_topology_problems{{kind="{kind.value}"}} > 0',
            wait=wait,
            severity=severity,
            summary=summary,
            section=kind.value.replace(" ", "-"),
        )
    yield from _OTHERS


_OTHERS = (
    AlertRule(
        name="HeronMasterSilent",
        query="heron_topology_master_up == 0 unless on (topology, instance, job)"
        ' heron_topology_state{state=~"FAILED|LOST"}',
        wait="1m",
        severity=PAGE,
        summary=f"the topology master of {_ABOUT} does not answer",
        section="master",
    ),
    AlertRule(
        name="HeronServiceDown",
        query='up{job=~"heronpy.*"} == 0',
        wait="1m",
        severity=PAGE,
        summary="{{ $labels.instance }} is not scraped, so nothing of its topologies is known",
        section="service",
    ),
    AlertRule(
        name="HeronCrashLoop",
        # By instance: an instance that a rescale adds has its first process, and is not a crash.
        query="sum by (topology, component) "
        f"(increase(heron_instance_restarts[{CRASH_WINDOW}])) >= {CRASHES_MAX}",
        wait="0s",
        severity=PAGE,
        summary=f"{_OF} had {CRASHES_MAX} restarts or more in {CRASH_WINDOW}",
        section=ProblemKind.CRASHED.value,
    ),
    AlertRule(
        name="HeronCheckpointOld",
        query="heron_checkpoint_age_seconds > 900",
        wait="0s",
        severity=PAGE,
        summary=f"the newest checkpoint of {_ABOUT} is {{{{ $value | humanizeDuration }}}} old",
        section=ProblemKind.CHECKPOINT.value,
    ),
    AlertRule(
        name="HeronDeadLetters",
        # The first letter starts the series, so `increase` would miss it.
        query=f"increase(heron_component_dead_letters_total[{DROPS_WINDOW}]) > 0 or "
        "(heron_component_dead_letters_total > 0 unless "
        f"heron_component_dead_letters_total offset {DROPS_WINDOW})",
        wait="0s",
        severity=TICKET,
        summary=f"{_OF} has abandoned tuples; they are dead letters",
        section="dead-letters",
    ),
    AlertRule(
        name="HeronLateTuples",
        query=f"delta(heron_component_late_dropped_tuples[{DROPS_WINDOW}]) > 0",
        wait="0s",
        severity=TICKET,
        summary=f"{_OF} has dropped tuples that came too late for a window",
        section="late-tuples",
    ),
)


def document() -> dict[str, Any]:
    """The rules file in Prometheus's format."""
    return {"groups": [{"name": "heronpy", "rules": [_rule(each) for each in rules()]}]}


def _rule(rule: AlertRule) -> dict[str, Any]:
    return {
        "alert": rule.name,
        "expr": rule.query,
        **({"for": rule.wait} if rule.wait != "0s" else {}),
        "labels": {"severity": rule.severity},
        "annotations": {"summary": rule.summary, "runbook_url": f"{RUNBOOK}#{rule.section}"},
    }


def text() -> str:
    """The file."""
    head = "# Printed by `heronpy ui --alert-rules`; docs/RUNBOOK.md has what to do.\n"
    return head + yaml.safe_dump(document(), sort_keys=False, width=100)


if __name__ == "__main__":
    print(text(), end="")
