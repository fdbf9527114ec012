"""The files in a topology's log folder: read in pieces, and never anything outside of it."""

import os
import stat
import time
from typing import Any

from heron_engine.scheduler.user_folder import is_logs_folder
from heron_tracker.envelope import BadRequest, NotFound, Unavailable
from heron_tracker.heron_api.plans import instance_ids, log_file
from heron_tracker.model.snapshot import TopologySnapshot

LENGTH_MAX = 1024 * 1024
"""Most bytes in one answer."""
HERON_FOLDERS = ("", ".", "log-files")
"""Heron's name of the log folder, relative to the containers' working folder."""


def file_data(snapshot: TopologySnapshot, path: str, offset: int, length: int) -> dict[str, Any]:
    """`length` bytes of a file from `offset` on; the last ones if `offset` is negative."""
    if length < 0 or length > LENGTH_MAX:
        raise BadRequest(f"length is at most {LENGTH_MAX}")
    real_path = _resolved(snapshot, path)
    try:
        descriptor = os.open(real_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise NotFound(
                    f"{path!r:.200} is not a regular file: logs are files of the log folder"
                )
            begin = offset if offset >= 0 else max(0, state.st_size + offset)
            file.seek(min(begin, state.st_size))
            data = file.read(length)
    except OSError as error:
        raise NotFound(f"{path!r:.200} cannot be read: {error.strerror}") from None
    return {"offset": begin, "length": len(data), "data": data.decode("utf-8", "replace")}


def file_stats(snapshot: TopologySnapshot, path: str) -> dict[str, Any]:
    """name -> what is known of a file, as Heron's shell lists a folder."""
    folder = _resolved(snapshot, path)
    by_name: dict[str, Any] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                state = entry.stat(follow_symlinks=False)
                shown = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state.st_mtime))
                by_name[entry.name] = {
                    "formatted_stat": f"{stat.filemode(state.st_mode)} {state.st_size:>10} {shown} "
                    f"{entry.name}",
                    "is_dir": stat.S_ISDIR(state.st_mode),
                    "path": os.path.join(path, entry.name),
                    "size_bytes": state.st_size,
                }
    except OSError as error:
        raise NotFound(f"{path!r:.200} cannot be listed: {error.strerror}") from None
    return by_name


def _resolved(snapshot: TopologySnapshot, path: str) -> str:
    """Target of a requested path, with links resolved; NotFound outside of the folder, whether
    or not the file exists."""
    folder = os.path.realpath(_folder(snapshot))
    parts = [part for part in path.split("/") if part not in HERON_FOLDERS]
    if "\0" in path or ".." in parts or path.startswith("/"):
        raise NotFound(f"{path!r:.200} is not in the folder of the logs")
    real_path = os.path.realpath(os.path.join(folder, *_our_names(snapshot, parts)))
    if real_path != folder and not real_path.startswith(folder + os.sep):
        raise NotFound(f"{path!r:.200} is not in the folder of the logs")
    return real_path


def _our_names(snapshot: TopologySnapshot, parts: list[str]) -> list[str]:
    """Heron's name of an instance's log, container_1_word_3.log.0, is word-3.log here."""
    if not parts:
        return parts
    name = parts[-1].removesuffix(".0").removesuffix(".log")
    tasks = {each: task for task, each in instance_ids(snapshot).items()}
    if name not in tasks:
        return parts
    task = tasks[name]
    return [*parts[:-1], log_file(snapshot.packing.instances[task].component, task)]


def _folder(snapshot: TopologySnapshot) -> str:
    """The log folder named in the state store, if valid: the store is writable by others."""
    path = snapshot.execution.get("logs")
    try:
        if isinstance(path, str) and is_logs_folder(path, snapshot.name):
            return path
    except (OSError, ValueError):
        pass
    raise Unavailable(
        f"the logs of {snapshot.name} are not on this machine, or not of this user: they are where "
        f"its containers run ({snapshot.cluster})"
    )
