"""Requirements of the tests with Kubernetes: servers, compiled once, and Debian's etcd.

`python -m tests.kubernetes.needs` names the missing parts in one line, and then ends with
EXIT_NOT_HERE; with `--build` the command first compiles the servers, helm and kwok (half an hour on
two cores, once), into a folder outside of the repository.
"""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

EXIT_NOT_HERE = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run goes on without these tests."""
VERSION = "v1.36.3"
SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
TOOLS = Path(__file__).parent / "tools"
"""A module of Go with the version of Kubernetes, and of each Kubernetes module."""
CACHE = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "heronpy-tests"
FOLDER = CACHE / f"kubernetes-{VERSION}"
HELM_VERSION = "v3.22.0"
HELM = CACHE / f"helm-{HELM_VERSION}" / "helm"
KWOK_VERSION = "v0.8.0"
KWOK = CACHE / f"kwok-{KWOK_VERSION}" / "kwok"
"""Nodes and pods that only look alive: https://kwok.sigs.k8s.io."""
PROGRAMS = {
    "etcd": "etcd-server",
    "unshare": "util-linux",
    "openssl": "openssl",
    "kubectl": "kubernetes-client",
}
"""Program -> its package in Debian."""
GO_FOLDER = "/usr/local/go/bin"


def missing() -> str | None:
    """The missing parts, in one line; None if complete."""
    if os.geteuid() != 0:
        return "pods are namespaces, which only root makes"
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"{program} is not here (apt-get install {package})"
    absent = [name for name in SERVERS if not (FOLDER / name).exists()]
    if absent:
        return f"{FOLDER} has no {absent[0]} (python -m tests.kubernetes.needs --build)"
    return None


def helm() -> str | None:
    """The program; None if neither installed nor compiled."""
    return str(HELM) if HELM.exists() else shutil.which("helm")


def build_programs() -> None:
    """Compile helm and kwok by the versions of their modules, in some minutes."""
    for module, program in (
        (f"helm.sh/helm/v3/cmd/helm@{HELM_VERSION}", HELM),
        (f"sigs.k8s.io/kwok/cmd/kwok@{KWOK_VERSION}", KWOK),
    ):
        own = {"PATH": _path(), "CGO_ENABLED": "0", "GOBIN": str(program.parent)}
        words = ["nice", "-n", "15", "go", "install", "-ldflags", "-s -w", module]
        subprocess.run(words, env={**os.environ, **own}, check=True)


def _path() -> str:
    return os.pathsep.join([GO_FOLDER, os.environ["PATH"]])


def build() -> None:
    """Compile the servers; a failed build is removed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = _path()
    package = "k8s.io/component-base/version"
    major, minor, _ = VERSION.removeprefix("v").split(".")
    numbers = {"gitVersion": VERSION, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s -w", *(f"-X {package}.{key}={word}" for key, word in numbers.items())])
    for name in SERVERS:
        partial = FOLDER / f"{name}.part"
        subprocess.run(
            [
                "nice",
                "-n",
                "15",
                "go",
                "build",
                "-ldflags",
                flags,
                "-o",
                partial,
                f"k8s.io/kubernetes/cmd/{name}",
            ],
            cwd=TOOLS,
            env={**os.environ, "PATH": path, "CGO_ENABLED": "0"},
            check=True,
        )
        partial.rename(FOLDER / name)


if __name__ == "__main__":
    if "--build" in sys.argv[1:]:
        build()
        build_programs()
    if (why := missing()) is not None:
        print(why)
        sys.exit(EXIT_NOT_HERE)
