"""The instance report: what travels is what was reported, and nonsense is refused by name."""

from typing import Any

import pytest

from heron_core.errors import ProtocolError
from heron_core.instance_report import (
    NOTHING_REPORTED,
    NUMBERS,
    Distribution,
    InstanceReport,
    report_of,
    report_of_json,
    to_wire,
)
from heron_core.records import replace

REPORT: InstanceReport = replace(
    NOTHING_REPORTED,
    **{name: at for at, name in enumerate(NUMBERS)},
    emitted_by_stream={"default": 3}, executed_by_input={"lines/default": 4},
    execute=Distribution(0.5, 7, {40: 7}), user={"words": 3, "by": {"a": 1.5}},
    hot_keys={"total": 10.0, "keys": [["'x'", 9.0]]}, at=12.5, incarnation=77, pid=5,
)  # fmt: skip


def test_a_report_arrives_as_it_was_made() -> None:
    assert report_of(to_wire(REPORT)) == REPORT


def test_the_names_on_the_wire_are_those_of_the_protocol() -> None:
    """Containers of two versions of the engine understand each other."""
    assert to_wire(REPORT).keys() >= {
        "executed", "acked", "failed", "failed_for_good", "expired", "ticks", "errors",
        "callback_errors", "fenced", "late", "pending", "stuck_secs", "busy_secs", "waited_secs",
        "cpu_share", "memory_bytes", "fixed_state", "user", "user_totals", "emitted", "inputs",
        "sent", "processed", "execute", "process", "complete", "last_error", "finished", "clock",
        "hot_keys", "at", "incarnation", "pid",
    }  # fmt: skip


def test_an_older_engine_leaves_out_what_it_does_not_know_and_a_newer_one_says_more() -> None:
    known = {key: each for key, each in to_wire(REPORT).items() if key not in ("sent", "hot_keys")}
    found = report_of({**known, "weather": "fine"})
    assert found == replace(REPORT, sent=0, hot_keys=None)


@pytest.mark.parametrize("name", ["executed", "late", "emitted", "execute", "at", "finished"])
def test_a_report_without_a_number_that_every_engine_knows_is_refused(name: str) -> None:
    told = {key: each for key, each in to_wire(REPORT).items() if key != name}
    with pytest.raises(ProtocolError, match=f"missing required field `{name}`"):
        report_of(told)


@pytest.mark.parametrize(
    ("name", "nonsense"),
    [
        ("executed", "3"), ("executed", 1.5), ("executed", True), ("executed", -1),
        ("executed", 1 << 51), ("busy_secs", float("nan")), ("at", float("inf")),
        ("emitted", {7: 1}), ("emitted", {"default": -1}), ("inputs", {7: 1}), ("inputs", []),
        ("execute", None), ("execute", {"total_secs": 1.0, "number": 1, "histogram": {401: 1}}),
        ("execute", {"total_secs": 1.0, "number": 1, "histogram": {1: -1}}),
        ("finished", 1), ("last_error", b"x"), ("user", {"words": []}), ("user_totals", {1: 1}),
        ("clock", {}), ("hot_keys", []), ("hot_keys", {"total": float("nan"), "keys": []}),
        ("hot_keys", {"total": 1.0, "keys": [["x", -1.0]]}),
    ],
)  # fmt: skip
def test_nonsense_is_refused_by_the_name_of_its_field(name: str, nonsense: Any) -> None:
    with pytest.raises(ProtocolError, match=f"report.*{name}"):
        report_of({**to_wire(REPORT), name: nonsense})


def test_a_report_of_a_query_was_json_whose_keys_are_text() -> None:
    told = to_wire(REPORT)
    told["execute"] = {**told["execute"], "histogram": {"40": 7}}
    assert report_of_json(told) == REPORT
    with pytest.raises(ProtocolError, match="execute"):
        report_of(told)
