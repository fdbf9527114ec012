"""What porters bring: projects, YAML files, names and values, as they stand."""

import json
import math
import sys
from pathlib import Path

import pytest

from heron_core.errors import TopologyError
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_core.wire.pickled import opened
from heron_engine.scheduler.packaging.relocation import relocated
from heron_frontends.components import java
from heron_frontends.flux import load_flux
from heron_frontends.loading.load import load
from heron_frontends.loading.load_request import LoadRequest
from heron_frontends.loading.topology_files import folder_of_code, folder_of_programs
from heron_io.imports import with_folders
from heronpy_compat import aliases

pytestmark = pytest.mark.usefixtures("fresh_imports")

FLUX = """
name: words
{top}
spouts:
  - {{id: words, className: {spout}, parallelism: 1}}
bolts:
  - {{id: log, className: org.apache.storm.flux.wrappers.bolts.LogInfoBolt}}
  - {{id: behind, className: org.apache.storm.starter.bolt.PrinterBolt}}
streams:
  - {{from: {source}, to: behind, grouping: {{type: SHUFFLE}}}}
  - {{from: words, to: log, grouping: {{type: SHUFFLE}}}}
"""
RANDOM_WORDS = "org.apache.storm.testing.TestWordSpout"
STREAMPARSE = """
from streamparse import Topology
from {package} import Words, Count
class T(Topology):
    words = Words.spec()
    count = Count.spec(inputs=[words])
"""
COMPONENTS = """
from streamparse import Bolt, Spout
import socket
HOST = socket.gethostname
class Words(Spout):
    outputs = ["word"]
    def next_tuple(self):
        pass
class Count(Bolt):
    def process(self, tup):
        pass
"""


def flux(folder: Path, top: str = "", spout: str = RANDOM_WORDS, source: str = "words") -> str:
    file = folder / "words.yaml"
    file.write_text(FLUX.format(top=top, spout=spout, source=source))
    return str(file)


def project(root: Path, package: str) -> Path:
    """A streamparse project with a topology and a package in src; returns the topology's file."""
    (root / "config.json").write_text(json.dumps({"topology_specs": "topologies/"}))
    (root / "topologies").mkdir()
    (root / "src").mkdir()
    (root / "src" / f"{package}.py").write_text(COMPONENTS)
    file = root / "topologies" / f"{package}_topology.py"
    file.write_text(STREAMPARSE.format(package=package))
    return file


def test_components_of_a_streamparse_project_run_in_its_src(tmp_path: Path) -> None:
    """As in Storm: an exercise opens os.getcwd() + "/resources/…" in src."""
    file = project(tmp_path, "ported_words")
    spec = load(LoadRequest(str(file), is_to_run=True, runs_here=True))
    assert {each.folder for each in spec.components} == {str(tmp_path / "src")}
    travelled = topology_from_json(topology_to_json(spec))
    assert travelled == spec
    moved = relocated(travelled, [(str(tmp_path), "/there")])
    assert {each.folder for each in moved.components} == {"/there/src"}


def test_a_sibling_called_like_a_module_of_python_breaks_nothing(tmp_path: Path) -> None:
    file = project(tmp_path, "beside_socket")
    for folder in ("src", "topologies"):
        (tmp_path / folder / "socket.py").write_text("raise RuntimeError('not me')")
    assert load(LoadRequest(str(file), is_to_run=True, runs_here=True)).components
    assert "site-packages" not in str(sys.modules["socket"].__file__)
    assert not str(sys.modules["socket"].__file__).startswith(str(tmp_path))


def test_a_module_that_python_hides_is_named(tmp_path: Path) -> None:
    file = project(tmp_path, "hidden_words")
    (tmp_path / "src" / "statistics.py").write_text("class Average: pass")
    text = file.read_text()
    file.write_text(f"from statistics import Average\n{text}")
    with pytest.raises(TopologyError, match=r"statistics\.py has the name of a module of Python"):
        load(LoadRequest(str(file)))


def test_user_folders_stand_behind_the_library_and_before_all_else() -> None:
    path = ["", "/lib/python3", "/lib/python3/lib-dynload", "/site", "/project/src"]
    library = ["/lib/python3", "/lib/python3/lib-dynload"]
    wanted = ["/project", "/project/src"]
    assert with_folders(path, wanted, library) == [*library, *wanted, "", "/site"]


def test_programs_and_components_run_where_storm_runs_them(tmp_path: Path) -> None:
    file = tmp_path / "topologies" / "words.yaml"
    file.parent.mkdir()
    assert folder_of_code(str(file)) is None
    assert folder_of_programs(str(file)) == str(file.parent)
    (tmp_path / "resources").mkdir()
    assert folder_of_programs(str(file)) == str(tmp_path / "resources")
    (tmp_path / "src").mkdir()
    assert folder_of_code(str(file)) == str(tmp_path / "src")
    (file.parent / "resources").mkdir()
    assert folder_of_code(str(file)) == str(file.parent / "resources")


def test_python_classes_in_resources_beside_a_flux_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "resource_words.py").write_text(COMPONENTS)
    file = flux(tmp_path, spout="resource_words.Words")
    assert load_flux(file, None, {}).by_name["words"].class_path == "resource_words.Words"


@pytest.mark.parametrize("value", [math.inf, -math.inf, [1, math.nan], {"limit": math.inf}])
def test_infinity_in_a_config_arrives(value: object) -> None:
    data = topology_to_json(TopologySpec("T", (), {"limit": value}))
    json.dumps(data, allow_nan=False)
    assert repr(opened(topology_from_json(data).config)["limit"]) == repr(value)


@pytest.mark.parametrize(
    ("java_class", "ours"),
    [
        ("org.apache.storm.kafka.spout.KafkaSpout", "heronpy_compat.connectors.kafka.KafkaSpout"),
        ("storm.kafka.KafkaSpout", "heronpy_compat.connectors.kafka.KafkaSpout"),
        ("org.apache.storm.kafka.bolt.KafkaBolt", "heronpy_compat.connectors.kafka.KafkaSink"),
        ("org.apache.storm.hdfs.bolt.HdfsBolt", "heronpy_compat.connectors.files.FileSink"),
        ("org.apache.storm.jdbc.bolt.JdbcInsertBolt", "database.DatabaseSink"),
        ("org.apache.storm.bolt.JoinBolt", "window_join and interval_join"),
        ("org.apache.storm.topology.base.BaseWindowedBolt", "WindowedBolt (docs/WINDOWS.md"),
        ("org.apache.storm.streams.StreamBuilder", "streamlets (docs/GUIDE.md, Streamlets)"),
        ("storm.trident.TridentTopology", "a program of heronpy_compat.trident"),
        ("org.apache.heron.examples.eco.TestNameSpout", "heronpy_compat.components.RandomWords"),
        ("com.twitter.heron.examples.eco.TestNameCounter", "heronpy_compat.components.CountWords"),
        ("org.apache.heron.examples.eco.StatefulNumberSpout", "a Python class with state"),
        ("org.apache.heron.spouts.kafka.KafkaSpout", "heronpy_compat.connectors.kafka.KafkaSpout"),
    ],
)
def test_a_java_class_whose_work_ours_do_names_ours(
    java_class: str, ours: str, tmp_path: Path
) -> None:
    with pytest.raises(TopologyError, match="cannot run here: use") as raised:
        load_flux(flux(tmp_path, spout=java_class), None, {})
    assert ours in str(raised.value)


def test_what_a_message_names_is_there() -> None:
    from importlib import import_module

    root = Path(java.__file__).parents[2]
    for text in java.ours():
        name, _, rest = text.partition(" (docs/")
        page, _, heading = rest.removesuffix(")").partition(", ")
        assert f"\n## {heading}" in (root / "docs" / page).read_text(), text
        if name.startswith("heronpy_compat."):
            module, _, kind = name.rpartition(".")
            assert hasattr(import_module(module), kind)


def test_the_table_of_java_classes_says_what_there_is() -> None:
    text = (Path(java.__file__).parents[2] / "docs" / "PORTING.md").read_text()
    for name in java.known_classes():
        assert f"`{name}`" in text, name


def test_an_eco_file_says_which_api_it_is_in(tmp_path: Path) -> None:
    assert load_flux(flux(tmp_path, "type: heron"), None, {}).defaults == {}
    assert load_flux(flux(tmp_path, 'type: "storm"'), None, {}).defaults != {}
    with pytest.raises(TopologyError, match=r"has the type 'hero'; did you mean 'heron'\?"):
        load_flux(flux(tmp_path, "type: hero"), None, {})


def test_a_bolt_that_reads_one_of_storms_that_emits_nothing_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"Log does not emit \(as in Storm\): read its input"):
        load_flux(flux(tmp_path, source="log"), None, {})


def test_a_heronpy_of_another_distribution_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert aliases.other_heronpy() is None
    (tmp_path / "heronpy" / "api").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert aliases.other_heronpy() == str(tmp_path / "heronpy")


def test_a_picture_shows_a_component_that_is_a_serialised_java_object(tmp_path: Path) -> None:
    file = tmp_path / "drawn_java.py"
    file.write_text(
        "from streamparse import JavaSpout, Topology\n"
        "class T(Topology):\n"
        "    s = JavaSpout.spec(name='s', serialized_java=b'x', outputs=['a'])\n"
    )
    with pytest.raises(TopologyError, match="serialised Java object, which only Storm can run"):
        load(LoadRequest(str(file)))
    assert load(LoadRequest(str(file), is_to_draw=True)).by_name["s"].outputs
