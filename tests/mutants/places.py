"""Where a file of the repository is when a process has loaded it: some packages are linked into
heron_engine, and are imported by that name."""

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LINKED = "heron_engine"


def _imported(path: str) -> str:
    linked = f"{LINKED}/{path}"
    return linked if (REPOSITORY / linked).exists() else path


def loaded_file(path: str) -> str:
    """The file of its code, of a path below the repository."""
    return str(REPOSITORY / _imported(path))


def module_name(path: str) -> str:
    """What it is imported as."""
    return _imported(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
