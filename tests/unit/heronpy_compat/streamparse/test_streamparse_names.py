"""Every name that users import from streamparse is there, and importing it costs little."""

import subprocess
import sys
from importlib import import_module

import pytest

from heron_core.errors import UsageError
from heronpy_compat import streamparse
from heronpy_compat.streamparse import bolt, component, spout, storm, thrift, util

PUBLIC = (
    "BatchingBolt Bolt Grouping JavaBolt JavaSpout ReliableSpout ShellBolt ShellSpout Spout"
    " StormHandler Stream TicklessBatchingBolt Topology Tuple bolt cli component dsl spout storm"
    " __version__ VERSION"
)
STRUCTS = (
    "GlobalStreamId StormTopology Bolt SpoutSpec ComponentCommon ComponentObject ShellComponent"
    " JavaObject JavaObjectArg NullStruct StreamInfo KillOptions SubmitOptions"
    " TopologyInitialStatus TopologySummary Nimbus storm_thrift"
)
UTILITIES = (
    "get_config get_env_config get_topology_definition get_topology_from_file get_nimbus_client"
    " get_ui_json get_ui_jsons ssh_tunnel activate_env print_stats_table get_nimbus_host_port"
    " get_nimbus_config get_storm_workers is_ssh_for_nimbus local_storm_version"
    " nimbus_storm_version storm_lib_version prepare_topology get_logfiles_cmd"
    " set_topology_serializer run_cmd die warn"
)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("", PUBLIC),
        ("bolt", "BatchingBolt Bolt JavaBolt ShellBolt TicklessBatchingBolt"),
        ("spout", "JavaSpout ReliableSpout ShellSpout Spout"),
        ("component", "Component StormHandler"),
        (
            "storm",
            (
                "BatchingBolt Bolt Component JavaBolt JavaSpout ReliableSpout ShellBolt ShellSpout"
                " Spout StormHandler TicklessBatchingBolt Tuple bolt component spout"
            ),
        ),
        ("storm.bolt", "BatchingBolt Bolt JavaBolt ShellBolt TicklessBatchingBolt"),
        ("storm.spout", "JavaSpout ReliableSpout ShellSpout Spout"),
        ("storm.component", "Component StormHandler"),
        ("dsl", "Grouping Stream Topology"),
        ("dsl.topology", "Topology TopologyType"),
        ("dsl.stream", "Grouping Stream"),
        ("dsl.component", "ComponentSpec JavaComponentSpec ShellComponentSpec"),
        ("dsl.bolt", "JavaBoltSpec ShellBoltSpec"),
        ("dsl.spout", "JavaSpoutSpec ShellSpoutSpec"),
        ("dsl.util", "to_java_arg to_python_arg to_python_arg_list"),
        ("thrift", STRUCTS),
        ("util", UTILITIES),
        ("run", "main RESOURCES_PATH"),
        ("version", "VERSION __version__"),
    ],
)
def test_a_name_is_where_users_import_it_from(module: str, names: str) -> None:
    found = import_module(".".join(filter(None, [streamparse.__name__, module])))
    assert [name for name in names.split() if not hasattr(found, name)] == []


def test_the_classes_are_related_as_in_the_original() -> None:
    assert issubclass(storm.Bolt, storm.ShellBolt)
    assert issubclass(storm.Spout, storm.ShellSpout)
    assert issubclass(storm.TicklessBatchingBolt, storm.BatchingBolt)
    assert issubclass(storm.BatchingBolt, storm.Bolt)
    assert issubclass(storm.ReliableSpout, storm.Spout)
    assert issubclass(storm.JavaBolt, storm.Component)
    pystorm = import_module("heronpy_compat.pystorm")
    for kind in ("Bolt", "Spout", "BatchingBolt", "TicklessBatchingBolt", "ReliableSpout"):
        assert issubclass(getattr(storm, kind), getattr(pystorm, kind))
    assert bolt.Bolt is storm.Bolt is streamparse.Bolt
    assert spout.Spout is storm.Spout
    assert component.Component is storm.Component
    assert (storm.Bolt.outputs, storm.Bolt.par, storm.Bolt.config) == (None, 1, None)


def test_it_answers_as_the_newest_release() -> None:
    assert streamparse.__version__ == "5.0.1"
    assert streamparse.VERSION == (5, 0, 1)


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (streamparse, util):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            _ = module.nonsense
    assert set(PUBLIC.split()) <= set(dir(streamparse))


def test_importing_it_imports_nothing_that_is_not_asked_for() -> None:
    # Each instance pays for what its components import.
    program = (
        "import sys\n"
        "import heronpy_compat.streamparse\n"
        "parts = [name for name in sys.modules if name.startswith('heronpy_compat.str')]\n"
        "print(sorted(parts))\n"
        "from heronpy_compat.streamparse import Bolt, Grouping, Spout, Topology\n"
        "heavy = {'thriftpy2', 'simplejson', 'requests', 'fabric', 'pkg_resources', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == [
        "['heronpy_compat.streamparse', 'heronpy_compat.streamparse.version']",
        "[]",
    ]


@pytest.mark.parametrize("name", sorted(util._INSTEAD))
def test_what_needs_ssh_or_nimbus_says_what_to_use_instead(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(util, name)("anything", some="thing")
    assert str(caught.value).startswith(f"streamparse.util.{name}: ")
    assert "\n" not in str(caught.value)


def test_there_is_no_nimbus() -> None:
    with pytest.raises(UsageError, match="heronpy has no Nimbus: use `heronpy submit`"):
        thrift.Nimbus()
