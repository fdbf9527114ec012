"""Numbers on the command line: what is no number a person means is refused, in one line."""

import math
from collections.abc import Callable
from typing import Any

import click

from heron_core.config import SECONDS_MAX
from heron_core.errors import shown


class Seconds(click.FloatRange):
    """Seconds of at least `min`: neither NaN nor without end."""

    def __init__(self, min: float = 0.0, min_open: bool = False) -> None:  # noqa: A002 (click's)
        super().__init__(min=min, max=SECONDS_MAX, min_open=min_open)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """See click.ParamType."""
        try:
            is_number = math.isfinite(float(value))
        except (TypeError, ValueError, OverflowError):
            is_number = False
        if not is_number:
            self.fail(f"{shown(value)} is not a number of seconds", param, ctx)
        return float(super().convert(value, param, ctx))


def wait_option(what: str) -> Callable[[Any], Any]:
    """--wait, as `wait_secs`."""
    return click.option(
        "--wait", "wait_secs", type=Seconds(), default=5.0, show_default=True, metavar="SECONDS",
        help=what,
    )  # fmt: skip
