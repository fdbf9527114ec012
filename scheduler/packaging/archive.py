"""A project and its packages as one file, to be run later or elsewhere.

    heronpy.json           the manifest: topologies, requirements, for which Python
    project/…              copy of the project, without caches, hidden files and old archives
    wheels/….whl           its packages with their dependencies

A gzipped tar whose bytes depend on the contents alone: entries sorted, without times and owners.
The archive is unpacked once, into a folder named after its SHA-256, and its wheels are installed
beside the project.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heron_core.errors import HeronError, UsageError
from heron_engine.scheduler.packaging.extraction import (
    BYTES_MAX,
    CHUNK_BYTES,
    EXECUTABLE,
    FILES_MAX,
    PLAIN,
    MalformedArchive,
    checked,
    extract,
)
from heron_io.atomic_files import removed_if_it_fails

MANIFEST = "heronpy.json"
PROJECT = "project"
WHEELS = "wheels"
PACKAGES = "packages"
FORMAT = 1
MANIFEST_CHARACTERS_MAX = 1 << 20
"""Some ten thousand topologies."""

LEVEL = 9
"""Of compression: an archive is packed once, and carried around."""
DIGEST_CHARACTERS = 32
"""128 bits of the SHA-256 name a folder: no two archives share one by chance."""

SKIPPED_FOLDERS = frozenset({"__pycache__", "_build", "_resources", "node_modules", "logs"})
SKIPPED_ENDINGS = (".pyc", ".pyo", ".tar.gz", ".tgz", ".egg-info")
VIRTUALENV_MARK = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Entry:
    """A topology in an archive: name, file in the project, and class if the file has several."""

    name: str
    file: str
    inside: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says about itself."""

    project: str
    topologies: tuple[Entry, ...]
    requirements: tuple[str, ...]
    python: str
    """For example cpython-3.11-linux-x86_64; relevant only to wheels with compiled code."""
    version: str
    """Version of the packing heronpy."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in the archive."""
        return {
            "format": FORMAT,
            "project": self.project,
            "topologies": [
                {"name": topology.name, "file": topology.file, "inside": topology.inside}
                for topology in self.topologies
            ],
            "requirements": list(self.requirements),
            "python": self.python,
            "heronpy": self.version,
        }


def manifest_from_json(data: Any) -> Manifest:
    """The inverse of `Manifest.to_json`; ValueError for `data` of another format."""
    try:
        if data["format"] != FORMAT:
            raise ValueError(
                f"its format is {data['format']}, but this heronpy reads format {FORMAT}"
            )
        entries = tuple(
            Entry(described["name"], checked(described["file"]), described["inside"])
            for described in data["topologies"]
        )
        manifest = Manifest(
            data["project"], entries, tuple(data["requirements"]), data["python"], data["heronpy"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its {MANIFEST} lacks {error}") from None
    words = (manifest.project, manifest.python, manifest.version, *manifest.requirements,
             *(entry.name for entry in entries))  # fmt: skip
    if not entries or not all(isinstance(word, str) for word in words):
        raise ValueError(f"its {MANIFEST} lists no topologies")
    return manifest


@dataclass(frozen=True, slots=True)
class Unpacked:
    """An archive on this machine."""

    path: str
    manifest: Manifest

    @property
    def folder(self) -> str:
        """The project's root."""
        return os.path.join(self.path, PROJECT)

    @property
    def packages(self) -> tuple[str, ...]:
        """Folder of its installed packages for sys.path, if any."""
        folder = os.path.join(self.path, PACKAGES)
        return (folder,) if os.path.isdir(folder) else ()

    def topology(self, name: str | None) -> Entry:
        """The entry called `name`, or the only entry; UsageError if ambiguous or unknown.

        In an archive with one topology file, `name` may also be a topology of the file.
        """
        entries = {topology.name: topology for topology in self.manifest.topologies}
        if name is None and len(entries) > 1:
            known = " or ".join(entries)
            raise UsageError(
                f"the archive has {len(entries)} topologies: choose one with -n {known}"
            )
        only = next(iter(entries.values()))
        if name is None or name in entries:
            return only if name is None else entries[name]
        if len(entries) == 1:
            return Entry(name, only.file, name)
        # requires packages outside of the standard library
        from heron_core.validation import choices

        hint = choices("topologies", name, entries)
        raise UsageError(f"the archive has no topology {name!r}; {hint}")


def packed_files(root: str) -> Iterator[str]:
    """Paths below `root` for an archive, relative and sorted."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if _is_packed(folder, each))
        for each in sorted(files):
            if not each.startswith(".") and not each.endswith(SKIPPED_ENDINGS):
                yield os.path.relpath(os.path.join(folder, each), root)


def _all_files(root: str) -> Iterator[str]:
    for folder, _, files in os.walk(root):
        for each in files:
            yield os.path.relpath(os.path.join(folder, each), root)


def _is_packed(parent: str, name: str) -> bool:
    hidden = name.startswith(".") or name in SKIPPED_FOLDERS or name.endswith(SKIPPED_ENDINGS)
    return not hidden and not os.path.exists(os.path.join(parent, name, VIRTUALENV_MARK))


def _has_no_contents(path: str) -> bool:
    """A socket or pipe beside the code: reading it would block."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # a link that leads nowhere is an error
    return stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)


def write_archive(
    path: str,
    manifest: Manifest,
    root: str,
    wheels: str | None,
    level: int = LEVEL,
    *,
    whole: bool = False,
) -> int:
    """Pack the project at `root` and the wheels in a folder; returns the number of files.

    `level` is gzip's, 1 to 9; `whole`: all files, caches too.

    UsageError if that is too much to be a project.
    """
    contents = dict[str, str]()
    for member in _all_files(root) if whole else packed_files(root):
        source = os.path.join(root, member)
        if not _has_no_contents(source):
            contents[f"{PROJECT}/{member}"] = source
    for wheel in sorted(os.listdir(wheels)) if wheels else ():
        contents[f"{WHEELS}/{wheel}"] = os.path.join(wheels or "", wheel)
    _check_size(root, contents)
    replaced = {MANIFEST: _json_bytes(manifest.to_json()), **_without_passwords(contents)}
    partial = f"{path}.part"
    with (
        removed_if_it_fails(partial),
        open(partial, "wb") as file,
        # No name and no time: gzip would write both into its header.
        gzip.GzipFile("", "wb", level, fileobj=file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add_all(tar, contents, replaced)
    os.replace(partial, path)
    return len(contents)


def _add_all(
    tar: tarfile.TarFile, contents: Mapping[str, str], replaced: Mapping[str, bytes]
) -> None:
    """The manifest first, so that reading it does not require the rest."""
    for name in (MANIFEST, *sorted(contents)):
        info = tarfile.TarInfo(name)
        if name in replaced:
            info.mode, info.size = PLAIN, len(replaced[name])
            tar.addfile(info, io.BytesIO(replaced[name]))
            continue
        with open(contents[name], "rb") as file:
            status = os.fstat(file.fileno())
            info.mode = EXECUTABLE if status.st_mode & 0o100 else PLAIN
            info.size = status.st_size
            tar.addfile(info, file)


def _check_size(root: str, contents: Mapping[str, str]) -> None:
    try:
        sizes = {path: os.path.getsize(path) for path in contents.values()}
    except OSError as error:  # a dangling link, or a file just removed
        raise UsageError(f"{error.filename} cannot be packed: {error.strerror}") from None
    if len(sizes) > FILES_MAX or sum(sizes.values()) > BYTES_MAX:
        largest = max(sizes, key=lambda size: sizes[size])
        raise UsageError(
            f"{root} has {len(sizes)} files of {sum(sizes.values()) >> 20} MiB, the largest is "
            f"{largest}: move what is not code out of it"
        )


def _without_passwords(contents: Mapping[str, str]) -> dict[str, bytes]:
    """config.json without ssh passwords, if it has any: an archive is handed around."""
    name = f"{PROJECT}/config.json"
    if name not in contents:
        return {}
    with open(contents[name], "rb") as file:
        try:
            config = json.loads(file.read())
        except ValueError:
            return {}
    environments = config.get("envs") if isinstance(config, dict) else None
    every = environments.values() if isinstance(environments, dict) else ()
    passwords = [each.pop("ssh_password", "") for each in every if isinstance(each, dict)]
    return {name: _json_bytes(config)} if any(passwords) else {}


def _json_bytes(data: Any) -> bytes:
    return (json.dumps(data, indent=4) + "\n").encode("utf-8")


def unpacked(path: str, cache: str) -> Unpacked:
    """The archive at `path`, unpacked into a folder of `cache` at the first use.

    UsageError for another kind of file, HeronError if the packages cannot be installed here.
    """
    try:
        digest = _digest(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    folder = os.path.join(cache, digest)
    if not os.path.isdir(folder):
        os.makedirs(cache, mode=0o700, exist_ok=True)
        new = tempfile.mkdtemp(prefix=".new-", dir=cache)
        try:
            _extract(path, new)
            manifest = _manifest(path, new)
            _install_wheels(path, new, manifest)
            _move(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return Unpacked(folder, _manifest(path, folder))


def _move(new: str, folder: str) -> None:
    try:
        os.rename(new, folder)
    except OSError:
        if not os.path.isdir(folder):  # else another process has unpacked the same meanwhile
            raise


def _digest(path: str) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()[:DIGEST_CHARACTERS]


def _manifest(path: str, folder: str) -> Manifest:
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            return manifest_from_json(json.loads(file.read(MANIFEST_CHARACTERS_MAX)))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise _not_an_archive(path, f"{MANIFEST}: {reason}") from None


def _extract(path: str, folder: str) -> None:
    try:
        extract(path, folder)
    except MalformedArchive as error:
        raise _not_an_archive(path, error) from None


def _not_an_archive(path: str, reason: object) -> UsageError:
    return UsageError(f"{path} is not an archive of `heronpy package`: {reason}")


def _install_wheels(path: str, folder: str, manifest: Manifest) -> None:
    """Install exactly the wheels of the archive, without any index."""
    wheels = os.path.join(folder, WHEELS)
    if not os.path.isdir(wheels):
        return
    files = [os.path.join(wheels, wheel) for wheel in sorted(os.listdir(wheels))]
    target = os.path.join(folder, PACKAGES)
    problem = run_pip("install", "--no-index", "--no-deps", "--target", target, *files)
    if problem is not None:
        raise HeronError(
            f"the packages of {path} cannot be installed (packed for {manifest.python}, this is "
            f"{this_python()}): {problem}"
        )
    shutil.rmtree(wheels)


def run_pip(*arguments: str, folder: str | None = None) -> str | None:
    """Run the Python's pip in `folder`; None on success, otherwise the error in one line."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or [f"pip ends with {done.returncode}"])[-1]


def this_python() -> str:
    """What compiled wheels depend on: implementation, version, system, machine."""
    system, version = os.uname(), sys.version_info
    machine = f"{system.sysname.lower()}-{system.machine}"
    return f"{sys.implementation.name}-{version.major}.{version.minor}-{machine}"
