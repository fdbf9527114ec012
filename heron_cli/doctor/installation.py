"""Checks of this installation: Python, the compiled hot path, packages and extras."""

import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from heron_cli.doctor.results import CheckResult
from heron_core.native import COMPILED, HOT_PATH
from heron_core.version import VERSION

DISTRIBUTION = "heronpy-topologies"
COMPILERS = ("cc", "gcc", "clang")
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?[^;]*(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?"
)


def installation_results() -> list[CheckResult]:
    """Python, the version of heronpy, the hot path, and the packages."""
    declared = packages_by_extra(_requirements())
    return [
        _python(),
        CheckResult("heronpy", "ok", f"{VERSION}, in {os.path.dirname(os.path.dirname(__file__))}"),
        hot_path_result(HOT_PATH, _compiler()),
        packages_result(declared.pop("", ()), installed_version),
        *extras_results(declared, installed_version),
    ]


def hot_path_result(hot_path: str, compiler: str) -> CheckResult:
    """Whether the hot path is compiled; `compiler`: an available C compiler, or empty."""
    if hot_path == COMPILED:
        return CheckResult("hot path", "ok", hot_path)
    remedy = (
        f"in a checkout, `make native` compiles it with {compiler}; else install a wheel of this "
        "platform"
        if compiler
        else "install a C compiler and Python's headers (Debian: gcc python3-dev), then `make "
        "native`; or a wheel of this platform"
    )
    return CheckResult(
        "hot path", "absent", f"{hot_path}; a tuple takes several times as long", remedy
    )


def packages_by_extra(requirements: Sequence[str]) -> dict[str, list[str]]:
    """extra -> package names, from a distribution's metadata; "" -> required packages."""
    found: dict[str, list[str]] = {"": []}
    for each in requirements:
        match = _REQUIREMENT.match(each)
        if match is not None:
            found.setdefault(match[2] or "", []).append(match[1])
    return found


def packages_result(packages: Sequence[str], version_of: Callable[[str], str]) -> CheckResult:
    """Whether all required packages are installed; `version_of` returns an empty text for a
    missing package."""
    absent = [name for name in packages if not version_of(name)]
    if absent:
        remedy = f"pip install {' '.join(absent)}"
        return CheckResult("packages", "problem", f"{', '.join(absent)} not installed", remedy)
    versions = ", ".join(f"{name} {version_of(name)}" for name in packages)
    return CheckResult("packages", "ok", versions or "not known: heronpy is not installed by pip")


def extras_results(
    extras: Mapping[str, Sequence[str]], version_of: Callable[[str], str]
) -> Iterator[CheckResult]:
    """One result for the installed extras, and one per incomplete extra."""
    absent = {
        extra: [name for name in packages if not version_of(name)]
        for extra, packages in sorted(extras.items())
    }
    if complete := [extra for extra, names in absent.items() if not names]:
        yield CheckResult("extras", "ok", ", ".join(complete))
    for extra, names in absent.items():
        if names:
            remedy = f"pip install '{DISTRIBUTION}[{extra}]'"
            yield CheckResult(f"extra {extra}", "absent", f"without {', '.join(names)}", remedy)


def installed_version(package: str) -> str:
    """The version of an installed package, else an empty text."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _python() -> CheckResult:
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", without a GIL"
    found = f"{platform.python_implementation()} {platform.python_version()}{threads}"
    return CheckResult("Python", "ok", f"{found}, {sys.executable}")


def _requirements() -> list[str]:
    try:
        return requires(DISTRIBUTION) or []
    except PackageNotFoundError:  # imported from a folder without an installation
        return []


def _compiler() -> str:
    """The C compiler, if present together with Python's headers."""
    headers = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    found = next(filter(None, map(shutil.which, COMPILERS)), "")
    return found if os.path.exists(headers) else ""
