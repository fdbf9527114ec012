"""What a container needs on a machine where nothing of ours is installed, as archives.

The runtime: our packages and the installed distributions that they need, compiled ones included, so
the other machine needs the same version of Python for the same system, and nothing else. The
user's code: every folder of the topology's search paths. Both are archives of packaging.archive,
unpacked once a machine into folders named after their contents. Their names do not end in .tar.gz,
because Spark would unpack them as well.
"""

import compileall
import hashlib
import importlib.metadata
import os
import py_compile
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import heron_core
from heron_core.errors import HeronError
from heron_engine.scheduler.packaging.archive import (
    Entry,
    Manifest,
    this_python,
    unpacked,
    write_archive,
)

OURS = (
    "heron_core", "heron_io", "heron_api", "heron_connectors", "heron_frontends", "heronpy_compat",
    "heron_instance", "heron_engine",
)  # fmt: skip
DISTRIBUTIONS = ("cloudpickle", "kazoo", "msgpack", "msgspec", "PyYAML", "pyzmq", "setproctitle")
"""What a container's processes import; the command line's own needs stay at home."""
COMPILED = ("cloudpickle", "kazoo", "zmq")
"""Package folders whose Python files are compiled before the transfer."""
LAYOUT = 2
"""Format of a runtime; a runtime of another format is packed again."""
SKIPPED_ENDINGS = (".pyc", ".pyi", ".pyx", ".pxd", ".pxi", ".h", ".c", ".cpp", ".in", ".typed")
SKIPPED_FOLDERS = frozenset({"__pycache__", "tests"})
RUNTIME = "heronpy-runtime"
RUNTIME_LEVEL = 1
"""Of compression: an engine's runtime has 120 MB of compiled code, and more effort takes twice as
long for a tenth less."""


@dataclass(frozen=True, slots=True)
class RuntimeSpec:
    """Content of a runtime."""

    name: str
    packages: tuple[str, ...]
    """Ours."""
    distributions: tuple[str, ...]
    without: tuple[str, ...] = ()
    """Words in names of unneeded files."""


CONTAINER_RUNTIME = RuntimeSpec(RUNTIME, OURS, DISTRIBUTIONS)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Archives on the machine of the scheduler."""

    runtime: str
    code: tuple[tuple[str, str], ...]
    """(local folder, its archive)"""
    python: str
    """Which Python the runtime's compiled parts are for."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A bundle, unpacked on a machine of a container."""

    runtime: str
    """For PYTHONPATH."""
    relocated: tuple[tuple[str, str], ...]
    """(folder where the topology was submitted, the same here)"""


def bundled(
    search_paths: Iterable[str], cache: str, folder: str, spec: RuntimeSpec = CONTAINER_RUNTIME
) -> Bundle:
    """Pack a topology's code into `folder`, and the runtime into `cache` unless it is there.

    UsageError if the code is too much to be code, HeronError if a package cannot be packed.
    """
    os.makedirs(cache, mode=0o700, exist_ok=True)
    code = tuple(code_archives(search_paths, folder))
    return Bundle(packed_runtime(cache, spec), code, this_python())


def code_archives(search_paths: Iterable[str], folder: str) -> Iterator[tuple[str, str]]:
    """(folder with code, its archive in `folder`); UsageError as above."""
    for number, root in enumerate(topmost(search_paths)):
        path = os.path.join(folder, f"heronpy-code-{number}.packed")
        name = os.path.basename(root) or "code"
        write_archive(path, _manifest(name), root, None)
        yield root, path


def topmost(paths: Iterable[str]) -> list[str]:
    """The folders among `paths` outside of all others."""
    every = list(dict.fromkeys(each for each in paths if os.path.isdir(each)))
    return [each for each in every if not any(_is_below(each, other) for other in every)]


def _is_below(path: str, folder: str) -> bool:
    return path != folder and path.startswith(folder.rstrip(os.sep) + os.sep)


def _manifest(name: str) -> Manifest:
    version = importlib.metadata.version("heronpy-topologies")
    return Manifest(name, (Entry(name, name),), (), this_python(), version)


def packed_runtime(cache: str, spec: RuntimeSpec) -> str:
    """The runtime's archive; its name is derived from the contents."""
    files = sorted(runtime_files(spec))
    path = os.path.join(cache, f"{spec.name}-{_fingerprint(files)}.packed")
    if os.path.exists(path):
        return path
    with tempfile.TemporaryDirectory(prefix=".new-", dir=cache) as folder:
        staged = os.path.join(folder, "runtime")
        for name, source in files:
            target = os.path.join(staged, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(source, target)
        new = os.path.join(folder, "new.tar.gz")
        _compile(staged, spec)
        write_archive(new, _manifest(spec.name), staged, None, RUNTIME_LEVEL, whole=True)
        _forget_older(cache, spec.name)
        os.replace(new, path)
    return path


def _compile(staged: str, spec: RuntimeSpec) -> None:
    """Imports of a container, compiled in advance: otherwise every process would compile them
    after unpacking, two thirds of its import time."""
    for each in (*spec.packages, *COMPILED):
        folder = os.path.join(staged, each)
        if os.path.isdir(folder):
            # Unpacked files have new times, and are never changed.
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            compileall.compile_dir(folder, quiet=2, invalidation_mode=unchecked)


def _forget_older(cache: str, name: str) -> None:
    """Runtimes of earlier versions."""
    for each in os.listdir(cache):
        if each.startswith(f"{name}-"):
            os.unlink(os.path.join(cache, each))


def _fingerprint(files: Iterable[tuple[str, str]]) -> str:
    found = hashlib.sha256(f"{this_python()} {LAYOUT}".encode())
    for name, source in files:
        status = os.stat(source)
        found.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()[:32]


def runtime_files(spec: RuntimeSpec) -> Iterator[tuple[str, str]]:
    """(path in the runtime, path here) of all that a container imports besides user code."""
    yield from our_files(spec.packages)
    for each in spec.distributions:
        for name, source in _distribution_files(each):
            if not any(word in name for word in spec.without):
                yield name, source


def our_files(packages: Iterable[str] = OURS) -> Iterator[tuple[str, str]]:
    """(path in the runtime, path here) of our own packages."""
    root = Path(heron_core.__file__).resolve().parents[1]
    for package in packages:
        # In a checkout heron_engine has links to folders.
        for folder, _, files in os.walk(root / package, followlinks=True):
            for path in (Path(folder, each) for each in files):
                name = str(path.relative_to(root))
                if _is_wanted(name):
                    yield name, str(path)


def _distribution_files(name: str) -> Iterator[tuple[str, str]]:
    try:
        files = importlib.metadata.files(name)
    except importlib.metadata.PackageNotFoundError:
        files = None
    if not files:
        raise HeronError(
            f"the files of the package {name} are not known, so it cannot be sent to the workers: "
            f"install it with pip (pip install --force-reinstall {name})"
        )
    for file in files:
        if _is_wanted(str(file)) and ".." not in file.parts:
            yield str(file), str(file.locate())


def _is_wanted(name: str) -> bool:
    return not name.endswith(SKIPPED_ENDINGS) and SKIPPED_FOLDERS.isdisjoint(name.split(os.sep))


def zipped_packages(folder: str) -> str:
    """Our packages as a zip in `folder`, imported by the process that unpacks the rest; returns
    its path."""
    path = os.path.join(folder, "heronpy.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, source in our_files():
            made.write(source, name)
    return path


def installed(
    runtime: str, code: Sequence[tuple[str, str]], python: str, caches: Sequence[str]
) -> Installed:
    """Unpack a bundle's archives locally, unless present.

    `code` has (remote folder, local archive). The first writable folder of `caches` is used.
    HeronError if the local Python cannot run the content.
    """
    if this_python() != python:
        raise HeronError(
            f"its Python is {this_python()}, but the topology was submitted with {python}: "
            f"install {python} there, or name another Python by --python or PYSPARK_PYTHON"
        )
    cache = _first_writable(caches)
    relocated = tuple((root, unpacked(path, cache).folder) for root, path in code)
    return Installed(unpacked(runtime, cache).folder, relocated)


def _first_writable(folders: Sequence[str]) -> str:
    for each in folders:
        try:
            os.makedirs(each, mode=0o700, exist_ok=True)
        except OSError:
            continue
        if os.access(each, os.W_OK):
            return each
    raise HeronError(f"no folder to unpack into: {' or '.join(folders)} cannot be written to")
