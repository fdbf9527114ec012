"""What the stages with windows have in common."""

from typing import Any

from heron_api.method_shapes import CheckedCall
from heron_api.stream import Grouping
from heron_api.windows.saved_windows import KeyOf
from heron_api.windows.window_bolt import SlidingWindowBolt
from heron_core.state.keys import key_of
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.keygrouping import KEY_GROUPING, key_and_value
from heronpy_compat.streamlet.impl.stage import FUNCTION, StageStreamlet, checked_function
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase
from heronpy_compat.streamlet.keyedwindow import KeyedWindow
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.window import Window
from heronpy_compat.streamlet.windowconfig import WindowConfig


class WindowStageBolt(SlidingWindowBolt, StreamletBoltBase):
    """A window bolt with a function, whose results are anchored to what they were made of."""

    FUNCTION = FUNCTION
    WINDOWDURATION = SlidingWindowBolt.WINDOW_DURATION_SECS
    SLIDEINTERVAL = SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Take the function out of the config."""
        super().initialize(config, context)
        self.function = CheckedCall("a window", config[FUNCTION])

    def emit_of_window(self, info: Any, result: Any, anchors: list[Any]) -> None:
        """Emit (Window, result)."""
        element = (Window(info.start, info.end), result)
        self.emit([element], stream=OUTPUT_STREAM, anchors=anchors)

    def emit_of_key(self, info: Any, key: Any, result: Any, anchors: list[Any]) -> None:
        """Emit (KeyedWindow, result)."""
        element = (KeyedWindow(key, Window(info.start, info.end)), result)
        self.emit([element], stream=OUTPUT_STREAM, anchors=anchors)


class KeyedWindowStageBolt(WindowStageBolt):
    """One whose elements are (key, value), grouped by their keys."""

    def grouping_key(self) -> KeyOf:
        """That of the element, whatever fields its stream has."""
        return _key_of_element


def _key_of_element(tup: Any) -> Any:
    key, _ = key_and_value(tup.values[0], "a window by key")
    return key_of([key])


class WindowStageStreamlet(StageStreamlet):
    """A streamlet of a WindowStageBolt."""

    def __init__(self, window_config: Any, function: Any, *parents: Streamlet) -> None:
        if not isinstance(window_config, WindowConfig):
            raise StreamletError(f"{self.prefix} takes a WindowConfig, not {window_config!r}")
        config = {
            FUNCTION: checked_function(self.prefix, function),
            WindowStageBolt.WINDOWDURATION: window_config.duration_secs,
            WindowStageBolt.SLIDEINTERVAL: window_config.slide_secs,
        }
        super().__init__(*parents, config=config)


class KeyedStageStreamlet(WindowStageStreamlet):
    """One whose elements are grouped by their keys."""

    def _grouping(self) -> Any:
        return Grouping.custom(KEY_GROUPING)
