"""The layers of a topology's config: command line > topology > environment > API > default."""

import re
from pathlib import Path
from typing import Any

import pytest

import heron_core
from heron_cli.configure import config_layer, configured, packing_plan, reconfigured
from heron_cli.environment import NamedEnvironment
from heron_cli.options.topology import TopologyOptions
from heron_cli.resolve_source import TopologySource
from heron_core import config as keys
from heron_core.config.effects import component_config
from heron_core.config.spelling import is_known
from heron_core.errors import TopologyError, UsageError
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    StreamSpec,
    TopologySpec,
    topology_from_json,
    topology_to_json,
)
from heron_core.validation import check
from heron_frontends.loading.load_request import LoadRequest
from heron_io import span_exporter
from heron_spark.compile.plan import one_container

COUNT = ComponentSpec("count", False, "m.Count", 1)
SPOUT = ComponentSpec("lines", True, "m.Lines", 4, (StreamSpec("default", ("line",)),))


def settled(
    options: TopologyOptions,
    *,
    own: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    api: dict[str, Any] | None = None,
    file_name: str | None = None,
) -> TopologySpec:
    """A topology called Lines with these layers, ready to run."""
    topology = TopologySpec("Lines", (SPOUT,), own or {}, defaults=api or {})
    source = TopologySource(
        LoadRequest("lines.py"),
        file_name,
        None,
        NamedEnvironment("prod", options=environment or {}),
    )
    return configured(topology, source, options)


def test_the_higher_layer_wins() -> None:
    """One key in every layer, then one fewer each time."""
    key = keys.MAX_SPOUT_PENDING
    layers = {"own": {key: 2}, "environment": {key: 3}, "api": {key: 4}}
    assert settled(TopologyOptions(options=(f"{key}=1",)), **layers).config[key] == 1  # type: ignore[arg-type]
    for name, expected in (("own", 2), ("environment", 3), ("api", 4)):
        assert settled(TopologyOptions(), **layers).config[key] == expected  # type: ignore[arg-type]
        del layers[name]


def test_storms_keys_win_over_ours_of_a_lower_layer() -> None:
    """-w 3 and -a 0 on the command line, whatever the topology says in Heron's words."""
    own = {keys.STMGRS: 1, keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
    found = keys.with_defaults(settled(TopologyOptions(containers=3, ackers=0), own=own).config)
    assert found[keys.STMGRS] == 3
    assert found[keys.STORM_WORKERS] == 3
    assert found[keys.RELIABILITY_MODE] == keys.ATMOST_ONCE
    by_option = TopologyOptions(options=("topology.workers=2", "topology.acker.executors=1"))
    found = keys.with_defaults(settled(by_option, own={keys.STMGRS: 1}).config)
    assert found[keys.STMGRS] == 2
    assert found[keys.RELIABILITY_MODE] == keys.ATLEAST_ONCE


def test_a_topology_without_ackers_is_at_most_once_in_spite_of_its_door() -> None:
    """Storm-like doors take at least once for granted; `topology.acker.executors: 0` says no."""
    api = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
    found = settled(TopologyOptions(), own={keys.STORM_ACKERS: 0}, api=api).config
    assert keys.with_defaults(found)[keys.RELIABILITY_MODE] == keys.ATMOST_ONCE
    found = settled(TopologyOptions(), environment={"topology.debug": True}, api=api).config
    assert keys.with_defaults(found)[keys.RELIABILITY_MODE] == keys.ATLEAST_ONCE


def test_a_layer_says_nothing_that_it_does_not_say() -> None:
    """Only synonyms of present keys are added."""
    assert config_layer({"mine": 1}) == {"mine": 1}
    assert config_layer({keys.STORM_WORKERS: 2, keys.STMGRS: 3}) == {
        keys.STORM_WORKERS: 2,
        keys.STMGRS: 3,
    }
    assert config_layer({keys.STORM_ACKERS: None}) == {keys.STORM_ACKERS: None}


def test_debug_raises_the_level_of_streamparses_logs() -> None:
    """As in sparse: topology.debug comes before log.level."""
    environment = {"pystorm.log.level": "warning"}
    assert (
        settled(TopologyOptions(), environment=environment).config["pystorm.log.level"] == "warning"
    )
    found = settled(TopologyOptions(debug="true"), environment=environment).config
    assert found["pystorm.log.level"] == "debug"
    assert keys.flag(found, keys.DEBUG) is True
    with pytest.raises(TopologyError, match=r"topology\.debug must be true or false"):
        settled(TopologyOptions(debug="perhaps"))


def test_names() -> None:
    """The topology's own, the file's in a project, or -N; then the original name is kept for the
    instances."""
    assert settled(TopologyOptions()).name == "Lines"
    assert settled(TopologyOptions(), file_name="lines").name == "lines"
    found = settled(TopologyOptions(override_name="other"), file_name="lines")
    assert found.name == "other"
    assert found.config["topology.original_name"] == "lines"
    assert "topology.original_name" not in settled(TopologyOptions()).config
    with pytest.raises(TopologyError, match="topology name '' must be a word"):
        settled(TopologyOptions(override_name=""))


@pytest.mark.parametrize("word", ["topology.debug", "=1", " =1"])
def test_an_option_without_key_or_value_is_refused(word: str) -> None:
    """The word is named, with a right example."""
    with pytest.raises(UsageError, match="is not KEY=VALUE, as in -o topology"):
        settled(TopologyOptions(options=(word,)))


def test_what_a_hook_changes_is_the_highest_layer() -> None:
    before = settled(TopologyOptions(containers=1, options=("a=1", "b=2")))
    options = {**before.config, keys.STORM_WORKERS: 4, "c": 3}
    del options["a"]
    after = reconfigured(before, options)
    assert keys.with_defaults(after.config)[keys.STMGRS] == 4
    assert {key: after.config.get(key) for key in "abc"} == {"a": None, "b": 2, "c": 3}
    hooked = reconfigured(before, {**before.config, keys.STORM_TASKS: 3})
    assert hooked.components[0].parallelism == 3
    with pytest.raises(TopologyError, match="must be a whole number"):
        reconfigured(before, {**before.config, keys.MAX_SPOUT_PENDING: "many"})


def test_a_misspelt_key_is_refused_wherever_it_is_given() -> None:
    """Of the engine's keys only: a typo in the reliability mode must not mean at most once."""
    wrong = r"unknown key 'topology\.max\.spout\.pendign'; did you mean 'topology\.max\.s"
    typo = {"topology.max.spout.pendign": 3}
    with pytest.raises(TopologyError, match=wrong):
        settled(TopologyOptions(options=("topology.max.spout.pendign=3",)))
    with pytest.raises(TopologyError, match=wrong):
        settled(TopologyOptions(), own=typo)
    with pytest.raises(TopologyError, match=wrong):
        settled(TopologyOptions(), environment=typo)
    with pytest.raises(TopologyError, match=r"did you mean 'topology\.reliability\.mode'"):
        settled(TopologyOptions(), own={"topology.reliabilty.mode": "ATLEAST_ONCE"})
    component = replace(SPOUT, config={"topology.tick.tuple.freq.sec": 1})
    with pytest.raises(TopologyError, match=r"config of spout 'lines': unknown key"):
        check(TopologySpec("T", (component,)))


GIVEN = ("wat=3", "workers=2", "spout=2", "pystorm.x=1", "drpc.servers=a", "drpc.severs=a")


def test_keys_that_nobody_here_reads_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    own = {
        "topology.worker.childopts": "-Xmx1g", "topology.bolts.message.id.field.name": 3,
        "topology.ras.constraints": [], "topology.mine": 1, "mine": 2, "table.path": 3,
        keys.METRICS_INTERVAL_MS: 10,
    }  # fmt: skip
    settled(TopologyOptions(options=GIVEN), own=own)
    assert capsys.readouterr().err.splitlines() == [
        (
            "note: these keys of Storm or Heron have no effect: topology.worker.childopts, "
            "topology.bolts.message.id.field.name, topology.ras.constraints"
        ),
        "note: unknown keys, which only components can read: topology.mine",
        "note: the engine does not know wat: only your components can read the key",
        (
            "note: the engine does not know workers: only your components can read the key; did "
            "you mean topology.workers?"
        ),
        "note: the engine does not know spout: only your components can read the key",
        (
            "note: the engine does not know drpc.severs: only your components can read the key; "
            "did you mean drpc.servers?"
        ),
    ]
    settled(TopologyOptions(), own={"mine": 2, "topology.workers": 1})
    assert capsys.readouterr().err == ""


def test_what_checkpoints_cannot_do_is_refused_natively_after_the_options() -> None:
    """`--engine spark` runs it; another mode in -o runs it natively, too."""
    own = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE, keys.BACKPRESSURE_MODE: keys.DROP}
    with pytest.raises(TopologyError, match="is drop, which loses tuples: choose one of them"):
        packing_plan(settled(TopologyOptions(), own=own))
    by_option = TopologyOptions(options=("topology.reliability.mode=ATLEAST_ONCE",))
    assert len(packing_plan(settled(by_option, own=own)).instances) == 4
    assert one_container(settled(TopologyOptions(), own=own)).instances


def test_every_key_that_the_code_names_is_known() -> None:
    """A key read by the code but missing in the table would be refused or announced."""
    root = Path(heron_core.__file__).parents[1]
    packages = ("heron_*", "heronpy_compat", "scheduler", "stream_manager", "topology_master")
    texts = (
        file.read_text()
        for package in packages
        for file in root.glob(f"{package}/**/*.py")
        if file.name != "spelling.py"
    )
    named = {key for text in texts for key in re.findall(r'"((?:topology|heron)\.[a-z._]+)"', text)}
    files = {"topology.py", "topology.json", "heron.json"}
    assert sorted(key for key in named - files if not is_known(key)) == []


def test_traces_need_their_package_and_roots(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The missing package is refused before any start, missing roots are a note."""
    settled(TopologyOptions(), own={keys.TRACE_SAMPLE: 100})
    assert (
        "topology.trace.sample has no effect in ATMOST_ONCE, only in ATLEAST_ONCE"
        in capsys.readouterr().err
    )
    own = {keys.TRACE_SAMPLE: 100, keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
    settled(TopologyOptions(), own=own)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(span_exporter, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'heronpy-topologies\[otel\]'"):
        settled(TopologyOptions(), own=own)
    settled(TopologyOptions(), own={keys.TRACE_SAMPLE: 0})
    with pytest.raises(TopologyError, match="must be a URL as http"):
        settled(TopologyOptions(), own={keys.TRACE_ENDPOINT: "localhost:4318"})


def test_an_option_beats_a_components_own_config_and_a_note_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A test that redirects a sink by -o must not write into the real folder."""
    own = {"table.path": "/real", keys.TICK_TUPLE_FREQ_SECS: 10}
    topology = TopologySpec("Lines", (SPOUT, replace(COUNT, config=own)))
    source = TopologySource(LoadRequest("lines.py"), None, None, NamedEnvironment())
    words = ("table.path=/tmp/test", "topology.tick.tuple.freq.ms=100")
    found = configured(topology, source, TopologyOptions(options=words))
    merged = component_config(found.config, found.by_name["count"].config)
    assert merged["table.path"] == "/tmp/test"
    assert keys.tick_interval_secs(merged) == 0.1
    assert capsys.readouterr().err.splitlines() == [
        "note: table.path of the command line replaces that of count"
    ]
    travelled = topology_from_json(topology_to_json(found))
    assert travelled.overrides == ("table.path", keys.TICK_TUPLE_FREQ_MS)


def test_a_note_says_whose_number_of_instances_is_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = {keys.STORM_TASKS_MAX: 2}
    assert settled(TopologyOptions(), own=own).by_name["lines"].parallelism == 2
    by_max = "note: spout 'lines' has 2 instances, not 4, by topology.max.task.parallelism\n"
    assert capsys.readouterr().err == by_max
    assert settled(TopologyOptions(options=("topology.tasks=7",))).components[0].parallelism == 7
    assert "has 7 instances, not 4, by topology.tasks" in capsys.readouterr().err
    with pytest.raises(TopologyError, match=r"exceed topology\.instances\.max"):
        settled(TopologyOptions(options=("topology.tasks=100000",)))
