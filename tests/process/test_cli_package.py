"""`heronpy package`: an archive that runs where neither the project nor its packages are."""

import json
import shutil
import zipfile
from pathlib import Path

from tests.process.process_support import Place

TOPOLOGY = """
from greeting import greet
from heronpy_compat import Bolt, Spout, Topology

class Names(Spout):
    outputs = ["name"]
    def next_tuple(self):
        self.emit(["storm"])
        self.finish()

class Say(Bolt):
    def process(self, tup):
        print(greet(tup.values[0]))
        self.ack(tup)

class Greetings(Topology):
    names = Names.spec()
    say = Say.spec(inputs=[names])
"""
METADATA = "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(folder: Path) -> None:
    """A package of one module, as pip takes it."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "greeting-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("greeting.py", "def greet(name):\n    return f'hello {name}'\n")
        wheel.writestr("greeting-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("greeting-1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr("greeting-1.0.dist-info/RECORD", "")


def test_an_archive_runs_without_its_project(place: Place) -> None:
    """Packed with a package that this Python does not have, the project then removed; twice the
    same bytes, and run from its unpacked copy."""
    project = place.path / "demo"
    (project / "topologies").mkdir(parents=True)
    (project / "config.json").write_text(json.dumps({"envs": {}, "topology_specs": "topologies"}))
    (project / "topologies" / "greetings.py").write_text(TOPOLOGY)
    write_wheel(project / "wheelhouse")
    (project / "requirements.txt").write_text(
        "--no-index\n--find-links wheelhouse\ngreeting==1.0\nstreamparse\n"
    )
    config = ("--config", project / "config.json")
    packed = place.heronpy("package", *config, "-o", "a.tar.gz").succeeded()
    assert packed.out == "a.tar.gz: 4 files, 1 packages; topologies: greetings\n"
    assert place.heronpy("jar", "-s", *config, "-o", "b.tar.gz").succeeded().code == 0
    archive = place.path / "a.tar.gz"
    assert archive.read_bytes() == (place.path / "b.tar.gz").read_bytes()
    shutil.rmtree(project)
    for _ in range(2):
        finished = place.heronpy("run", archive.name).succeeded()
        assert finished.out == "say[0] | hello storm\n"
        assert "greetings ended" in finished.err
    refused = place.heronpy("run", archive.name, "-e", "prod")
    assert refused.code == 2
    assert "no environment 'prod'" in refused.errors[0]
    archive.write_bytes(b"no archive")
    assert (
        "a.tar.gz is not an archive of `heronpy package`"
        in place.heronpy("submit", archive.name).err
    )


def test_packages_that_cannot_be_had(place: Place) -> None:
    """A typing error in requirements.txt: one line of pip, and no archive."""
    (place.path / "config.json").write_text(json.dumps({"envs": {}}))
    (place.path / "topologies").mkdir()
    (place.path / "topologies" / "x.py").write_text("")
    (place.path / "requirements.txt").write_text("--no-index\ngreting\n")
    finished = place.heronpy("package", "-o", "x.tar.gz")
    assert finished.code == 1
    (line,) = finished.errors
    assert "greting" in line
    assert "--no-requirements" in line
    assert not (place.path / "x.tar.gz").exists()
    packed = place.heronpy("package", "-o", "x.tar.gz", "--no-requirements").succeeded()
    assert "topologies: x" in packed.out
