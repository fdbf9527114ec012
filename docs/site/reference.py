"""The reference of the API: a page for each module of the users, with the public names.

Names come from the source, because modules load names late: the names of `__all__`, else the
imports `Name as Name`, else the classes and functions of the module.
"""

import ast
from pathlib import Path
from posixpath import relpath

from docs.site.pages import Site
from docs.site.uses import Use, Uses, uses

FOLDER = "reference/api"
USES_MAX = 5
"""Limit of listed uses of a name."""

MODULES = {
    "Topologies": (
        "heronpy_compat", "heronpy_compat.api.tuple", "heronpy_compat.api.stream",
        "heronpy_compat.api.component.component_spec", "heronpy_compat.api.topology_context",
        "heronpy_compat.api.metrics", "heronpy_compat.api.global_metrics",
        "heronpy_compat.api.serializer", "heronpy_compat.api.task_hook",
        "heronpy_compat.api.custom_grouping", "heronpy_compat.api.errors",
        "heronpy_compat.api.batch_aware", "heronpy_compat.api.emission",
    ),
    "State and time": (
        "heronpy_compat.api.state.keyed_state", "heronpy_compat.api.state.stateful_component",
        "heronpy_compat.api.state.state", "heronpy_compat.api.state.migration",
        "heronpy_compat.state", "heronpy_compat.windows",
    ),
    "Streamlets and streams": (
        "heronpy_compat.streamlet.builder", "heronpy_compat.streamlet.streamlet",
        "heronpy_compat.streamlet.timedstreamlet", "heronpy_compat.streamlet.keyedwindow",
        "heronpy_compat.streamlet.keyedprocess", "heronpy_compat.streamlet.windowconfig",
        "heronpy_compat.streamlet.config", "heronpy_compat.streamlet.runner",
        "heronpy_compat.streamlet.generator", "heronpy_compat.streamlet.transformoperator",
        "heronpy_compat.streams",
    ),
    "Trident and requests": ("heronpy_compat.trident", "heronpy_compat.drpc"),
    "Connectors": (
        "heronpy_compat.connectors.kafka", "heronpy_compat.connectors.files",
        "heronpy_compat.connectors.tables", "heronpy_compat.connectors.parquet",
        "heronpy_compat.connectors.delta", "heronpy_compat.connectors.iceberg",
        "heronpy_compat.connectors.postgres", "heronpy_compat.connectors.database",
        "heronpy_compat.connectors.hbase",
        "heronpy_compat.connectors.two_phase", "heronpy_compat.connectors.spark",
    ),
    "Spark": ("heronpy_compat.spark",),
    "Tests": ("heronpy_compat.testing",),
    "streamparse and pystorm": ("heronpy_compat.streamparse", "heronpy_compat.pystorm"),
}  # fmt: skip

INTRODUCTION = (
    "      members: false\n      show_root_heading: false\n      show_root_toc_entry: false\n"
)
"""Of the module itself only the docstring is shown, under the heading of its page."""


def reference_pages(site: Site) -> dict[str, str]:
    """Path below the site -> text, a page for each module and one with all names."""
    used = uses(site.root, [str(each) for each in site.pages])
    pages = {
        f"{FOLDER}/{module}.md": _module_page(site, module, used)
        for modules in MODULES.values()
        for module in modules
    }
    pages[f"{FOLDER}/index.md"] = _index(site.root)
    return pages


def public_names(root: Path, module: str) -> list[str]:
    """The names that users import from a module, in alphabetical order."""
    tree = ast.parse(_file_of(root, module).read_text("utf-8"))
    return sorted(_listed(tree) or _imported(tree) or _defined(tree))


def _module_page(site: Site, module: str, used: Uses) -> str:
    names = public_names(site.root, module)
    parts = [f"# {module}\n\n::: {module}\n    options:\n{INTRODUCTION}"]
    parts.append("\n| name | examples |\n|---|---|\n")
    for name in names:
        examples = ", ".join(_link(site, use) for use in used.get((module, name), [])[:USES_MAX])
        parts.append(f"| [{name}](#{module}.{name}) | {examples} |\n")
    parts += [f"\n::: {module}.{name}\n" for name in names]
    return "".join(parts)


def _link(site: Site, use: Use) -> str:
    title, file, anchor = use
    address = relpath(str(site.target(file)), FOLDER)
    return f"[{title}]({address}{'#' + anchor if anchor else ''})"


def _index(root: Path) -> str:
    """All public names, by the groups of MODULES."""
    parts = ["# API\n\nThe modules that a topology imports, and the public names of each.\n"]
    for group, modules in MODULES.items():
        parts.append(f"\n## {group}\n\n| module | names |\n|---|---|\n")
        for module in modules:
            names = ", ".join(
                f"[{name}]({module}.md#{module}.{name})" for name in public_names(root, module)
            )
            parts.append(f"| [{module}]({module}.md) | {names} |\n")
    return "".join(parts)


def _file_of(root: Path, module: str) -> Path:
    path = root.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _listed(tree: ast.Module) -> list[str]:
    """The names of `__all__`."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []


def _imported(tree: ast.Module) -> list[str]:
    """What is imported as a name of its own: `from module import Name as Name`."""
    imports = [each for each in tree.body if isinstance(each, ast.ImportFrom)]
    return [alias.asname for each in imports for alias in each.names if alias.asname]


def _defined(tree: ast.Module) -> list[str]:
    defined = [each for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    return [each.name for each in defined if not each.name.startswith("_")]
