"""The pages of the site in the order in which they are read, and its sections."""

from docs.site.reference import MODULES

PAGES: dict[str, str | dict[str, str]] = {
    "Home": "README.md",
    "Tutorial": "docs/TUTORIAL.md",
    "Concepts": "docs/CONCEPTS.md",
    "Write topologies": {
        "Guide": "docs/GUIDE.md",
        "Recipes: streams": "docs/RECIPES.md",
        "Recipes: windows and time": "docs/RECIPES_TIME.md",
        "Recipes: services and failures": "docs/RECIPES_SYSTEMS.md",
        "Recipes: topics, tables and files": "docs/RECIPES_TABLES.md",
        "Recipes: test and operation": "docs/RECIPES_OPERATION.md",
        "Windows": "docs/WINDOWS.md",
        "State": "docs/STATE.md",
        "Checkpoints": "docs/CHECKPOINTS.md",
        "Columns": "docs/COLUMNS.md",
        "SQL": "docs/SQL.md",
        "Local parts": "docs/MATERIALIZE.md",
        "Connectors": "docs/CONNECTORS.md",
        "Queries of state": "docs/QUERIES.md",
        "Tests": "docs/TESTING.md",
    },
    "Coming from": {
        "Storm, Heron, streamparse": "docs/PORTING.md",
        "Trident": "docs/TRIDENT.md",
        "Samza": "docs/SAMZA.md",
        "Beam": "docs/BEAM.md",
        "Storm's classes": "docs/STORM_CLASSES.md",
        "Spark": "docs/SPARK.md",
        "Systems and guarantees": "docs/MATRIX.md",
    },
    "Operate": {
        "Deploy": "docs/DEPLOY.md",
        "YARN": "docs/YARN.md",
        "Three machines": "docs/THREE_MACHINES.md",
        "Kubernetes": "docs/KUBERNETES.md",
        "Pages and REST": "docs/UI.md",
        "Runbook": "docs/RUNBOOK.md",
        "Troubleshooting": "docs/TROUBLESHOOTING.md",
        "Record and replay": "docs/REPLAY.md",
        "New code while it runs": "docs/UPDATING.md",
        "Scaling": "docs/SCALING.md",
        "Back-pressure": "docs/BACKPRESSURE.md",
    },
    "Reference": {
        "Command line": "docs/CLI.md",
        "Configuration": "docs/CONFIGURATION.md",
        "Metrics": "docs/METRICS.md",
        "Protocol": "docs/PROTOCOL.md",
        "Libraries": "docs/LIBRARIES.md",
    },
    "Project": {
        "Architecture": "docs/ARCHITECTURE.md",
        "Contributing": "CONTRIBUTING.md",
        "Hacking": "docs/HACKING.md",
        "Security": "SECURITY.md",
        "Benchmarks": "benchmarks/README.md",
        "Linear Road": "benchmarks/linear_road/README.md",
        "Changes": "CHANGELOG.md",
    },
}


def markdown_files() -> list[str]:
    """The files of the repository that are pages of the site."""
    files: list[str] = []
    for entry in PAGES.values():
        files += [entry] if isinstance(entry, str) else entry.values()
    return files


def navigation(page_of: dict[str, str]) -> list[object]:
    """The `nav` of the configuration; `page_of` has the page of the site for each file."""
    entries: list[object] = []
    for title, entry in PAGES.items():
        if isinstance(entry, str):
            entries.append({title: page_of[entry]})
        else:
            entries.append({title: [{name: page_of[file]} for name, file in entry.items()]})
    return [*entries, {"API": _api()}]


def _api() -> list[object]:
    groups: list[object] = [
        {group: [{_short(module): f"reference/api/{module}.md"} for module in modules]}
        for group, modules in MODULES.items()
    ]
    return ["reference/api/index.md", *groups]


def _short(module: str) -> str:
    """A name that fits beside the page; the page has the whole one."""
    return module.removeprefix("heronpy_compat.")
