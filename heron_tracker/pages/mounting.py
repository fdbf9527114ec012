"""Pages in addition to the REST services: routing, and loading of NiceGUI on first use.

NiceGUI takes a second to import, so the service starts without it. If NiceGUI is not installed
the REST services still work, and pages state in one line how to install it.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from fastapi import FastAPI
from starlette.responses import PlainTextResponse

from heron_tracker.pages.links import is_page
from heron_tracker.pages.notes import NOT_INSTALLED, are_installed
from heron_tracker.pages.permission import Refused
from heron_tracker.service import Service

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CLOSE_POLICY = 1008
"""Close code of a rejected websocket."""


class WithPages:
    """The application of the REST services, with pages for all other paths."""

    def __init__(self, rest: Application, service: Service, refused: Refused) -> None:
        self._rest = rest
        self._service = service
        self._refused = refused
        self._pages: FastAPI | None = None
        self._loading = asyncio.Lock()
        self._running = AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif not is_page(scope["path"]):
            await self._rest(scope, receive, send)
        elif not are_installed():
            await _refuse(scope, receive, send)
        else:
            await (await self._loaded())(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Lifetime of the server."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._running.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _loaded(self) -> FastAPI:
        """The pages, imported in a thread: only the first page request waits."""
        async with self._loading:
            if self._pages is None:
                site = await asyncio.to_thread(importlib.import_module, "heron_tracker.pages.site")
                pages: FastAPI = site.pages(self._service, self._refused)
                await self._running.enter_async_context(pages.router.lifespan_context(pages))
                self._pages = pages
            return self._pages


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": CLOSE_POLICY})
        return
    await PlainTextResponse(NOT_INSTALLED + "\n", 503)(scope, receive, send)
