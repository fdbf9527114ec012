"""Submission and new code by REST: a file or an archive as the body of a request, started by
`heronpy submit`, or given to `heronpy update --code`.

    curl -H "Authorization: Bearer $(cat token)" --data-binary @words.py \
        "https://HOST:8889/api/topologies?name=words&file=words.py"

Both execute code of the client, so a service without a login refuses both. The checks are those of
the command, which runs as a child; the answer comes when the topology is registered or updated, or
has the reason of the command.
"""

import os
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from heron_core.errors import HeronError, TopologyError
from heron_core.operations import Requester, Way
from heron_io.private_files import make_private_folders, private
from heron_io.state_store.protocol import StateStore
from heron_tracker.auth.access import ABOUT_THE_SITE, SUBMIT_PATH, needs_login
from heron_tracker.code_updates import CodeAnswer, CodeUpdates, NewCode
from heron_tracker.envelope import BadRequest, Unavailable
from heron_tracker.heron_api.routes import enveloped
from heron_tracker.nimbus.structs import AlreadyAliveException
from heron_tracker.nimbus.submissions import Submissions, TopologyFolders
from heron_tracker.options import SubmissionOptions, TrackerOptions
from heron_tracker.requesters import client_of
from heron_tracker.rights import RIGHTS
from heron_tracker.service import Service

SERVICE = "ui"
SUBMITS_AT_ONCE = 4
"""Each holds a thread, a process that loads the code, and a file of the limit's size at most."""
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
ENDINGS = (".py", ".yaml", ".yml", ".tar.gz", ".tgz")
Name = Annotated[str, Query(max_length=200)]
CONFIG_KEYS_MAX = 200
"""More keys belong into a file; an address of a request has 64 KiB at most."""
Config = Annotated[Sequence[str], Query(max_length=CONFIG_KEYS_MAX)]
Result = TypeVar("Result")
_free_submits = threading.Semaphore(SUBMITS_AT_ONCE)


@dataclass(frozen=True, slots=True)
class SubmittedFile:
    """A topology file, a Flux file or an archive of `heronpy package`."""

    name: str
    file: str
    """Name of the file; the ending decides how the file is read."""
    path: str
    """Where the upload lies; moved into the folder of the topology."""
    topology: str
    """The topology of the file, for a file with several; empty for the only one."""
    is_active: bool
    asked_by: Requester
    config: tuple[str, ...] = ()
    """KEY=VALUE of each key that differs from the file's."""

    def words(self, folder: str) -> list[str]:
        """Move the upload into the folder; the arguments of `heronpy submit`."""
        target = os.path.join(folder, self.file)
        os.replace(self.path, target)
        chosen = ["-n", self.topology] if self.topology else []
        given = [word for each in self.config for word in ("-o", each)]
        return [target, *chosen, "-N", self.name, *given]


class RestSubmissions:
    """Submissions into one state store; opened by the first one."""

    def __init__(self, store: StateStore, options: SubmissionOptions) -> None:
        self._store = store
        self._options = options
        self._lock = threading.Lock()
        self._opened: tuple[TopologyFolders, Submissions] | None = None

    def new_upload(self) -> str:
        """The path of a new, empty file. HeronError if another service has the folder."""
        folder = self._open()[0].uploads
        make_private_folders(folder)
        path = os.path.join(folder, f"{time.time_ns():020d}-{threading.get_ident()}")
        os.close(private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        return path

    def submit(self, wanted: SubmittedFile) -> None:
        """Start a topology, and wait until the topology is registered. BadRequest with the reason
        of `heronpy submit`, HeronError for a name in use."""
        submissions = self._open()[1]
        submissions.sweep()
        try:
            submissions.submit(wanted)
        except AlreadyAliveException as error:
            raise HeronError(str(error)) from None
        except TopologyError as error:
            raise BadRequest(str(error)) from None

    def update(self, code: NewCode) -> CodeAnswer:
        """Replace the code of a running topology. BadRequest with the reason of `heronpy
        update`."""
        try:
            return CodeUpdates(self._open()[0], self._options.update).update(code)
        except TopologyError as error:
            raise BadRequest(str(error)) from None

    def _open(self) -> tuple[TopologyFolders, Submissions]:
        with self._lock:
            if self._opened is None:
                options = self._options
                folders = TopologyFolders(options.home, options.store_url, SERVICE)
                self._opened = folders, Submissions(self._store, folders, options.command)
            return self._opened


def submit_router(service: Service, options: TrackerOptions) -> APIRouter:
    """The routes of submissions and new code, which need an operator's token."""
    router = APIRouter(tags=["Operations"])
    submissions = None if options.submit is None else RestSubmissions(service.store, options.submit)

    @router.post(SUBMIT_PATH)
    async def submit(
        request: Request,
        name: Name,
        file: Name,
        topology: Name = "",
        deactivated: bool = False,
        config: Config = (),
    ) -> Response:
        """As `heronpy submit FILE -N NAME -o CONFIG`: the body is the file."""
        given = _checked(submissions, options, file)
        pairs = _pairs(config)

        def start(path: str) -> None:
            client = client_of(request, _way(request))
            given.submit(SubmittedFile(name, file, path, topology, not deactivated, client, pairs))

        await _uploaded(given, request, start)
        return enveloped(request, {"topology": name})

    @router.post(f"{SUBMIT_PATH}/{{name}}/code")
    async def code(
        request: Request,
        name: Annotated[str, Path(max_length=1000)],
        file: Name,
        allow_non_restored: bool = False,
    ) -> Response:
        """As `heronpy update NAME --code FILE`: the body is the file."""
        given = _checked(submissions, options, file)
        snapshot = await run_in_threadpool(lambda: RIGHTS.check_may_operate(service.topology(name)))

        def update(path: str) -> CodeAnswer:
            client = client_of(request, Way.REST)
            return given.update(NewCode(snapshot.name, file, path, allow_non_restored, client))

        answer = await _uploaded(given, request, update)
        result = {"topology": snapshot.name, "updated": answer.updated, "change": answer.change}
        return enveloped(request, result)

    return router


def _checked(
    submissions: RestSubmissions | None, options: TrackerOptions, file: str
) -> RestSubmissions:
    """The submissions; Unavailable without a login, BadRequest for the name of a file."""
    if submissions is None or not needs_login(options):
        raise Unavailable(
            "a submission executes the client's code: start `heronpy ui` with --token-file or "
            "--openid-issuer"
        )
    if not FILE_NAME.fullmatch(file) or not file.endswith(ENDINGS):
        raise BadRequest(f"file is the name of a file with the ending {', '.join(ENDINGS)}")
    return submissions


def _pairs(config: Sequence[str]) -> tuple[str, ...]:
    """The values of -o; BadRequest for another text."""
    for each in config:
        key, equals, _ = each.partition("=")
        if not key.strip() or not equals:
            raise BadRequest(f"config {each!r:.200} is not KEY=VALUE, as in topology.workers=2")
    return tuple(config)


def _way(request: Request) -> Way:
    """A browser says whose page sends the request, a program does not."""
    return Way.PAGE if ABOUT_THE_SITE & set(request.headers) else Way.REST


async def _uploaded(
    submissions: RestSubmissions, request: Request, use: Callable[[str], Result]
) -> Result:
    """What `use` returns for the path of the body; it may move the file. Unavailable if too many
    submissions are under way."""
    if not _free_submits.acquire(blocking=False):
        raise Unavailable(f"{SUBMITS_AT_ONCE} submissions are under way already: try again")
    path = ""
    try:
        path = await run_in_threadpool(submissions.new_upload)
        await _write(path, request.stream())
        return await run_in_threadpool(use, path)
    finally:
        _free_submits.release()
        if path and os.path.exists(path):
            os.unlink(path)


async def _write(path: str, chunks: AsyncIterator[bytes]) -> None:
    with open(path, "wb") as file:
        async for chunk in chunks:
            file.write(chunk)
