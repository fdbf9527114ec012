"""The reference of numbers: docs/METRICS.md, and the pages that lead there."""

from pathlib import Path

from heron_core.instance_report import measures_of
from heron_core.metrics_reference import markdown
from heron_core.stats import InstanceStats

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_made_from_the_fields() -> None:
    made = "python -m heron_core.metrics_reference > docs/METRICS.md writes it again"
    assert (DOCS / "METRICS.md").read_text() == markdown(), made


def test_each_number_of_an_instance_is_told_once() -> None:
    lines = markdown().splitlines()
    for name in measures_of(InstanceStats):
        assert sum(line.startswith(f"| `{name}` |") for line in lines) == 1, name


def test_no_two_numbers_share_a_name() -> None:
    measures = measures_of(InstanceStats).values()
    for names in ([x.heron for x in measures if x.heron], [x.metric for x in measures if x.metric]):
        assert len(names) == len(set(names)), names
