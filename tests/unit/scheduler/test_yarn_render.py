"""The application that YARN gets; `golden/application.json` is what --dry-run prints."""

import json
from pathlib import Path

import pytest

from heron_core.errors import UsageError
from heron_core.plans import GIB, MIB, ContainerPlan, PackingPlan, Resource
from heron_core.records import replace
from heron_core.typed_json import from_json, to_json
from heron_engine.scheduler.backends.yarn import render
from heron_engine.scheduler.backends.yarn.events import Ask

GOLDEN = Path(__file__).parent / "golden"
PLAN = PackingPlan(
    "words",
    (
        ContainerPlan(1, (), Resource(2.5, 3 * GIB, GIB)),
        ContainerPlan(3, (), Resource(1.0, 700 * MIB + 1, GIB)),
    ),
)
STAGING = "hdfs://nn/user/ada/.heronpy"
RESOURCES = (
    render.LocalResource("runtime", f"{STAGING}/lib/r.tar.gz", "ARCHIVE", True, 9, 8),
    render.LocalResource("code_0", f"{STAGING}/topologies/w/c.tar.gz", "ARCHIVE", False),
)
SPEC = render.ApplicationSpec(
    "words",
    "zk://zk1:2181,zk2:2181/heron",
    "cpython-3.11-linux-x86_64",
    "python3",
    15.0,
    5,
    f"{STAGING}/topologies/w",
    ("/home/ada/word count",),
    RESOURCES,
    {"HERONPY_STREAMPARSE": "built in"},
)
OPTIONS = render.YarnOptions(queue="prod", master=Ask(2048, 2), attempts=3)


def test_the_application() -> None:
    """Memory is rounded up to MB, cores to vcores; one priority for each container."""
    shown = render.preview("words", OPTIONS, SPEC, PLAN)
    assert shown + "\n" == (GOLDEN / "application.json").read_text("utf-8")
    assert render.asks(PLAN) == {1: Ask(3072, 3), 3: Ask(701, 1)}


def test_while_a_topology_is_scaled_the_smaller_request_counts() -> None:
    """Container 1 shrinks, container 3 goes, container 4 comes."""
    wanted = PackingPlan(
        "words",
        (
            ContainerPlan(1, (), Resource(1.0, 2 * GIB, GIB)),
            ContainerPlan(4, (), Resource(1.0, GIB, GIB)),
        ),
    )
    expected = {1: Ask(2048, 1), 3: Ask(701, 1), 4: Ask(1024, 1)}
    assert render.asks_while_scaled(PLAN, wanted) == expected
    assert render.asks_while_scaled(wanted, PLAN) == expected


def test_the_order_comes_through() -> None:
    """As the application master reads it."""
    assert from_json(render.ApplicationSpec, json.loads(json.dumps(to_json(SPEC))), "it") == SPEC


def test_a_command_survives_the_launch_script() -> None:
    """YARN writes it between double quotes; the shell in there gets what we meant."""
    assert render.in_script("a \"$PWD\" `b` '\\'") == (
        "a \\\"\\$PWD\\\" \\`b\\` '\\\\' 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
    )


@pytest.mark.parametrize(
    ("largest", "told"),
    [
        (Ask(2048, 8), "container 1 needs 3072 MB of memory, but YARN's maximum is 2048"),
        (Ask(4096, 2), "container 1 needs 3 vcores, but YARN's maximum is 2"),
        (Ask(1024, 1), "the application master needs 2048 MB of memory, but YARN's maximum is"),
    ],
)
def test_larger_than_any(largest: Ask, told: str) -> None:
    """Refused with both numbers before anything is submitted."""
    render.check_largest(PLAN, OPTIONS.master, Ask(3072, 3))
    with pytest.raises(UsageError, match=told):
        render.check_largest(PLAN, OPTIONS.master, largest)


@pytest.mark.parametrize("mark", ["{{", "}}", "<LOG_DIR>"])
def test_what_yarn_would_replace(mark: str) -> None:
    """In a folder's name."""
    render.check_words(SPEC)
    with pytest.raises(UsageError, match="which YARN would replace"):
        render.check_words(replace(SPEC, code=(f"/home/{mark}",)))


def test_tags() -> None:
    """The resource manager takes ASCII only."""
    assert render.tags("Words") == ["heronpy", "words"]
    assert render.tags("wörter") == ["heronpy"]
    assert render.tags("w" * 101) == ["heronpy"]
