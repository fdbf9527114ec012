"""The first commands of docs/KUBERNETES.md, given as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.kubernetes.kubernetes_support import KubernetesPlace
from tests.process.process_support import REPOSITORY

PAGE = REPOSITORY / "docs" / "KUBERNETES.md"
COMMANDS_SECS = 300.0
FOLLOWS = "kubectl logs"
"""The page's command goes on for ever; here it shows what there is."""


def commands() -> str:
    """The page's first block, as a script that ends with the first command that fails."""
    matched = re.search(r"\n\n((?:    .*\n)+)", PAGE.read_text("utf-8"))
    assert matched is not None
    lines = [line.removeprefix("    ") for line in matched[1].splitlines()]
    ending = [line.removesuffix(" -f") if line.startswith(FOLLOWS) else line for line in lines]
    return "\n".join(["set -ex", *ending])


def test_a_newcomer_s_commands_work(place: KubernetesPlace, tmp_path: Path) -> None:
    home = tmp_path / "newcomer"
    home.mkdir()
    environment = {
        "HOME": str(home),
        "KUBECONFIG": place.plane.kubeconfig,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TMPDIR": place.environment["TMPDIR"],
        "LANG": "C.UTF-8",
    }
    script = commands()
    assert script.count("heronpy") >= 8
    done = subprocess.run(
        ["bash", "-c", script], cwd=REPOSITORY, env=environment, timeout=COMMANDS_SECS,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "kind: Deployment" in done.stdout
    assert "words runs with " in done.stdout
    assert "words is killed" in done.stdout
    assert place.client.get("/api/v1/namespaces/streams/pods").get("items") == []
