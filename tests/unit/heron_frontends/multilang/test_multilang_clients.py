"""Programs written for Storm's storm.py, storm.js and storm.rb run without Storm's jars."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heronpy_compat.multilang_clients import variables
from tests.unit.heron_frontends.multilang.client_programs import BOLTS, SPOUTS
from tests.unit.heron_frontends.multilang.multilang_support import Shell

Make = Callable[..., Shell]


@pytest.fixture(params=list(BOLTS))
def language(request: pytest.FixtureRequest) -> str:
    """The interpreter; a machine may lack it."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


def program(folder: Path, language: str, programs: dict[str, tuple[str, str]]) -> list[str]:
    file, text = programs[language]
    (folder / file).write_text(text)
    return [language, file]


def line(text: str) -> SimpleNamespace:
    return SimpleNamespace(component="lines", stream="default", task=1, values=[text], roots=[1, 2])


def test_a_bolt(bolt: Make, language: str, tmp_path: Path) -> None:
    """Anchors, task ids, acks, fails, errors, a metric that nobody registered, and its end."""
    shell = bolt(heronpy__shell__command=program(tmp_path, language, BOLTS)).start()
    good, bad = line("storm heron"), line("boom")
    for each in (good, bad):
        shell.component.process(each)
    shell.engine.until(lambda: shell.component.is_idle() and shell.engine.failed)
    emitted = [(each.values, each.rest[1]) for each in shell.engine.emitted]
    assert emitted == [(["storm"], [good]), (["heron"], [good])]
    assert (shell.engine.acked, shell.engine.failed) == ([good], [bad])
    assert any(each.endswith("task 3") for each in shell.engine.lines)
    assert shell.context.metrics["tasks"][0].get_value_and_reset() == 4
    (error,) = shell.engine.errors
    assert "no words" in error
    shell.component.close()
    assert shell.engine.errors == [error], "the end of its stdin is no error"
    assert shell.counts.get("deaths", 0) == 0


def test_a_spout(spout: Make, language: str, tmp_path: Path) -> None:
    shell = spout(heronpy__shell__command=program(tmp_path, language, SPOUTS)).start()
    shell.component.activate()
    for _ in range(3):
        shell.component.next_tuple()
    assert [each.values for each in shell.engine.emitted] == [["a b"], ["c"]]
    assert shell.engine.finished == 1
    first, second = (each.rest[0] for each in shell.engine.emitted)
    shell.component.ack(first)
    shell.component.fail(second)
    shell.component.next_tuple()
    assert [each for each in shell.engine.lines if "ck 1" in each or "ail 0" in each] == [
        "ack 1", "fail 0",
    ]  # fmt: skip
    assert shell.engine.errors == []


def test_a_module_that_the_topology_ships_wins(bolt: Make, tmp_path: Path) -> None:
    for file, text in (("storm.py", "raise SystemExit('mine')"), ("main.py", "import storm")):
        (tmp_path / file).write_text(text)
    shell = bolt(heronpy__shell__command=["python3", "main.py"])
    with pytest.raises(Exception, match="mine"):
        shell.start()


def test_what_storm_py_says_at_a_stop_in_good_order_is_no_error(bolt: Make, tmp_path: Path) -> None:
    """Storm's own library takes the end of its stdin for an error, with a traceback."""
    (tmp_path / "main.py").write_text(
        "import sys, storm\n"
        "storm.initComponent()\n"
        "while sys.stdin.readline(): pass\n"
        "storm.reportError('Read EOF')\n"
    )
    shell = bolt(heronpy__shell__command=["python3", "main.py"]).start()
    shell.component.close()
    assert shell.engine.errors == []
    assert any("wrote at its end: Read EOF" in each for each in shell.engine.lines)


def test_the_search_paths_keep_what_is_there() -> None:
    made = variables({"PYTHONPATH": "/mine", "NODE_OPTIONS": "--no-warnings", "HOME": "/h"})
    assert made["PYTHONPATH"].startswith("/mine:")
    assert made["NODE_OPTIONS"].startswith("--no-warnings --require ")
    assert made["HOME"] == "/h"
    assert made["RUBYLIB"].endswith("/ruby")


def test_the_topologys_environment_reaches_the_child(bolt: Make, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import os, storm\n"
        "class B(storm.Bolt):\n"
        "    def initialize(self, conf, context):\n"
        "        storm.log('%s %s' % (os.environ['GREETING'], os.environ['OWN']))\n"
        "B().run()\n"
    )
    config: dict[str, Any] = {"GREETING": "hello", "OWN": 1}
    shell = bolt(
        heronpy__shell__command=["python3", "main.py"],
        topology__environment=config,
        heronpy__shell__environment={"OWN": 2},
    ).start()
    shell.engine.until(lambda: "hello 2" in shell.engine.lines)
