"""The job file and its bindings; `golden/*.aurora` is Aurora's input, for readers.

The expected values follow Heron's heron.aurora and AuroraLauncher: every instance gets the most
that any container needs, one instance more than containers, preferred only in prod.
"""

from pathlib import Path

import pytest

from heron_core.errors import UsageError
from heron_core.plans import GIB, ContainerPlan, PackingPlan, Resource
from heron_core.records import replace
from heron_engine.scheduler.backends.aurora import render

GOLDEN = Path(__file__).parent / "golden"
KEY = render.JobKey("west", "www", "devel", "WordCount")
PLAN = PackingPlan(
    "WordCount",
    (
        ContainerPlan(1, (), Resource(2.5, 3 * GIB, 9 * GIB)),
        ContainerPlan(3, (), Resource(1.0, 4 * GIB, 5 * GIB)),
    ),
)
PLAIN = render.AuroraOptions(fetch="curl -fsSL -o {file} {uri}")
RUNTIME = render.FetchedArchive(
    "heronpy-runtime-12ab.packed", "https://files/hp/r.packed", "runtime"
)
CODE = render.FetchedArchive("code-0-34cd.packed", "https://files/hp/west/c.packed", "code_0")


def spec(root: str = "/home/ada/word count") -> render.JobSpec:
    """Of a topology with its code in a folder."""
    store = "zk://zk1:2181,zk2:2181/heron"
    return render.JobSpec(store, 15.0, "cpython-3.11-linux-x86_64", RUNTIME, ((root, CODE),))


def test_a_plain_job() -> None:
    """As most clusters want it."""
    text = render.job_file(KEY, PLAIN, spec())
    assert text == (GOLDEN / "plain.aurora").read_text("ascii")


def test_a_job_with_everything() -> None:
    """All settings of a cluster's file about jobs, and a folder outside of ASCII."""
    options = render.AuroraOptions(
        tier="revocable",
        production=True,
        constraints=(("rack", "limit:2"), ("disk", "ssd")),
        python="/opt/python3.11/bin/python3",
        environment_file="/etc/heronpy/environment",
        fetch="hdfs dfs -get {uri} {file}",
    )
    text = render.job_file(KEY, options, spec("/home/zoë/words"))
    assert text == (GOLDEN / "everything.aurora").read_text("ascii")


def test_labels_of_a_topology_are_constraints_of_the_job() -> None:
    """Labels decide over the cluster's file."""
    options = replace(PLAIN, constraints=(("rack", "limit:2"), ("disk", "ssd")))
    text = render.job_file(KEY, options.on_nodes((("disk", "nvme"), ("place", "edge"))), spec())
    assert "constraints = {'rack': 'limit:2', 'disk': 'nvme', 'place': 'edge'}" in text


def test_variables_of_the_submitting_shell() -> None:
    """Quoted before the program."""
    one = replace(spec(), environment=(("HERONPY_STREAMPARSE", "built in"),))
    text = render.job_file(KEY, PLAIN, one)
    assert """/project HERONPY_STREAMPARSE=\\'built in\\' python3 -m""" in text


def test_the_file_reads_the_same_in_python_2_and_3() -> None:
    """Aurora's client is a Python 2 program: ASCII only, and u'' before what is not."""
    text = render.job_file(KEY, PLAIN, spec("/home/zoë/words"))
    assert text.isascii()
    assert "cmdline = u'exec env" in text
    assert "/home/zo\\xeb/words" in text


def test_bindings() -> None:
    """Heron's AuroraFields: the largest of each resource (cpu of one container, ram of another),
    bytes, one instance for the topology master."""
    assert render.bindings(KEY, PLAN, PLAIN) == {
        "CLUSTER": "west",
        "CPUS_PER_CONTAINER": "2.5",
        "DISK_PER_CONTAINER": "9663676416",
        "ENVIRON": "devel",
        "NUM_CONTAINERS": "3",
        "RAM_PER_CONTAINER": "4294967296",
        "ROLE": "www",
        "TIER": "preemptible",
        "TOPOLOGY_NAME": "WordCount",
    }


@pytest.mark.parametrize(
    ("environment", "tier", "bound"),
    [
        ("prod", None, "preferred"),
        ("test", None, "preemptible"),
        ("prod", "revocable", "revocable"),
    ],
)
def test_tier(environment: str, tier: str | None, bound: str) -> None:
    """preferred iff the environment is prod, unless the cluster's file says another."""
    key = render.JobKey("west", "www", environment, "WordCount")
    assert render.bindings(key, PLAN, render.AuroraOptions(tier=tier))["TIER"] == bound


@pytest.mark.parametrize("name", ["a b", "zoë", "a/b", "{{x}}", ""])
def test_names_that_aurora_does_not_take(name: str) -> None:
    """Told before anything is packed."""
    with pytest.raises(UsageError, match="Aurora takes no job called"):
        render.check_name(name)


def test_braces_would_be_bound() -> None:
    """{{ in a folder's name would silently become something else."""
    with pytest.raises(UsageError, match=r"the folder /a/\{\{b contains \{\{"):
        render.job_file(KEY, PLAIN, spec("/a/{{b"))
