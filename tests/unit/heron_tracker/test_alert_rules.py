"""The alert rules ask for what is served, and each leads to a section of the runbook."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from heron_cli.main import heronpy
from heron_io.open_metrics import exposition
from heron_tracker.alert_rules import RUNBOOK, document, rules, text
from heron_tracker.model.tracker_problem import ProblemCause, ProblemKind
from heron_tracker.open_metrics import service_families
from tests.unit.heron_tracker.test_open_metrics import everything

REPOSITORY = Path(__file__).parents[3]
PROMTOOL = shutil.which("promtool")
NEEDS_PROMTOOL = pytest.mark.skipif(PROMTOOL is None, reason="needs Debian's package prometheus")
NOT_HERON = {"up"}
"""Prometheus' own series of a target."""


def served() -> dict[str, set[str]]:
    """Names of samples -> their labels."""
    families = partial(service_families, [everything()], {"words": {ProblemCause("stuck"): 1}})
    found = exposition(families, "application/openmetrics-text; version=1.0.0")[0].decode()
    return {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(found)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }


def test_every_metric_and_label_of_a_rule_is_served() -> None:
    metrics = served()
    for rule in rules():
        names = set(re.findall(r"\bheron_\w+", rule.query))
        assert names <= metrics.keys(), rule.name
        labels = set(re.findall(r"\$labels\.(\w+)", rule.summary)) - {"instance"}
        assert all(labels <= metrics[name] | {"topology"} for name in names), rule.name
        assert names or NOT_HERON & set(re.findall(r"\w+", rule.query)), rule.name


def test_every_kind_of_problem_has_a_rule_and_a_section_and_no_section_is_of_another() -> None:
    sections = {
        line.removeprefix("## ").replace(" ", "-")
        for line in (REPOSITORY / RUNBOOK).read_text().splitlines()
        if line.startswith("## ")
    }
    assert sections == {rule.section for rule in rules()}
    kinds = {kind.value.replace(" ", "-") for kind in ProblemKind}
    assert kinds <= sections
    asked = {kind for rule in rules() for kind in re.findall(r'kind="([^"]+)"', rule.query)}
    assert asked == {kind.value for kind in ProblemKind}


def test_the_printed_rules_are_those_of_the_repository() -> None:
    """`python -m heron_tracker.alert_rules > docs/heronpy-alerts.yml` writes them again."""
    printed = CliRunner().invoke(heronpy, ["ui", "--alert-rules"])
    assert printed.exit_code == 0
    assert printed.output == text() == (REPOSITORY / "docs" / "heronpy-alerts.yml").read_text()
    assert yaml.safe_load(printed.output) == document()


def promtool(folder: Path, *words: str) -> str:
    """Output of promtool; AssertionError after a complaint."""
    done = subprocess.run(
        [str(PROMTOOL), *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def problem(kind: str, values: str) -> dict[str, Any]:
    """A series of a problem, in promtool's words: a value each minute."""
    labels = f'topology="words",kind="{kind}",component="count",cause="x"'
    return {"series": f"heron_topology_problems{{{labels}}}", "values": values}


def expected(name: str, at: str, fires: bool, **labels: str) -> Mapping[str, Any]:
    (rule,) = (each for each in document()["groups"][0]["rules"] if each["alert"] == name)
    both = {**labels, **rule["labels"]}
    summary = rule["annotations"]["summary"]
    for label, value in labels.items():
        summary = summary.replace(f"{{{{ $labels.{label} }}}}", value)
    annotations = {**rule["annotations"], "summary": summary}
    alerts = [{"exp_labels": both, "exp_annotations": annotations}] if fires else []
    return {"eval_time": at, "alertname": name, "exp_alerts": alerts}


def of_problem(kind: str) -> dict[str, str]:
    """Labels of `problem`."""
    return {"topology": "words", "kind": kind, "component": "count", "cause": "x"}


def cases() -> list[dict[str, Any]]:
    """A life of each kind of rule: alert on time, not before, and gone with its cause."""
    waits = {rule.query: rule for rule in rules()}
    found = []
    for kind in ProblemKind:
        rule = waits[f'heron_topology_problems{{kind="{kind.value}"}} > 0']
        wait_secs = int(rule.wait[:-1]) * (60 if rule.wait.endswith("m") else 1)
        at = 120 + wait_secs
        labels = of_problem(kind.value)
        tests = [
            expected(rule.name, "60s", False, **labels),
            expected(rule.name, f"{at}s", True, **labels),
            expected(rule.name, "3000s", False, **labels),
        ]
        if wait_secs:
            tests.append(expected(rule.name, f"{at - 30}s", False, **labels))
        series = problem(kind.value, "0 0 1x30 0x40")
        found.append({"interval": "1m", "input_series": [series], "alert_rule_test": tests})
    up = {"topology": "words", "instance": "a:1", "job": "heronpy"}
    series_labels = ",".join(f'{name}="{value}"' for name, value in up.items())
    state = f'heron_topology_state{{{series_labels},state="FAILED"}}'
    alone = {"series": f"heron_topology_master_up{{{series_labels}}}", "values": "1 0x30"}
    silent = [expected("HeronMasterSilent", "5m", True, **up)]
    over = [expected("HeronMasterSilent", "5m", False, **up)]
    found.append({"interval": "1m", "input_series": [alone], "alert_rule_test": silent})
    ended = {"series": state, "values": "_ 1x30"}
    found.append({"interval": "1m", "input_series": [alone, ended], "alert_rule_test": over})
    scraped = {"series": 'up{job="heronpy",instance="a:1"}', "values": "1 0x30"}
    down = [expected("HeronServiceDown", "5m", True, job="heronpy", instance="a:1")]
    found.append({"interval": "1m", "input_series": [scraped], "alert_rule_test": down})
    return [*found, *counted_cases()]


def counted_cases() -> list[dict[str, Any]]:
    """Counts that begin with their first value, and counts untouched by a rescale."""
    words = {"topology": "words", "component": "count"}
    letters = 'heron_component_dead_letters_total{topology="words",component="count"}'
    first = {"series": letters, "values": "_ _ _ 1x40"}
    restarts = 'heron_instance_restarts{topology="words",component="count",exported_instance="'
    crashing = [
        {"series": f'{restarts}count[{number}]"}}', "values": "0 0 1 1 2 2x20"} for number in (0, 1)
    ]
    added = [
        {"series": f'{restarts}count[{number}]"}}', "values": "_ _ _ 0x20"} for number in range(9)
    ]
    return [
        {"interval": "1m", "input_series": series, "alert_rule_test": tests}
        for series, tests in (
            ([first], [expected("HeronDeadLetters", "2m", False, **words),
                       expected("HeronDeadLetters", "4m", True, **words),
                       expected("HeronDeadLetters", "30m", False, **words)]),
            (crashing, [expected("HeronCrashLoop", "10m", True, **words)]),
            (added, [expected("HeronCrashLoop", "10m", False, **words)]),
        )
    ]  # fmt: skip


@NEEDS_PROMTOOL
def test_promtool_checks_the_rules_and_lets_time_pass_over_them(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(text())
    assert f"{len(list(rules()))} rules found" in promtool(tmp_path, "check", "rules", "rules.yml")
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": "30s", "tests": cases()}
    (tmp_path / "tests.yml").write_text(json.dumps(tests))
    assert "SUCCESS" in promtool(tmp_path, "test", "rules", "tests.yml")
