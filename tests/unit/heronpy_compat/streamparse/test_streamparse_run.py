"""streamparse_run: a real process that serves one component over its pipes, as Storm starts it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heronpy_compat.streamparse import run

REPOSITORY = Path(__file__).parents[4]
COMPONENT = """\
from streamparse import Bolt

class Upper(Bolt):
    outputs = ["word"]

    def process(self, tup):
        self.emit([tup.values[0].upper()])
"""


def framed(*messages: Any) -> str:
    return "".join(f"{json.dumps(each)}\nend\n" for each in messages)


@pytest.mark.parametrize("folder", ["", "resources"])
def test_a_bolt_is_served_over_pipes(tmp_path: Path, folder: str) -> None:
    # Storm 1.0.3 and later have the code in resources, older ones in the working directory.
    (tmp_path / folder / "parts").mkdir(parents=True)
    (tmp_path / folder / "parts" / "upper.py").write_text(COMPONENT)
    context = {"taskid": 3, "componentid": "upper", "task->component": {"3": "upper"}}
    handshake = {"conf": {"topology.name": "t"}, "context": context, "pidDir": str(tmp_path)}
    tup = {"id": "7", "comp": "words", "stream": "default", "task": 1, "tuple": ["storm"]}
    code = "from heronpy_compat.streamparse.run import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", code, "-s json parts.upper.Upper"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY), "HERONPY_STREAMPARSE": "builtin"},
        input=framed(handshake, tup),
        capture_output=True,
        text=True,
        check=False,
    )
    answers = [json.loads(each) for each in process.stdout.split("\nend\n") if each.strip()]
    spoken = [each for each in answers if each.get("command") in ("emit", "ack")]
    assert [each["command"] for each in spoken] == ["emit", "ack"], process.stderr
    assert spoken[0]["tuple"] == ["STORM"]
    assert spoken[0]["anchors"] == ["7"]
    assert spoken[1]["id"] == "7"
    assert "pid" in answers[0]
    assert (tmp_path / str(answers[0]["pid"])).exists()
    assert process.returncode == 2, "its input went away"


def test_wrong_words_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["-s", "xml", "a.B"])
    assert "invalid choice: 'xml'" in capsys.readouterr().err
