"""What a running instance does: a flame graph over some seconds, or its stack at this moment."""

import asyncio
from collections.abc import Callable

from fastapi import Request
from nicegui import ui

from heron_core.errors import HeronError
from heron_core.number_text import counted
from heron_core.stats import InstanceStats
from heron_core.validation import choices
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.flame_view import flame_svg, tree_of
from heron_tracker.pages.frame import frame
from heron_tracker.service import Service
from heron_tracker.stacks import RECORD_SECS_MAX, folded_stacks, stack_answer

SECS = 5


def profile_page(service: Service, request: Request, name: str, instance: str) -> None:
    """Draw it; `instance` is chosen first."""
    with frame(request, f"Profile · {name}", name, "profile"):
        _Profiler(service, name, instance)


class _Profiler:
    """Of one topology."""

    def __init__(self, service: Service, name: str, instance: str) -> None:
        self._service, self._name = service, name
        known = service.visible(name)
        names = [instance.instance for instance in known.instances] if known is not None else []
        chosen = instance if instance in names else next(reversed(names), None)
        with ui.element("div").classes("controls"):
            self._instance = ui.select(names, value=chosen, label="Instance")
            self._secs = ui.number("Seconds", value=SECS, min=1, max=RECORD_SECS_MAX, step=1)
            self._buttons = [
                ui.button("Flame graph", on_click=self._record).props("no-caps"),
                ui.button("Stack now", on_click=self._dump).props("outline no-caps"),
            ]
        self._status = ui.label().classes("caption").props('role="status"')
        self._flame = ui.html(sanitize=False).classes("flame")
        self._stack = ui.label().classes("trace")
        self._stack.set_visibility(False)
        if instance and instance not in names:
            listed = choices("instances", instance, names)
            self._status.set_text(f"{name} has no instance {instance!r:.200}: {listed}")

    async def _record(self) -> None:
        secs = int(min(max(float(self._secs.value or SECS), 1), RECORD_SECS_MAX))
        self._status.set_text(f"py-spy looks for {counted(secs, 'second')}")

        def record(snapshot: TopologySnapshot, instance: InstanceStats) -> str:
            return folded_stacks(snapshot, instance, secs)

        folded = await self._of_instance(record)
        if folded is None:
            return
        root = tree_of(folded)
        self._flame.set_content(flame_svg(root) if root.samples else "")
        idle = "" if root.samples else ": it was idle all the time"
        self._status.set_text(
            f"{self._instance.value}: {counted(root.samples, 'sample')} in "
            f"{counted(secs, 'second')}{idle}"
        )

    async def _dump(self) -> None:
        def dump(snapshot: TopologySnapshot, instance: InstanceStats) -> str:
            return str(stack_answer(snapshot, instance)["stdout"])

        stack = await self._of_instance(dump)
        if stack is not None:
            self._stack.set_text(stack)
            self._stack.set_visibility(True)
            self._status.set_text(f"{self._instance.value} at this moment")

    async def _of_instance(
        self, ask: Callable[[TopologySnapshot, InstanceStats], str]
    ) -> str | None:
        """In a thread: py-spy takes its time. None, with the reason in one line, if it cannot be
        had."""
        for button in self._buttons:
            button.disable()
        try:
            snapshot = self._service.topology(self._name)
            instance = self._service.instance(snapshot, str(self._instance.value))
            return await asyncio.to_thread(ask, snapshot, instance)
        except HeronError as error:
            self._status.set_text(str(error))
            return None
        finally:
            for button in self._buttons:
                button.enable()
