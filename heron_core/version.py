"""Which version of heronpy this is."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "heronpy-topologies"


def version_of_heronpy() -> str:
    """As it is installed; of a checkout that is not, nothing is known."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
