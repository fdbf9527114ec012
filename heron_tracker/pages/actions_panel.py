"""The buttons of a topology: each asks once, leaves a durable request and shows its progress."""

import asyncio
import time
from collections.abc import Callable, Mapping

from nicegui import ui

from heron_core.errors import HeronError
from heron_core.operations import Operation, Requester
from heron_engine.scheduler.user_folder import Home
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.actions_view import (
    DESTRUCTIVE,
    KINDS,
    Action,
    arguments_of,
    available,
    parallelism,
    progress,
    question,
)
from heron_tracker.pages.frame import ShownPart
from heron_tracker.service import Service


class ActionsPanel:
    """Of one topology."""

    def __init__(
        self, service: Service, name: str, refused: Callable[[], str], reader: Requester
    ) -> None:
        self._service = service
        self._name = name
        self._refused = refused
        self._reader = reader
        self._number: int | None = None
        self._buttons: ShownPart[tuple[Action, ...]] = ShownPart(self._draw)
        self._progress = ui.label().classes("progress").props('role="status"')

    def show(self, snapshot: TopologySnapshot, operations: Mapping[int, Operation]) -> None:
        """The buttons that make sense now, and how far the last request has come."""
        self._buttons.show(available(snapshot))
        if self._number is None:
            return
        found = progress(self._number, operations.get(self._number), self._name)
        self._say(found.text, found.has_failed)

    def _draw(self, actions: tuple[Action, ...]) -> None:
        with ui.element("div").classes("actions"):
            for action in actions:
                button = ui.button(action.value, on_click=lambda _, each=action: self._begin(each))
                button.props("outline dense no-caps")
                if action in DESTRUCTIVE:
                    button.props("color=negative")

    async def _begin(self, action: Action) -> None:
        """The refusal instead of the question, where the reader may not act."""
        if refused := await asyncio.to_thread(self._refused):
            self._say(refused, is_bad=True)
        else:
            self._ask(action)

    def _ask(self, action: Action) -> None:
        """The question, with a form if it needs one."""
        try:
            snapshot = self._service.topology(self._name)
        except HeronError as error:
            ui.notify(str(error), type="negative")
            return
        fields: dict[str, ui.number] = {}
        with ui.dialog() as dialog, ui.card():
            ui.label(question(action, snapshot)).classes("question")
            if action is Action.RESCALE:
                for name, count in parallelism(snapshot.packing).items():
                    fields[name] = ui.number(name, value=count, min=1, step=1)

            async def confirmed() -> None:
                dialog.close()
                await self._do(action, {name: each.value for name, each in fields.items()})

            with ui.row():
                yes = ui.button(f"Yes, {action.value.lower()}", on_click=confirmed)
                yes.props("no-caps" + (" color=negative" if action in DESTRUCTIVE else ""))
                ui.button("No", on_click=dialog.close).props("flat no-caps autofocus")
        dialog.open()

    async def _do(self, action: Action, wanted: Mapping[str, float | None]) -> None:
        text, number = await asyncio.to_thread(self._asked, action, wanted)
        self._number = self._number if number is None else number
        self._say(text, is_bad=number is None)

    def _say(self, text: str, is_bad: bool) -> None:
        self._progress.set_text(text)
        self._progress.classes(replace="progress" + (" bad" if is_bad else ""))

    def _asked(self, action: Action, wanted: Mapping[str, float | None]) -> tuple[str, int | None]:
        """What to say, and the number of the request; None for one that is refused."""
        if refused := self._refused():
            return refused, None
        folder = Home.of_user().savepoint(self._name, time.strftime("%Y%m%d-%H%M%S"))
        try:
            snapshot = self._service.topology(self._name)
            arguments = arguments_of(action, snapshot, wanted, folder)
            number = self._service.ask(snapshot, KINDS[action], arguments, self._reader)
        except HeronError as error:
            return str(error), None
        return f"{action.value}: request {number} stands in the state store", number
