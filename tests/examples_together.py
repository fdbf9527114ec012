"""Examples with equal printed lines on all engines, and many examples as one topology."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from heron_frontends.loading.load import load_topology
from heronpy_compat.testing import TopologyTester
from tests.unit.imports_support import forget_imports

EXAMPLES = Path(__file__).parents[1] / "examples"
TEXT = str(EXAMPLES / "word_count.py")
OPTIONS: dict[str, dict[str, Any]] = {
    "all_and_global": {},
    "click_through_rate": {},
    "columnar_word_count": {"word_count.files": TEXT, "word_count.top": 1000},
    "custom_grouping": {},
    "frequent_keys": {},
    "multi_stream": {},
    "running_totals": {"running_totals.secs": 0},
    "sensor_features": {"sensor.readings": 2000},
    "storm_starter/sliding_tuple_ts": {},
    "storm_starter/sliding_window": {},
    "storm_starter/stateful_windowing": {},
    "streamlets/running_words": {},
    "streamlets/track_state": {},
    "word_count": {"word_count.files": TEXT, "word_count.top": 1000},
    "use_cases/anomaly_detection": {"use_case.events": 1000, "use_case.sink.secs": 0},
    "use_cases/finance_alerts": {"use_case.events": 1200},
    "use_cases/online_learning": {"use_case.events": 500},
    "use_cases/predictive_maintenance": {"use_case.events": 800},
    "use_cases/traffic": {"use_case.events": 9000},
}
"""Example -> config: few events, without pauses."""


NAMED = "frequent_keys"
"""Its code has names of components, so components keep their names."""


def example(name: str) -> TopologySpec:
    """An example with its config."""
    spec = load_topology(str(EXAMPLES / f"{name}.py"))
    return replace(spec, config={**spec.config, **OPTIONS[name]})


def together(names: Iterable[str]) -> TopologySpec:
    """One topology of several examples: names of components begin with the example."""
    components: list[ComponentSpec] = []
    folders: dict[str, None] = {}
    for name in names:
        spec = example(name)
        folders |= dict.fromkeys(spec.search_paths)
        prefix = "" if name == NAMED else f"{name.rpartition('/')[2]}-"
        components += [_renamed(each, prefix, spec) for each in spec.components]
    return TopologySpec("Examples", tuple(components), search_paths=tuple(folders))


def _renamed(component: ComponentSpec, prefix: str, spec: TopologySpec) -> ComponentSpec:
    inputs = [replace(each, component=f"{prefix}{each.component}") for each in component.inputs]
    shared = {key: value for key, value in spec.config.items() if not key.startswith("topology.")}
    own = {**shared, **component.config}
    name = f"{prefix}{component.name}"
    return replace(component, name=name, inputs=tuple(inputs), config=own)


def plain(line: str) -> str:
    """A printed line without the number of a task, as numbers depend on other components."""
    return re.sub(r"^task \d+: ", "", line)


@contextmanager
def fresh_imports() -> Iterator[None]:
    """Undo imports of examples: names of modules repeat."""
    modules, path = dict(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    forget_imports(modules)


def in_the_tester(name: str, capsys: pytest.CaptureFixture[str]) -> Counter[str]:
    """Printed lines of an example."""
    with fresh_imports(), TopologyTester(example(name)) as tester:
        tester.run_spouts()
        tester.finish()
    return Counter(map(plain, capsys.readouterr().out.splitlines()))


def by_example(lines: Iterable[str]) -> dict[str, Counter[str]]:
    """Lines of a run of `together`, `COMPONENT[INDEX] | TEXT`, by example."""
    found: dict[str, Counter[str]] = {}
    for line in lines:
        component, _, text = line.partition(" | ")
        prefix, has_prefix, _ = component.partition("-")
        text = plain(text.replace(f"{prefix}-", "") if has_prefix else text)
        found.setdefault(prefix if has_prefix else NAMED, Counter())[text] += 1
    return found
