"""What the executors of a cluster are sent: our packages, pyarrow, and the topology's code."""

import shutil
import sys

from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packaging.archive import PROJECT
from heron_engine.scheduler.packaging.bundle import (
    DISTRIBUTIONS,
    RuntimeSpec,
    bundled,
    packed_runtime,
)
from heron_engine.scheduler.packaging.relocation import relocated
from heron_engine.scheduler.user_folder import Home
from heron_spark.driver.session import is_one_machine
from heron_spark.options import Archive, SparkOptions

ENGINE_RUNTIME = RuntimeSpec(
    "heronpy-engine",
    (
        "heron_core",
        "heron_io",
        "heron_api",
        "heron_connectors",
        "heron_frontends",
        "heronpy_compat",
        "heron_instance",
        "heron_spark",
    ),
    DISTRIBUTIONS,
)
ARROW_RUNTIME = RuntimeSpec(
    "heronpy-arrow", (), ("pyarrow",), without=("flight", "pyarrow/include/", "pyarrow/src/")
)
"""By itself, as it is large and changes seldom."""


def with_archives(
    options: SparkOptions, topology: TopologySpec, home: Home, folder: str
) -> SparkOptions:
    """The options with archives of what workers import, the topology's code being packed into
    `folder`; as they are if workers are on this machine and have our Python.

    UsageError if the code is too much to be code.
    """
    if is_one_machine(options.master) and shutil.which(options.python) == sys.executable:
        return options
    bundle = bundled(topology.search_paths, home.archives, folder, ENGINE_RUNTIME)
    arrow = packed_runtime(home.archives, ARROW_RUNTIME)
    runtimes = [(bundle.runtime, ENGINE_RUNTIME.name), (arrow, ARROW_RUNTIME.name)]
    code = [
        (root, _archive(path, f"heronpy-code-{number}", on_path=False))
        for number, (root, path) in enumerate(bundle.code)
    ]
    return replace(
        options,
        archives=(
            *(_archive(path, name, on_path=True) for path, name in runtimes),
            *(each for _, each in code),
        ),
        search_paths=relocated(topology, [(root, each.inside) for root, each in code]).search_paths,
    )


def _archive(path: str, name: str, *, on_path: bool) -> Archive:
    return Archive(path, name, f"{name}/{PROJECT}", on_path)
