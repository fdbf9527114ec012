"""The folder of a topology's dead letters: files of letters, and replay requests.

    part-__dead_letters-….jsonl       letters (connectors.files)
    replay/00000001.jsonl            letters to replay, as one request
    replay/00000001.done             a request whose letters have all been replayed

A request appears as a complete file under the next free number, so concurrent requests are safe.
A finished request is renamed (connectors.replayed_letters).
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from heron_connectors.letters.records import letter_of
from heron_core.dead_letters import SINK
from heron_core.errors import HeronError

REPLAYS = "replay"
MS = 1000
BESIDE_BYTES = 4
"""Of chance in the name of a request that is being written: commands of two machines may meet."""
WAITING, DONE = ".jsonl", ".done"
_REQUEST = re.compile(r"(\d{8})\.(?:jsonl|done)")
_PREFIX = f"part-{SINK}-"


def letters(folder: str) -> Iterator[dict[str, Any]]:
    """All letters of a folder, oldest first; HeronError for an invalid record."""
    found = [each for name in _names(folder, _PREFIX) for each in _read(folder, name)]
    yield from sorted(found, key=lambda each: (each["time_ms"], each["id"]))


def letters_since(folder: str, since_ms: int) -> int:
    """How many tuples have become letters since then; older files are not read."""
    found = 0
    for name in _names(folder, _PREFIX):
        path = os.path.join(folder, name)
        if os.stat(path).st_mtime * MS >= since_ms:
            found += sum(each["time_ms"] >= since_ms for each in _read(folder, name))
    return found


def _names(folder: str, prefix: str = "") -> list[str]:
    try:
        return sorted(
            name
            for name in os.listdir(folder)
            if name.startswith(prefix) and name.endswith((WAITING, DONE))
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HeronError(f"{folder}: {error.strerror}") from None


def _read(folder: str, name: str) -> Iterator[dict[str, Any]]:
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield letter_of(line)
            except HeronError as error:
                raise HeronError(f"{path}:{number}: {error}") from None


def replayed_ids(folder: str) -> frozenset[str]:
    """The letters already replayed."""
    inside = os.path.join(folder, REPLAYS)
    return frozenset(each["id"] for name in _names(inside) for each in _read(inside, name))


def request_replay(folder: str, lines: Iterable[bytes]) -> str:
    """Request the replay of the letters; returns the request's file, created atomically."""
    inside = os.path.join(folder, REPLAYS)
    os.makedirs(inside, exist_ok=True)
    temporary = os.path.join(inside, f".{secrets.token_hex(BESIDE_BYTES)}.tmp")
    with open(temporary, "wb") as file:
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    try:
        return _linked(inside, temporary)
    finally:
        os.unlink(temporary)


def _linked(inside: str, temporary: str) -> str:
    while True:
        number = 1 + max(_numbers(inside), default=0)
        path = os.path.join(inside, f"{number:08d}{WAITING}")
        try:
            os.link(temporary, path)
        except FileExistsError:  # another command took the number
            continue
        return path


def _numbers(inside: str) -> list[int]:
    return [int(found[1]) for each in _names(inside) if (found := _REQUEST.fullmatch(each))]


def waiting_requests(folder: str) -> list[int]:
    """The numbers of the requests that are not done, in order."""
    names = _names(os.path.join(folder, REPLAYS))
    return [int(found[1]) for each in names
            if each.endswith(WAITING) and (found := _REQUEST.fullmatch(each))]  # fmt: skip


def request(folder: str, number: int) -> list[dict[str, Any]]:
    """The letters of a request."""
    return list(_read(os.path.join(folder, REPLAYS), f"{number:08d}{WAITING}"))


def request_is_done(folder: str, number: int) -> None:
    """Mark the request as finished; repeatable."""
    path = os.path.join(folder, REPLAYS, f"{number:08d}")
    try:
        os.rename(path + WAITING, path + DONE)
    except FileNotFoundError:
        pass
