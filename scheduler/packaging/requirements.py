"""Requirements files of a project, as pip is to read them for an archive."""

import os
import re
from collections.abc import Iterable

ANSWERED = frozenset({"streamparse", "pystorm", "heronpy", "heronpy-topologies"})
"""Packages whose modules heronpy itself answers for, so an archive need not bring them."""
PATH_OPTIONS = ("-r", "--requirement", "-c", "--constraint", "-f", "--find-links")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SEPARATORS = re.compile(r"[-_.]+")


def for_pip(lines: Iterable[str], folder: str) -> list[str]:
    """The lines that say something: without comments and ANSWERED, with paths from `folder`."""
    stripped = (_without_comment(each) for each in lines)
    return [_absolute(each, folder) for each in stripped if each and not _is_answered(each)]


def wants_packages(lines: Iterable[str]) -> bool:
    """Whether any line of `for_pip` asks for a package, and not only says where to look."""
    no_package = ("-c", "--constraint", "-f", "--find-links", "-i", "--index-url",
                  "--extra-index-url", "--no-index", "--trusted-host")  # fmt: skip
    return any(re.split(r"[ =]", each)[0] not in no_package for each in lines)


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line).strip()


def _is_answered(line: str) -> bool:
    name = _NAME.match(line)
    return name is not None and _SEPARATORS.sub("-", name[0]).lower().rstrip("-") in ANSWERED


def _absolute(line: str, folder: str) -> str:
    """pip takes some paths from the file's folder: the lines go into another one."""
    option, separator, value = line.partition("=") if "=" in line else line.partition(" ")
    path = os.path.join(folder, value.strip())
    if option.strip() in PATH_OPTIONS and os.path.exists(path):
        return f"{option.strip()} {path}" if separator == " " else f"{option.strip()}={path}"
    return line
