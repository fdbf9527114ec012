"""Pictures by ECharts, which are sent again only when they have changed."""

from collections.abc import Callable
from typing import Any, Literal

from nicegui import events, ui


class Chart:
    """One picture."""

    def __init__(
        self,
        renderer: Literal["canvas", "svg"],
        style: str = "chart",
        clicked: Callable[[events.EChartPointClickEventArguments], None] | None = None,
        label: str = "",
    ) -> None:
        """`style`: its class in the style sheet; `label`: for those who cannot see it."""
        self._chart = ui.echart({}, on_point_click=clicked, renderer=renderer).classes(style)
        if label:
            self._chart.props(f'role="img" aria-label="{label}"')
        self._shown: dict[str, Any] = {}

    def resize(self, width_least: int, height: int) -> None:
        """Both in pixels."""
        self._chart.style(f"min-width: {width_least}px; height: {height}px")

    def show(self, options: dict[str, Any]) -> None:
        """Draw it by these options of ECharts.

        NiceGUI watches each list and dict that it is given for changes, which takes longer than all
        else for thousands of points. What is in a tuple it leaves alone.
        """
        if options == self._shown:
            return
        self._shown = options
        self._chart.options.update(
            {name: tuple(x) if isinstance(x, list) else x for name, x in options.items()}
        )
