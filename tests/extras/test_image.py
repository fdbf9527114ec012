"""The image of the Containerfile, built as docs/KUBERNETES.md does, runs a topology as its user."""

import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.version import VERSION
from tests.extras.image import BASE, ISOLATION, REPOSITORY, base_problem, buildah, missing

SIZE_BYTES_MAX = 400_000_000
"""294 MB on 2026-11-28, of which 245 MB are Debian's Python; other releases differ by some."""
USER = "10001"
PIP_FILE = "[global]\nno-index = true\nfind-links = /wheels\n"


def pip(*words: object) -> None:
    command = [sys.executable, "-m", "pip", *map(str, words), "--quiet"]
    subprocess.run(command, cwd=REPOSITORY, check=True)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the built image; packages come from wheels of this machine's pip."""
    if (why := missing() or base_problem()) is not None:
        pytest.skip(why)
    folder, word = tmp_path_factory.mktemp("image"), secrets.token_hex(4)
    context, wheels = folder / "context", folder / "wheels"
    pip("wheel", "--no-deps", "-w", context / "dist", ".")
    shutil.copy(REPOSITORY / "Containerfile", context)
    (wheel,) = (context / "dist").iterdir()
    pip("download", "--only-binary", ":all:", "-d", wheels, f"{wheel}[stores]")
    (folder / "pip.conf").write_text(PIP_FILE)
    base, built = f"localhost/heronpy-base-{word}", f"localhost/heronpy-{word}"
    try:
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, BASE, "/")
        buildah("config", "--env", "PIP_BREAK_SYSTEM_PACKAGES=1", container)
        buildah("commit", "--quiet", "--rm", container, base)
        buildah(
            "build", "--quiet", *ISOLATION, "--build-arg", f"BASE={base}", "-t", built,
            "-v", f"{wheels}:/wheels:ro", "-v", f"{folder / 'pip.conf'}:/etc/pip.conf:ro", context,
        )  # fmt: skip
        yield built
    finally:
        subprocess.run(["buildah", "rmi", "--force", built, base], capture_output=True, check=False)


@pytest.fixture
def container(image: str) -> Iterator[str]:
    container = buildah("from", image)
    yield container
    buildah("rm", container)


def test_the_image_runs_a_topology(image: str, container: str) -> None:
    """As the user of the image, who is not root, with the version of this repository."""
    examples = f"{Path(REPOSITORY, 'examples')}:/examples:ro"
    run = ("run", *ISOLATION, "-v", examples, container, "--")
    assert buildah(*run, "heronpy", "--version").startswith(f"heronpy {VERSION} ")
    command = "id -u; heronpy run /examples/word_count.py -o word_count.lines.max=2000"
    shown = buildah(*run, "sh", "-c", f"export HOME=/heron; {command}").splitlines()
    assert shown[0] == USER
    assert "top[0] | word                      count" in shown, shown[-5:]
    (found,) = json.loads(buildah("images", "--json", image))
    inspected = json.loads(buildah("inspect", "--type", "image", image))
    assert inspected["OCIv1"]["config"]["User"] == USER
    print(f"{image}: {found['size']}")
    amount, unit = found["size"].split()
    assert unit == "MB", found
    assert float(amount) * 1e6 < SIZE_BYTES_MAX
