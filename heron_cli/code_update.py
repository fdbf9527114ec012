"""New code for a running topology: from the command line to the request."""

import os
import socket
from dataclasses import dataclass
from typing import Any

from heron_cli.configure import config_layer
from heron_cli.loading import load_in_child
from heron_cli.options.source import SourceOptions
from heron_cli.resolve_source import resolve
from heron_cli.running_topology import RunningTopology
from heron_core import config as keys
from heron_core.dead_letters import routed
from heron_core.errors import TopologyError, UsageError
from heron_core.records import replace
from heron_core.storm_settings import settled
from heron_core.topology import TopologySpec
from heron_core.validation import check, check_native
from heron_engine.scheduler.backends.registry import LOCAL
from heron_engine.scheduler.later_updates import code_wanted
from heron_engine.scheduler.packaging.code_folder import CodeFolder
from heron_engine.scheduler.packaging.relocation import relocated
from heron_engine.scheduler.packaging.stored_code import StoredCode, packed_code, relocations

FETCHING = frozenset({"aurora", "kubernetes", "yarn"})
"""The back ends whose containers fetch new code into a working folder of their own."""


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """Options for new code."""

    file: str | None
    allow_non_restored: bool

    def check(self) -> None:
        """UsageError for contradictory options."""
        if self.file is None and self.allow_non_restored:
            raise UsageError("--allow-non-restored requires --code")


def wanted_code(
    topology: RunningTopology,
    spec: TopologySpec,
    options: CodeOptions,
    in_folder: CodeFolder | None = None,
) -> tuple[dict[str, Any], tuple[StoredCode, ...]]:
    """The new code of running topology `spec` for a request, and archives for the containers;
    HeronError for invalid code. Read-only for the running topology. `in_folder`: of the cluster,
    for large archives."""
    assert options.file is not None
    loaded, archives = _loaded(options.file, spec), tuple[StoredCode, ...]()
    with_letters = routed(replace(loaded, config=spec.config), os.path.abspath)
    loaded = replace(loaded, components=with_letters.components)
    if not _is_here(topology):
        archives = packed_code(loaded.search_paths, in_folder)
        loaded = relocated(loaded, relocations(archives))
    as_it_runs = replace(loaded, config=spec.config)
    check(as_it_runs)
    check_native(as_it_runs)
    return code_wanted(loaded, options.allow_non_restored), archives


def _is_here(topology: RunningTopology) -> bool:
    """Whether instances load code from local files; False if containers receive code from the
    state store, UsageError if neither is possible."""
    scheduler = topology.scheduler or {}
    kind, host = scheduler.get("kind"), scheduler.get("host")
    if kind in FETCHING:
        return False
    if kind != LOCAL:
        raise UsageError(
            f"{topology.name} runs on {kind}, and --code is for local topologies and those on "
            f"{' or '.join(sorted(FETCHING))}: `heronpy kill --savepoint` and "
            "`heronpy submit --from-savepoint`"
        )
    if host != socket.gethostname():
        raise UsageError(f"{topology.name} runs on {host}: run this command there")
    return True


def _loaded(file: str, running: TopologySpec) -> TopologySpec:
    """The topology of equal name in a file, with the running topology's config."""
    if not os.path.exists(file):
        raise UsageError(f"--code {file}: file not found")
    own_name = str(running.config.get(keys.ORIGINAL_NAME, running.name))
    source = resolve(SourceOptions(file, None, None, None))
    request = replace(
        source.request,
        likely_name=own_name,
        options=running.config,
        overrides=running.overrides,
        is_to_run=True,
        runs_here=True,
    )
    loaded = load_in_child(request).result()
    name = source.name or loaded.name
    if name not in (own_name, running.name):
        raise TopologyError(
            f"{file} has the topology {name!r}, but {running.name} is {own_name!r} in its file: "
            f"give the new code of {own_name!r}"
        )
    config = config_layer({**loaded.defaults, **loaded.config})
    overruling = {key: running.config[key] for key in running.overrides if key in running.config}
    components = tuple(component.overruled(overruling) for component in loaded.components)
    as_it_runs = settled(replace(loaded, config=running.config, components=components))
    return replace(
        loaded, name=running.name, config=config, defaults={}, components=as_it_runs.components
    )
