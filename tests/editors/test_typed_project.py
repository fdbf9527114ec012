"""A user's project under two type checkers and a language server, as an editor shows it.

`project/topology.py` must be accepted line by line, in `project/mistakes.py` each line marked
`# wrong` must be reported, and no other. `project/rows.py` is what `heronpy types` writes.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heron_api.row_classes import row_module
from heron_frontends.loading.load import load
from heron_frontends.loading.load_request import LoadRequest
from tests.editors.language_server import language_server
from tests.sources import ROOT

PROJECT = Path(__file__).with_name("project")
BIN = Path(sys.executable).parent
MARK = "# wrong"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project beside settings as a user has them, where both checkers find heronpy."""
    place = tmp_path_factory.mktemp("project")
    for path in PROJECT.glob("*.py"):
        (place / path.name).write_text(path.read_text("utf-8"), "utf-8")
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    settings |= {"venvPath": str(BIN.parent.parent), "venv": BIN.parent.name}
    (place / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    return place


def marked() -> set[int]:
    """Numbers of the lines with a mistake."""
    lines = (PROJECT / "mistakes.py").read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(MARK)}


def reported(folder: Path, *command: str, pattern: str) -> dict[str, set[int]]:
    """File -> lines that a checker reports."""
    paths = os.pathsep.join([str(ROOT), str(folder)])
    result = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=folder,
        env=os.environ | {"MYPYPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1, result.stdout + result.stderr
    found: dict[str, set[int]] = {}
    for path, line in re.findall(pattern, result.stdout, re.MULTILINE):
        found.setdefault(Path(path).name, set()).add(int(line))
    return found


def test_mypy_accepts_the_project_and_reports_each_mistake(folder: Path) -> None:
    options = ["--strict", "--explicit-package-bases", "--follow-imports=silent"]
    cache = ROOT / ".mypy_cache" / "project"
    files = ["topology.py", "mistakes.py", "rows.py"]
    found = reported(
        folder, "mypy", *options, f"--cache-dir={cache}", *files, pattern=r"^(.+?):(\d+): error"
    )
    assert found == {"mistakes.py": marked()}


def test_pyright_accepts_the_project_and_reports_each_mistake(folder: Path) -> None:
    pytest.importorskip("basedpyright")
    found = reported(folder, "basedpyright", pattern=r"^ *(.+?):(\d+):\d+ - (?:error|warning)")
    assert found == {"mistakes.py": marked()}


BOLT = """
from typing import TYPE_CHECKING
from heronpy_compat import Bolt
from heronpy_compat.api.state.keyed_state import value_state
if TYPE_CHECKING:
    from rows import Clicks

class Total(Bolt["Clicks"]):
    total = value_state(default=0)

    def process(self, tup):
        """


def test_an_editor_completes_fields_states_and_specs(folder: Path) -> None:
    """Without annotations: the row is that of the base class."""
    pytest.importorskip("basedpyright")
    with language_server(folder) as server:
        assert {'"page"', '"time_ms"'} <= server.completions(BOLT + 'tup["|"]')
        assert {"page", "time_ms", "values", "stream"} <= server.completions(BOLT + "tup.|")
        assert {"lower", "split"} <= server.completions(BOLT + 'tup["page"].|')
        assert {"get", "put", "clear"} <= server.completions(BOLT + "self.total.|")
        assert "bit_length" in server.completions(BOLT + "self.total.get().|")
        assert {"inputs=", "par="} <= server.completions(BOLT + "pass\n\nTotal.spec(|)")


def test_the_rows_are_those_of_the_topology() -> None:
    """By `heronpy types`: a change of outputs or of the command shows here."""
    try:
        spec = load(LoadRequest(str(PROJECT / "topology.py"), name="Site"))
    finally:  # further tests load files of the same names
        for name in (each.stem for each in PROJECT.glob("*.py")):
            sys.modules.pop(name, None)
    assert (PROJECT / "rows.py").read_text("utf-8") == row_module(spec)
