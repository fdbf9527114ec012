"""What workers on other machines have to import: our packages and the user's modules, as zips."""

import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from heron_core.errors import UsageError

OURS = ("heron_core", "heron_io", "heron_instance", "heron_spark", "heronpy_compat")
MODULES_MAX = 5_000
"""More than any project has; reached when somebody runs a file in a home folder."""
SKIPPED = frozenset({"__pycache__", "site-packages", "node_modules", "tests"})


def zipped_packages(folder: str) -> str:
    """A zip of our packages in `folder`; returns its path."""
    root = Path(__file__).resolve().parents[1]
    found = (
        (path, path.relative_to(root)) for name in OURS for path in (root / name).rglob("*.py")
    )
    return _zip(os.path.join(folder, "heronpy.zip"), found)


def zipped_modules(folder: str, search_paths: Iterable[str]) -> str:
    """A zip of the modules that lie on a topology's search paths, the first path's on top."""
    found: dict[Path, Path] = {}
    for root in map(Path, search_paths):
        for path in _modules(root):
            found.setdefault(path.relative_to(root), path)
            if len(found) > MODULES_MAX:
                raise UsageError(
                    f"{root} has more than {MODULES_MAX} Python files: keep the topology in a "
                    "folder of its own, it is sent to every worker"
                )
    return _zip(
        os.path.join(folder, "topology.zip"), ((path, name) for name, path in found.items())
    )


def _modules(root: Path) -> Iterator[Path]:
    """The .py files of a folder, but not those of environments and hidden folders."""
    for parent, folders, names in os.walk(root):
        folders[:] = [
            each
            for each in folders
            if not each.startswith(".")
            and each not in SKIPPED
            and not os.path.exists(os.path.join(parent, each, "pyvenv.cfg"))
        ]
        yield from (Path(parent, name) for name in names if name.endswith(".py"))


def _zip(path: str, files: Iterable[tuple[Path, Path]]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for file, name in files:
            made.write(file, name)
    return path
