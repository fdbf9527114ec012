"""What a command may ask for when it loads a file: streamparse projects, a program's arguments,
Flux files, search paths; and files that submit their topologies themselves."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from heron_api import direct_run
from heron_api.class_loading import load_class
from heron_api.submissions import capture_submissions
from heron_core.errors import TopologyError, UsageError
from heron_core.topology import GroupingKind
from heron_frontends.loading.load import LoadRequest, load, load_topology
from heron_io.imports import users_path

Write = Callable[[str, str], str]

SPOUTS = """\
from streamparse import Spout

class WordSpout(Spout):
    outputs = ["word"]
"""
WORD_COUNT = """\
from streamparse import Bolt, Grouping, Topology
from spouts.words import WordSpout

class Count(Bolt):
    pass

class {name}(Topology):
    word_spout = WordSpout.spec(par={{"beta": 1, "prod": 4}})
    count_bolt = Count.spec(inputs={{word_spout: Grouping.fields("word")}}, par=2)
"""
HERONPY = """\
import sys
from heronpy_compat import Bolt, Spout, Topology, TopologyBuilder

class Words(Spout):
    outputs = ["word"]

class Count(Bolt):
    pass

def build(name):
    builder = TopologyBuilder(name)
    words = builder.add_spout("words", Words, 1)
    builder.add_bolt("count", Count, 1, inputs=[words])
    builder.build_and_submit()
"""
CLASS = """
class Declared(Topology):
    words = Words.spec()
"""
FLUX = """\
name: from-flux
spouts:
  - id: words
    className: flux_parts.Words
    parallelism: ${spouts}
bolts:
  - id: count
    className: flux_parts.Count
streams:
  - from: words
    to: count
    grouping: {type: SHUFFLE}
"""


@pytest.fixture(autouse=True)
def our_streamparse(fresh_imports: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HERONPY_STREAMPARSE", "builtin")
    finders = list(sys.meta_path)
    yield
    sys.meta_path[:] = finders


@pytest.fixture
def project(write: Write) -> Callable[[str], str]:
    """A streamparse project with this topology; returns the path of the file."""
    write("config.json", "{}")
    write("src/spouts/__init__.py", "")
    write("src/spouts/words.py", SPOUTS)
    return lambda text: write("topologies/word_count.py", text)


# streamparse


def test_a_streamparse_topology_is_called_like_its_file(
    project: Callable[[str], str], tmp_path: Path
) -> None:
    file = project(WORD_COUNT.format(name="Counting"))
    topology = load_topology(file, environment="prod")
    assert topology.name == "word_count"
    assert topology.main_file == str(tmp_path / file)
    # The sources of a project are found by themselves; some say `import src.spouts`.
    assert topology.search_paths == (
        str(tmp_path / "topologies"),
        str(tmp_path / "src"),
        str(tmp_path),
    )
    assert [(each.class_path, each.parallelism) for each in topology.components] == [
        ("spouts.words.WordSpout", 4),
        ("word_count.Count", 2),
    ]
    (read,) = topology.by_name["count_bolt"].inputs
    assert (read.grouping.kind, read.grouping.fields) == (GroupingKind.FIELDS, ("word",))


def test_the_environment_is_asked_for_by_name(project: Callable[[str], str]) -> None:
    file = project(WORD_COUNT.format(name="Counting"))
    with pytest.raises(TopologyError, match="name the environment with -e, one of beta, prod"):
        load_topology(file)
    request = LoadRequest(file, environment="beta")
    assert load(request).by_name["word_spout"].parallelism == 1


def test_it_may_be_asked_for_by_its_class(project: Callable[[str], str]) -> None:
    file = project(WORD_COUNT.format(name="Counting"))
    assert load_topology(file, "Counting", environment="beta").name == "word_count"
    assert load_topology(file, "word_count", environment="beta").name == "word_count"
    with pytest.raises(TopologyError, match="no topology 'counting'; "):
        load_topology(file, "counting", environment="beta")


def test_of_several_the_first_is_meant(project: Callable[[str], str]) -> None:
    text = WORD_COUNT.format(name="First") + (
        "class Second(Topology):\n    words = WordSpout.spec(par=3)\n"
    )
    file = project(text)
    assert load_topology(file, environment="beta").name == "word_count"
    second = load_topology(file, "Second", environment="beta")
    assert (second.name, [each.parallelism for each in second.components]) == ("Second", [3])


def test_of_several_the_one_named_like_the_file_is_meant(project: Callable[[str], str]) -> None:
    head = WORD_COUNT.partition("class Count")[0]
    base = "class Base(Topology):\n    words = WordSpout.spec()\n"
    file = project(head + base + "class word_count(Base):\n    more = WordSpout.spec()\n")
    topology = load_topology(file)
    assert (topology.name, len(topology.components)) == ("word_count", 2)
    assert len(load_topology(file, "Base").components) == 1


def test_one_that_cannot_run_here_does_not_stop_another(project: Callable[[str], str]) -> None:
    java = (
        "from streamparse import JavaSpout\n"
        "class First(Topology):\n"
        "    java = JavaSpout.spec(serialized_java=b'x', outputs=['a'])\n"
        "class Second(Topology):\n"
        "    words = WordSpout.spec()\n"
    )
    head = WORD_COUNT.partition("class Count")[0]
    file = project(head + java)
    assert load_topology(file, "Second").name == "Second"
    with pytest.raises(TopologyError, match="'java' is a serialised Java object"):
        load_topology(file)


def test_a_mistake_is_told_with_its_line(project: Callable[[str], str]) -> None:
    head = WORD_COUNT.partition("class Count")[0]
    file = project(head + "class T(Topology):\n    words = WordSpout.spec(par=0)\n")
    with pytest.raises(TopologyError) as caught:
        load_topology(file)
    assert str(caught.value) == (
        "topologies/word_count.py:5: WordSpout: par must be a whole number of at least 1, not 0"
    )


def test_search_paths_are_kept_for_the_instances(write: Write, tmp_path: Path) -> None:
    write("lib/spouts/__init__.py", "")
    write("lib/spouts/words.py", SPOUTS)
    file = write("jobs/word_count.py", WORD_COUNT.format(name="Counting"))
    topology = load_topology(file, environment="beta", search_paths=["lib", "lib", "jobs"])
    assert topology.search_paths == (str(tmp_path / "jobs"), str(tmp_path / "lib"))
    assert users_path()[:2] == list(topology.search_paths)


# Programs


def test_a_programs_arguments(write: Write) -> None:
    text = HERONPY + 'if __name__ == "__main__":\n    build("-".join(sys.argv[1:]) or "none")\n'
    file = write("program.py", text)
    assert load_topology(file).name == "program"
    assert load_topology(file, arguments=["a", "b"]).name == "a-b"
    assert load_topology(file, arguments=[]).name == "none"
    assert load_topology(file, "a-b", arguments=["a", "b"]).name == "a-b"
    with pytest.raises(TopologyError, match="no topology 'x'; topologies: a"):
        load_topology(file, "x", arguments=["a"])


def test_what_a_program_submits_may_be_chosen_beside_its_classes(write: Write) -> None:
    text = (
        f'{HERONPY}{CLASS}\nif __name__ == "__main__":\n    Declared.write()\n    build("Built")\n'
    )
    file = write("beside.py", text)
    assert load_topology(file).name == "Declared"
    assert load_topology(file, "Built", arguments=[]).name == "Built"
    assert load_topology(file, "Declared", arguments=[]).name == "Declared"


def test_a_class_that_submits_itself_at_the_top_is_one_topology(write: Write) -> None:
    file = write("itself.py", HERONPY + CLASS + "Declared.write()\n")
    assert load_topology(file).name == "Declared"


def test_an_instance_may_import_a_file_that_submits_at_the_top(write: Write) -> None:
    # Without a main block the file submits again wherever it is imported.
    write("at_the_top.py", HERONPY + "build('Top')\n")
    sys.path.insert(0, str(Path.cwd()))
    with capture_submissions() as submitted:
        assert load_class("at_the_top.Words").__name__ == "Words"
    assert submitted == []


@pytest.mark.parametrize(
    ("file", "spec", "expected"),
    [
        ("{here}/program.py", None, "{here}/program.py"),
        ("{here}/program.py", "python -m program", None),
        ("{here}/heronpy", None, None),
        (None, None, None),
        (pytest.__file__, None, None),
    ],
)
def test_only_a_program_of_the_user_runs_itself(
    file: str | None,
    spec: str | None,
    expected: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Not a prompt, `python -m pytest`, the command itself, or an installed program.
    main = ModuleType("__main__")
    main.__spec__ = spec  # type: ignore[assignment]
    if file is not None:
        main.__file__ = file.format(here=tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", main)
    found = direct_run.program()
    assert found == (None if expected is None else expected.format(here=tmp_path))
    if found is None:
        with pytest.raises(UsageError, match="topology 'T' is complete, but this program"):
            direct_run.run("T")


def test_a_program_becomes_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[list[str]] = []

    def execute(path: str, words: list[str]) -> None:
        executed.append([path, *words])

    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "program.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(sys, "argv", ["program.py", "Name", "--flag"])
    monkeypatch.setattr("os.execv", execute)
    monkeypatch.chdir(tmp_path)
    direct_run.run("Name")
    python = sys.executable
    assert executed == [
        [
            python,
            python,
            "-P",
            "-m",
            "heron_cli",
            "run",
            "--program",
            "-n",
            "Name",
            "program.py",
            "--",
            "Name",
            "--flag",
        ]
    ]


# Flux


def test_a_flux_file(write: Write, tmp_path: Path) -> None:
    write("flux_parts.py", HERONPY)
    file = write("word_count.yaml", FLUX)
    topology = load_topology(file, properties={"spouts": "3"})
    assert (topology.name, topology.main_file) == ("from-flux", str(tmp_path / file))
    assert topology.by_name["words"].parallelism == 3
    assert topology.by_name["words"].class_path == "flux_parts.Words"
    assert topology.search_paths[0] == str(tmp_path)


def test_a_flux_file_of_a_project_finds_its_sources(write: Write, tmp_path: Path) -> None:
    write("config.json", "{}")
    write("src/flux_parts.py", HERONPY)
    file = write("topologies/word_count.yml", FLUX.replace("${spouts}", "${ENV-SPOUTS}"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPOUTS", "2")
        topology = load_topology(file, use_environment=True)
    assert topology.by_name["words"].parallelism == 2
    assert str(tmp_path / "src") in topology.search_paths
