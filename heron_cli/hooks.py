"""A project's own functions around `heronpy submit`: pre_submit and post_submit.

As in streamparse, hooks are defined in tasks.py, then fabfile.py, of the project's folder; both
are called, with (topology name, environment name, environment's config, options), or with a
prefix of the list, as in older projects. Each call runs in a process of its own, so imports of
fabric or invoke have no effect on the command. Changes of `options` by pre_submit are applied.
"""

import ast
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from heron_cli.environment import NamedEnvironment
from heron_core.errors import ComponentError, HeronError
from heron_core.topology import config_from_json, config_to_json
from heron_core.wire.pickled import opened
from heron_io.processes import fork_child

PRE_SUBMIT = "pre_submit"
POST_SUBMIT = "post_submit"
FILES = ("tasks.py", "fabfile.py")
CHUNK_BYTES = 65536


def pre_submit(
    root: str, name: str, environment: NamedEnvironment, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options after every pre_submit of the project at `root`; HeronError if one raises."""
    return _called(PRE_SUBMIT, root, name, environment, options)


def post_submit(
    root: str, name: str, environment: NamedEnvironment, options: Mapping[str, Any]
) -> None:
    """Call every post_submit of the project at `root`; HeronError if one raises."""
    _called(POST_SUBMIT, root, name, environment, options)


def _called(
    hook: str, root: str, name: str, environment: NamedEnvironment, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    files = [each for each in FILES if hook in bound_names(os.path.join(root, each))]
    if not files:
        return options
    answer = _in_child(lambda: _run(files, hook, root, name, environment, dict(options)))
    if "error" in answer:
        raise HeronError(answer["error"])
    return config_from_json(answer["options"])


def bound_names(path: str) -> set[str]:
    """Names assigned at a module's top level; empty for a missing file.

    A fabfile with other tasks is therefore never imported. A file with a syntax error is assumed
    to have every hook: the import reports the error.
    """
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except OSError:
        return set()
    except (SyntaxError, ValueError):
        return {PRE_SUBMIT, POST_SUBMIT}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def _in_child(work: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Result of `work` in a process of its own, with the command's terminal."""
    ours, theirs = os.pipe()

    def main(lifeline: int) -> int:
        os.close(ours)
        with os.fdopen(theirs, "w", encoding="utf-8") as pipe:
            json.dump(work(), pipe)
        return 0

    child = fork_child("heronpy: hooks", main, killed_with_parent=True)
    os.close(theirs)
    data = b""
    while chunk := os.read(ours, CHUNK_BYTES):
        data += chunk
    os.close(ours)
    os.close(child.lifeline)
    os.waitpid(child.pid, 0)
    if not data:
        return {"error": "the process that ran the project's hooks ended without a word"}
    answer: Mapping[str, Any] = json.loads(data)
    return answer


def _run(
    files: list[str],
    hook: str,
    root: str,
    name: str,
    environment: NamedEnvironment,
    options: dict[str, Any],
) -> Mapping[str, Any]:
    from heron_api.method_shapes import refuse_coroutine
    from heron_api.user_errors import format_error
    from heronpy_compat import aliases

    aliases.install()
    options = _opened(options)
    sys.path.insert(0, root)
    os.chdir(root)
    for file in files:
        try:
            function = _function(file.removesuffix(".py"), hook)
            if function is not None:
                arguments = (name, environment.name, environment.config, options)
                refuse_coroutine(function, function(*arguments[: _takes(function)]))
        except (Exception, SystemExit) as error:
            remedy = " (--no-hooks submits without)" if isinstance(error, ImportError) else ""
            return {"error": f"{hook} in {file}: {format_error(error)}{remedy}"}
    return {"options": config_to_json(options)}


def _opened(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as objects; an object whose module is missing stays pickled."""
    found: dict[str, Any] = {}
    for key, value in options.items():
        try:
            found.update(opened({key: value}))
        except ComponentError:
            found[key] = value
    return found


def _function(module: str, hook: str) -> Callable[..., Any] | None:
    from importlib import import_module

    found = getattr(import_module(module), hook, None)
    # invoke's Task and fabric's WrappedCallableTask: the function that the author wrote is inside.
    found = getattr(found, "body", None) or getattr(found, "wrapped", None) or found
    return found if callable(found) else None


def _takes(function: Callable[..., Any]) -> int:
    """Number of positional arguments, at most four."""
    kinds = inspect.Parameter
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is kinds.VAR_POSITIONAL for each in parameters):
        return 4
    positional = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    return min(4, sum(each.kind in positional for each in parameters))
