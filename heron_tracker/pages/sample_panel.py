"""The next tuples that a component sends on one of its streams, on its page."""

import asyncio
import json
from collections.abc import Callable

from nicegui import ui

from heron_core.errors import HeronError
from heron_core.number_text import counted
from heron_core.topology import DEFAULT_STREAM
from heron_io.stream_sample import COUNT, COUNT_MAX, SECS, WantedSample
from heron_tracker.service import Service


class SamplePanel:
    """Of one component."""

    def __init__(
        self, service: Service, topology: str, component: str, refused: Callable[[], str]
    ) -> None:
        self._service = service
        self._topology = topology
        self._component = component
        self._refused = refused
        streams = _streams(service, topology, component)
        first = DEFAULT_STREAM if DEFAULT_STREAM in streams else next(iter(streams), None)
        with ui.element("div").classes("controls"):
            self._stream = ui.select(streams, value=first, label="Stream")
            self._count = ui.number("Tuples", value=COUNT, min=1, max=COUNT_MAX, step=1)
            self._button = ui.button("Sample", on_click=self._sample).props("no-caps")
        self._status = ui.label().classes("caption").props('role="status"')
        self._lines = ui.label().classes("trace")
        self._lines.set_visibility(False)
        if first is None:
            self._button.disable()
            self._status.set_text("It declares no stream")

    async def _sample(self) -> None:
        if refused := self._refused():
            self._status.set_text(refused)
            return
        count = int(min(max(float(self._count.value or COUNT), 1), COUNT_MAX))
        wanted = WantedSample(self._component, str(self._stream.value), count)
        self._button.disable()
        self._status.set_text(f"waiting for {counted(count, 'tuple')}")
        try:
            tuples = await asyncio.to_thread(self._service.sample, self._topology, wanted)
        except HeronError as error:
            self._status.set_text(str(error))
            return
        finally:
            self._button.enable()
        lines = [f"{sample['instance']} {_text(sample['values'])}" for sample in tuples]
        self._lines.set_text("\n".join(lines))
        self._lines.set_visibility(bool(lines))
        late = f", no more in {SECS} s" if len(tuples) < count else ""
        self._status.set_text(f"{counted(len(tuples), 'tuple')} on {wanted.stream}{late}")


def _text(values: object) -> str:
    return json.dumps(values, ensure_ascii=False)


def _streams(service: Service, topology: str, component: str) -> list[str]:
    known = service.visible(topology)
    found = known.spec.by_name.get(component) if known is not None and known.spec else None
    return [output.name for output in found.outputs] if found is not None else []
