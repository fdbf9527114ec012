"""Every block of docs/TESTING.md is part of a test file that passes."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "TESTING.md"
MODULE = "test_words_of_the_guide"


def test_the_guides_tests_pass(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (tmp_path / f"{MODULE}.py").write_text("\n\n".join(blocks))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    module = import_module(MODULE)
    tests = {name: each for name, each in vars(module).items() if name.startswith("test_")}
    for test in tests.values():
        seeds = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        for arguments in seeds[0].args[1] if seeds else [None]:
            test() if arguments is None else test(arguments)
    assert len(tests) == len(re.findall(r"^def test_", "\n".join(blocks), re.MULTILINE)) == 13


def test_it_names_everything_that_a_tester_can_do():
    from heronpy_compat.testing import TopologyTester

    text = GUIDE.read_text()
    missing = [name for name in vars(TopologyTester) if name[0] != "_" and name not in text]
    assert missing == []
    with pytest.raises(AttributeError, match="no attribute 'Testers'"):
        getattr(import_module("heronpy_compat.testing"), "Testers")  # noqa: B009
