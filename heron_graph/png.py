"""A drawing as PNG, by Pillow, which brings a font of its own: a server may have none."""

import io
from typing import Any

from heron_core.errors import UsageError
from heron_graph.colours import ARROW, BACKGROUND, BOX, SMALL_TEXT, TEXT
from heron_graph.drawing import (
    NAME_SIZE,
    SMALL_SIZE,
    TITLE_SIZE,
    ArrowShape,
    BoxShape,
    Drawing,
    LabelShape,
    sampled,
)
from heron_graph.svg import CORNER, HALO, TITLE_AT, box_texts, label_texts

SCALE = 2
"""Pixels of the picture for one of the drawing: sharp on today's screens."""
SMOOTH = 2
"""It is painted so much larger and then shrunk: Pillow's lines have no smooth edges."""
STEPS = 24
LINE_WIDTH = 1.5
MISSING = (
    "PNG needs the package Pillow: pip install 'heronpy-topologies[png]', or draw -f svg or -f dot"
)


def to_png(drawing: Drawing) -> bytes:
    """The picture's bytes; UsageError without Pillow."""
    try:
        from PIL import Image
    except ImportError:
        raise UsageError(MISSING) from None
    painter = _Painter(drawing)
    for arrow in drawing.arrows:
        painter.arrow(arrow)
    for box in drawing.boxes:
        painter.box(box)
    for label in drawing.labels:
        painter.label(label)
    painter.text(
        TITLE_AT[0], TITLE_AT[1] - TITLE_SIZE * 0.35, drawing.title, TITLE_SIZE, TEXT, "lm"
    )
    size = (round(drawing.width * SCALE), round(drawing.height * SCALE))
    file = io.BytesIO()
    painter.image.resize(size, Image.Resampling.LANCZOS).save(file, "PNG")
    return file.getvalue()


class _Painter:
    """A large image, painted in the drawing's lengths."""

    def __init__(self, drawing: Drawing) -> None:
        from PIL import Image, ImageDraw

        self._by = SCALE * SMOOTH
        size = (round(drawing.width * self._by), round(drawing.height * self._by))
        self.image = Image.new("RGB", size, BACKGROUND)
        self._draw = ImageDraw.Draw(self.image)
        self._fonts: dict[int, Any] = {}

    def arrow(self, arrow: ArrowShape) -> None:
        """The curve and its head."""
        points = [self._large(*each) for each in sampled(arrow.segments, STEPS)]
        self._draw.line(points, fill=ARROW, width=round(LINE_WIDTH * self._by), joint="curve")
        self._draw.polygon([self._large(*each) for each in arrow.head()], fill=ARROW)

    def box(self, box: BoxShape) -> None:
        """The rounded box and its lines."""
        fill, stroke = BOX[box.is_spout]
        corners = [self._large(box.x, box.y), self._large(box.x + box.width, box.y + box.height)]
        self._draw.rounded_rectangle(
            corners,
            CORNER * self._by,
            fill=fill,
            outline=stroke,
            width=round(LINE_WIDTH * self._by),
        )
        for x, y, text, size in box_texts(box):
            self.text(x, y, text, size, TEXT if size == NAME_SIZE else SMALL_TEXT)

    def label(self, label: LabelShape) -> None:
        """The lines, each letter with a halo."""
        for x, y, text in label_texts(label):
            self.text(x, y, text, SMALL_SIZE, SMALL_TEXT, halo=HALO)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: str,
        anchor: str = "mm",
        halo: int = 0,
    ) -> None:
        """A line of text around a middle."""
        self._draw.text(
            self._large(x, y),
            text,
            fill=colour,
            font=self._font(size),
            anchor=anchor,
            stroke_width=halo * self._by,
            stroke_fill=BACKGROUND,
        )

    def _large(self, x: float, y: float) -> tuple[float, float]:
        return (x * self._by, y * self._by)

    def _font(self, size: int) -> Any:
        from PIL import ImageFont

        if size not in self._fonts:
            self._fonts[size] = ImageFont.load_default(size * self._by)
        return self._fonts[size]
