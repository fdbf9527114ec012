"""`heronpy run FILE` finds the topology in a file, or explains a failure in one line."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heron_core.errors import ComponentError, HeronError, TopologyError, UsageError
from heron_core.topology import GroupingKind
from heron_frontends.loading.load import (
    LoadRequest,
    load,
    load_class,
    load_grouping,
    load_topology,
)
from heron_io.imports import users_path
from tests.unit.local_cluster import LocalCluster

Write = Callable[[str, str], str]

COMPONENTS = """\
import sys
from heronpy_compat import Bolt, Grouping, ICustomGrouping, Spout, Topology, TopologyBuilder

class Words(Spout):
    outputs = ["word"]

class Count(Bolt):
    pass
"""
TOPOLOGY = """
class {name}(Topology):
    words = Words.spec()
    count = Count.spec(inputs=[words])
"""
MAIN = """
def main():
    builder = TopologyBuilder(sys.argv[1])
    words = builder.add_spout("words", Words, 1)
    builder.add_bolt("count", Count, 1, inputs=[words])
    builder.build_and_submit()

if __name__ == "__main__":
    main()
"""


def class_paths(file: str, name: str | None = None) -> list[str]:
    return [each.class_path for each in load_topology(file, name).components]


def test_a_program_whose_main_nobody_calls(write: Write) -> None:
    file = write("silent.py", COMPONENTS + MAIN.partition("if __name__")[0])
    with pytest.raises(
        TopologyError, match=r"silent.py has a function main\(\) that is never called"
    ):
        load_topology(file)


# Files with a topology


def test_a_topology_class(write: Write, tmp_path: Path) -> None:
    file = write("topologies/one_class.py", COMPONENTS + TOPOLOGY.format(name="One"))
    topology = load_topology(file)
    assert topology.name == "One"
    assert topology.search_paths == (str(tmp_path / "topologies"),)
    assert topology.main_file == str(tmp_path / file)
    assert [each.class_path for each in topology.components] == [
        "one_class.Words",
        "one_class.Count",
    ]
    assert users_path()[0] == str(tmp_path / "topologies")
    assert load_class("one_class.Words").__name__ == "Words"


def test_a_file_whose_name_is_no_identifier(write: Write) -> None:
    file = write("my-topology.py", COMPONENTS + TOPOLOGY.format(name="Dashed"))
    assert class_paths(file) == ["my-topology.Words", "my-topology.Count"]
    assert load_class("my-topology.Count").__name__ == "Count"


def test_a_file_in_a_package_keeps_its_dotted_name(write: Write, tmp_path: Path) -> None:
    write("project/shop/__init__.py", "")
    write("project/shop/jobs/__init__.py", "")
    write("project/shop/parts.py", COMPONENTS)
    relative = "from ..parts import *\nfrom ..parts import Words, Count\n"
    file = write("project/shop/jobs/nightly.py", relative + TOPOLOGY.format(name="Nightly"))
    topology = load_topology(file)
    assert topology.search_paths == (str(tmp_path / "project"),)
    assert topology.components[0].class_path == "shop.parts.Words"
    assert sys.modules["shop.jobs.nightly"].Nightly.to_spec().name == "Nightly"


def test_a_builder_in_the_main_block_gets_the_name_as_argument(write: Write) -> None:
    # heronpy's examples: `heron submit ... topology.pex Class NAME` runs main with sys.argv[1].
    file = write("built.py", COMPONENTS + MAIN)
    arguments = list(sys.argv)
    assert load_topology(file).name == "built"
    assert load_topology(file, "Renamed").name == "Renamed"
    assert class_paths(file) == ["built.Words", "built.Count"]
    assert sys.argv == arguments


def test_the_main_block_does_not_repeat_the_rest_of_the_file(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write("loud.py", COMPONENTS + "print('imported')\n" + MAIN + "    print('submitted')\n")
    load_topology(file)
    assert capsys.readouterr().out == "imported\nsubmitted\n"


def test_a_main_block_may_exit_in_good_order(write: Write) -> None:
    assert load_topology(write("exits.py", COMPONENTS + MAIN + "    sys.exit(0)\n")).name == "exits"


def test_the_main_block_is_left_alone_when_there_is_a_topology_class(write: Write) -> None:
    text = COMPONENTS + TOPOLOGY.format(name="Class")
    text += 'if __name__ == "__main__":\n    raise RuntimeError("not needed")\n'
    assert load_topology(write("both.py", text)).name == "Class"


def test_classes_of_the_program_itself_become_classes_of_the_file(write: Write) -> None:
    # A spec made in the main block carries the class path that `python FILE` would give.
    text = COMPONENTS + (
        'if __name__ == "__main__":\n'
        '    builder = TopologyBuilder("Spec")\n'
        '    Words.__module__ = "__main__"\n'
        '    builder.add_spec(Words.spec(name="words"))\n'
        "    builder.build_and_submit()\n"
    )
    assert class_paths(write("as_main.py", text)) == ["as_main.Words"]


def test_a_builder_at_the_top_of_the_file(write: Write) -> None:
    text = COMPONENTS + MAIN.replace('if __name__ == "__main__":\n    main()', "main()")
    assert load_topology(write("top_level.py", text)).name == "top_level"


def test_a_topology_that_is_only_imported(write: Write) -> None:
    write("jobs.py", COMPONENTS + TOPOLOGY.format(name="Imported"))
    topology = load_topology(write("start.py", "from jobs import Imported\n"))
    assert topology.name == "Imported"
    assert topology.components[0].class_path == "jobs.Words"


def test_own_topologies_win_over_imported_ones(write: Write) -> None:
    write("base_jobs.py", COMPONENTS + TOPOLOGY.format(name="Base"))
    text = "from base_jobs import *\nclass Own(Base):\n    config = {'a': 1}\n"
    assert load_topology(write("own.py", text)).name == "Own"


def test_one_of_several_is_chosen_by_name(write: Write) -> None:
    text = COMPONENTS + "".join(TOPOLOGY.format(name=each) for each in ("A", "B", "C"))
    file = write("several.py", text)
    assert load_topology(file, "B").name == "B"
    assert load(LoadRequest(file, likely_name="C")).name == "C"  # new code of the C that runs
    with pytest.raises(TopologyError) as caught:
        load(LoadRequest(file, likely_name="D"))
    assert str(caught.value) == ("several.py has 3 topologies: choose one with -n A, B or C")
    with pytest.raises(TopologyError) as caught:
        load_topology(file, "D")
    assert str(caught.value) == "several.py has no topology 'D'; topologies: A, B, C"


def test_a_wrong_name_gets_a_suggestion(write: Write) -> None:
    file = write("single.py", COMPONENTS + TOPOLOGY.format(name="WordCount"))
    with pytest.raises(
        TopologyError, match=r"did you mean 'WordCount'\? \(topologies: WordCount\)"
    ):
        load_topology(file, "wordCount")


def test_a_custom_grouping_can_be_loaded_again(write: Write) -> None:
    text = COMPONENTS + (
        "class Mine(ICustomGrouping):\n"
        "    pass\n"
        "class Custom(Topology):\n"
        "    words = Words.spec()\n"
        "    count = Count.spec(inputs={words: Grouping.custom(Mine())})\n"
        "    paths = Count.spec(inputs={words: Grouping.custom('custom.Mine')})\n"
    )
    topology = load_topology(write("custom.py", text))
    for component in topology.components[1:]:
        grouping = component.inputs[0].grouping
        assert grouping.kind is GroupingKind.CUSTOM
        assert grouping.custom is not None
        assert type(load_grouping(grouping.custom)) is sys.modules["custom"].Mine


# Files without


def message_of(expected: type[HeronError], file: str) -> str:
    with pytest.raises(expected) as caught:
        load_topology(file)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_that_cannot_be_used(write: Write, tmp_path: Path) -> None:
    assert message_of(UsageError, "missing.py") == "missing.py does not exist"
    assert message_of(UsageError, ".") == (
        ". is a directory: name the Python file with the topology"
    )
    assert message_of(UsageError, write("notes.txt", "")) == (
        "notes.txt is not a Python file: its name must end with .py (or .yaml for a Flux file, "
        ".sql for a file of SQL, .properties for a job of Samza)"
    )
    assert message_of(UsageError, write("a.b.py", "")) == (
        "a.b.py cannot be imported: rename the file so that only .py has a dot"
    )
    assert message_of(UsageError, write("queue.py", "")) == (
        "queue.py hides Python's own module 'queue': rename the file"
    )
    assert message_of(UsageError, write("pytest.py", "")) == (
        "pytest.py has the name of a module in use, pytest: rename the file"
    )


def test_a_file_without_a_topology(write: Write) -> None:
    expected = (
        "nothing.py has no topology: define a class derived from Topology,"
        " or call TopologyBuilder.build_and_submit()"
    )
    assert message_of(TopologyError, write("nothing.py", COMPONENTS)) == expected


def test_two_topologies_of_one_name(write: Write) -> None:
    call = MAIN.replace("    main()", "    main()\n    main()")
    assert message_of(TopologyError, write("double.py", COMPONENTS + call)) == (
        "double.py has 2 topologies called 'double': rename one"
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("syntax", "x = 1\ndef f(:\n", "syntax.py:2: invalid syntax"),
        ("indent", "def f():\nx\n", "indent.py:2: expected an indented block after function"),
        ("absent", "import no_such_module\n", "absent.py:1: ModuleNotFoundError: No module named"),
        ("raises", "def f():\n    1 / 0\n\nf()\n", "raises.py:2: ZeroDivisionError: division by"),
        ("library", "import json\n\njson.loads('{')\n", "library.py:3: JSONDecodeError: Expecting"),
        ("lines", "raise ValueError('a\\n  b')\n", "lines.py:1: ValueError: a b"),
        ("silent", "raise KeyError\n", "silent.py:1: KeyError"),
        (
            "exits",
            "import sys\nsys.exit('no arguments')\n",
            "exits.py:2: the program exits with no",
        ),
        ("status", "import sys\nsys.exit(0)\n", "status.py:2: the program exits with 0"),
        ("wrong", COMPONENTS + "Words.spec(par=0)\n", "wrong.py:9: wrong.Words: par must be"),
        (
            "topology",
            COMPONENTS + "class T(Topology):\n    count = Words.spec(name='a/b')\n",
            "topology.py:9: spout 'a/b': its name must not contain '/'",
        ),
        (
            "main",
            COMPONENTS + MAIN + "    raise OSError('disk')\n",
            "main.py:18: OSError: disk",
        ),
        (
            "main_exits",
            COMPONENTS + MAIN + "    sys.exit(3)\n",
            "main_exits.py:18: the program exits with 3",
        ),
    ],
)
def test_what_goes_wrong_in_the_file_is_told_with_its_line(
    write: Write, name: str, text: str, message: str
) -> None:
    assert message_of(TopologyError, write(f"{name}.py", text)).startswith(message)


def test_the_line_is_that_of_the_users_innermost_file(write: Write) -> None:
    write("helper_module.py", "def prepare():\n    return {}['missing']\n")
    file = write("sub/uses_helper.py", "import helper_module\nhelper_module.prepare()\n")
    sys.path.insert(0, os.getcwd())
    assert message_of(TopologyError, file) == "helper_module.py:2: KeyError: 'missing'"


def test_classes_that_instances_could_not_import(write: Write) -> None:
    inside = "    class Late(Spout):\n        outputs = ['word']\n"
    build = (
        "    builder = TopologyBuilder('Late')\n"
        "    builder.add_spout('late', Late, 1)\n"
        "    builder.build_and_submit()\n"
    )
    text = COMPONENTS + 'if __name__ == "__main__":\n' + inside + build
    assert message_of(TopologyError, write("late.py", text)) == (
        "class Late of component 'late' is defined under `if __name__ == \"__main__\"`: move it"
        " above, because instances only import the file"
    )
    text = COMPONENTS + "def main():\n" + inside + build + "main()\n"
    assert message_of(TopologyError, write("local.py", text)) == (
        "class Late of component 'late' is defined inside a function: move the class to the top "
        "level of its file, from which instances import it (a notebook or a prompt sends the "
        "class by value)"
    )


# Classes in an instance


def test_classes_are_found_by_their_dotted_path(write: Write) -> None:
    write("shop_a/__init__.py", "class Top:\n    class Inner:\n        pass\n")
    write("shop_a/parts.py", "class Part:\n    pass\n")
    sys.path.insert(0, os.getcwd())
    assert load_class("shop_a.parts.Part").__name__ == "Part"
    assert load_class("shop_a.Top.Inner").__qualname__ == "Top.Inner"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("Words", "class path 'Words' must be MODULE.CLASS"),
        ("a..B", "class path 'a..B' must be MODULE.CLASS"),
        ("no_such.Words", "module no_such not found (for class Words)"),
        ("no_such.deeper.Words", "module no_such.deeper not found (for class Words)"),
        ("shop.deeper.Words", "module shop.deeper not found (for class Words)"),
        ("shop.Part", "module shop has no class 'Part'"),
        ("shop.parts.Prat", "module shop.parts has no class 'Prat'; did you mean 'Part'?"),
        ("shop.parts.Part.Inner", "class shop.parts.Part has no class 'Inner'"),
        ("shop.parts.number", "shop.parts.number is not a class, but 7"),
        ("shop.parts.f.<locals>.Part", "class shop.parts.f.<locals>.Part is defined inside"),
        (
            "shop.broken.Part",
            "module shop.broken cannot be imported: shop/broken.py:2: ZeroDivisionError: division",
        ),
        (
            "shop.needs.Part",
            "module shop.needs cannot be imported: shop/needs.py:1: ModuleNotFoundError: No module",
        ),
        ("shop.syntax.Part", "module shop.syntax cannot be imported: shop/syntax.py:1: "),
        ("shop.exits.Part", "module shop.exits cannot be imported: shop/exits.py:1: the program"),
    ],
)
def test_a_class_that_cannot_be_loaded(write: Write, path: str, message: str) -> None:
    # "not found" sends the user to the search path, "cannot be imported" into the module.
    write("shop/__init__.py", "")
    write("shop/parts.py", "number = 7\nclass Part:\n    pass\n")
    write("shop/broken.py", "\n1 / 0\n")
    write("shop/needs.py", "import absent_library\n")
    write("shop/syntax.py", "def\n")
    write("shop/exits.py", "raise SystemExit(1)\n")
    sys.path.insert(0, os.getcwd())
    with pytest.raises(ComponentError) as caught:
        load_class(path)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# In an instance

SUBMITS_WHEN_IMPORTED = """
class Mine(ICustomGrouping):
    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

class Thing:
    pass

builder = TopologyBuilder("submits")
words = builder.add_spout("words", Words, 1, config={"thing": Thing()})
builder.add_bolt("count", Count, 1, inputs={words: Grouping.custom(Mine())})
builder.build_and_submit()
"""


def test_an_instance_imports_a_file_that_submits_its_topology_at_once(write: Write) -> None:
    """The process imports the file again, for a class, a value or a grouping, without a
    submission."""
    topology = load_topology(write("submits.py", COMPONENTS + SUBMITS_WHEN_IMPORTED))
    del sys.modules["submits"]
    made = LocalCluster(topology)
    assert type(made.component("words")) is sys.modules["submits"].Words


def test_a_grouping_of_such_a_file_is_loaded_alone(write: Write) -> None:
    topology = load_topology(write("submits.py", COMPONENTS + SUBMITS_WHEN_IMPORTED))
    del sys.modules["submits"]
    custom = topology.by_name["count"].inputs[0].grouping.custom
    assert custom is not None
    assert type(load_grouping(custom)) is sys.modules["submits"].Mine
