"""One service and one Prometheus for all topologies of the drill."""

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.drill.drilled_topology import Observers
from tests.process.process_support import Place, until
from tests.prometheus.needs import missing


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Where the topologies run; what is left of them is killed at the end."""
    made = Place(tmp_path_factory.mktemp("drill"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def observers(runs: Place) -> Iterator[Observers]:
    """`heronpy ui`, and Prometheus where the machine has it."""
    ui = runs.start("ui", "--port", 0)
    served = ui.until(lambda: re.search(r"serving at (\S+)", ui.out), "it serves")[1]
    with httpx.Client(base_url=served, timeout=20.0) as service:
        if missing():
            yield Observers(service, None)
            return
        yield from _with_prometheus(runs, service, served.removeprefix("http://"))


def _with_prometheus(runs: Place, service: httpx.Client, scraped: str) -> Iterator[Observers]:
    folder = runs.path
    rules = yaml.safe_load(runs.heronpy("ui", "--alert-rules").succeeded().out)
    for rule in rules["groups"][0]["rules"]:
        rule.pop("for", None)  # it is added to the limit; nothing is learnt by waiting for it
    (folder / "rules.yml").write_text(yaml.safe_dump(rules), "utf-8")
    config = {
        "global": {"evaluation_interval": "1s", "scrape_interval": "1s"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [{"job_name": "heronpy", "static_configs": [{"targets": [scraped]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config), "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = _started(folder, port)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20.0) as client:
            made = Observers(service, client)
            until(made.is_scraping, "Prometheus scrapes")
            yield made
    finally:
        process.terminate()
        process.wait(40.0)


def _started(folder: Path, port: int) -> subprocess.Popen[bytes]:
    words = (
        f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
    )  # fmt: skip
    with (folder / "prometheus.log").open("w") as log:
        return subprocess.Popen((str(shutil.which("prometheus")), *words), stdout=log, stderr=log)
