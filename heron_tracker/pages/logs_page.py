"""The logs of a topology: choose a file, search in it, follow it."""

import asyncio
from collections.abc import Collection
from typing import Any

from fastapi import Request
from nicegui import ui

from heron_core.errors import HeronError
from heron_core.validation import choices
from heron_tracker import log_files
from heron_tracker.envelope import NotFound
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.frame import frame, keep_fresh
from heron_tracker.pages.log_view import PIECE_BYTES, LogTail, first_file
from heron_tracker.service import Service

FOLLOW_SECS = 1.0
_SCROLL = "const e = getHtmlElement({}); e.scrollTop = e.scrollHeight;"


def logs_page(service: Service, request: Request, name: str, file: str) -> None:
    """Draw it; `file` is shown first, else the one of log_view.first_file."""
    with frame(request, f"Logs · {name}", name, "logs"):
        _Viewer(service, name, file)


class _Viewer:
    """One file at a time."""

    def __init__(self, service: Service, name: str, file: str) -> None:
        self._service, self._name = service, name
        self._tail = LogTail()
        with ui.element("div").classes("controls"):
            self._file = ui.select(
                [file] if file else [], value=file or None, label="File", on_change=self._chosen
            )
            self._words = ui.input("Search: lines with all words", on_change=self._draw)
            self._words.props("clearable")
            self._follow = ui.checkbox("Follow", value=True)
            self._count = ui.label().classes("quiet").props('role="status"')
        self._lines = ui.label().classes("lines").props('tabindex="0" role="log" aria-label="Log"')
        keep_fresh(self._read, FOLLOW_SECS)

    def _chosen(self) -> None:
        self._tail = LogTail()
        self._draw()

    async def _read(self) -> None:
        """What is new in the file, and which files there are."""
        if not self._follow.value and self._tail.lines:
            return
        try:
            snapshot = self._service.topology(self._name)
            files = await asyncio.to_thread(log_files.file_stats, snapshot, ".")
            self._offer([each for each, stat in files.items() if not stat["is_dir"]])
            # Only now: the first look chooses the file, which begins the tail again.
            tail, file = self._tail, str(self._file.value or "")
            if not file:
                self._count.set_text("The topology has no logs yet")
                return
            piece = await asyncio.to_thread(self._piece, snapshot, file, tail.offset, files)
        except HeronError as error:
            self._count.set_text(str(error))
            return
        if tail.take(piece["offset"], piece["length"], piece["data"]) or not tail.lines:
            self._draw()

    def _piece(
        self, snapshot: TopologySnapshot, file: str, offset: int, files: Collection[str]
    ) -> dict[str, Any]:
        """New bytes of a file; NotFound, with the names that are near it, if it is not there."""
        try:
            return log_files.file_data(snapshot, file, offset, PIECE_BYTES)
        except NotFound as error:
            raise NotFound(f"{error}: {choices('files', file, files)}") from None

    def _offer(self, files: list[str]) -> None:
        current: str | None = self._file.value or first_file(files)
        options = sorted({*files, current} if current else files)
        if options != self._file.options or current != self._file.value:
            self._file.set_options(options, value=current)

    def _draw(self) -> None:
        found = self._tail.matching(str(self._words.value or ""))
        self._lines.set_text("\n".join(found))
        self._count.set_text(f"{len(found)} of {len(self._tail.lines)} lines")
        if self._follow.value:
            ui.run_javascript(_SCROLL.format(self._lines.id))
