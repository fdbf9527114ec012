"""Packages that only some features need: imported when one starts, and named if missing."""

from importlib import import_module
from types import ModuleType

from heron_core.errors import ComponentError

INSTALLS = {
    "pyarrow": "heronpy-topologies[tables]",
    "confluent_kafka": "heronpy-topologies[kafka]",
    "deltalake": "heronpy-topologies[delta]",
    "pyiceberg": "heronpy-topologies[iceberg]",
    "happybase": "heronpy-topologies[hbase]",
    "psycopg": "heronpy-topologies[postgres]",
    "datasketches": "heronpy-topologies[sketches]",
    "sqlglot": "heronpy-topologies[sql]",
}
"""What to install for the package that a module belongs to."""


def missing(module: str, purpose: str) -> str:
    """What to install if the package of a module is missing, in one line; else empty."""
    try:
        needed(module, purpose)
    except ComponentError as error:
        return str(error)
    return ""


def needed(module: str, purpose: str) -> ModuleType:
    """The module; ComponentError that says what to install if its package is missing."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise ComponentError(
            f"{purpose} needs the package {package.replace('_', '-')}: "
            f"pip install '{INSTALLS[package]}'"
        ) from None
