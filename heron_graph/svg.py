"""A drawing as SVG text."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from heron_graph.drawing import (
    LINE_HEIGHT,
    NAME_SIZE,
    SMALL_SIZE,
    TITLE_SIZE,
    ArrowShape,
    BoxShape,
    Drawing,
    LabelShape,
)

BACKGROUND = "#ffffff"
TEXT = "#1c2733"
SMALL_TEXT = "#44546a"
ARROW = "#66788c"
BOX = {True: ("#dff3e4", "#3c9a5f"), False: ("#e1ecfb", "#3f74c4")}
"""Whether it is a spout -> fill and border."""

FONTS = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
TITLE_AT = (24.0, 34.0)
CORNER = 8
HALO = 3
"""Around the letters on an arrow, in the background's colour."""
BASELINE = 0.35
"""From a line's middle to where its letters stand, in the font's size."""


def to_svg(drawing: Drawing) -> str:
    """The picture; it needs no font and no file but what every viewer has."""
    width, height = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONTS}">'
    )
    lines = [
        begin,
        f"<title>{escape(drawing.title)}</title>",
        f'<rect width="{width}" height="{height}" fill="{BACKGROUND}"/>',
        _text(*TITLE_AT, drawing.title, TITLE_SIZE, TEXT, "start", bold=True),
        *(line for arrow in drawing.arrows for line in _arrow(arrow)),
        *(line for box in drawing.boxes for line in _box(box)),
        *(line for label in drawing.labels for line in _label(label)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _arrow(arrow: ArrowShape) -> Iterator[str]:
    x, y = arrow.segments[0][0]
    path = [f"M{x:.1f},{y:.1f}"]
    for _, one, two, end in arrow.segments:
        path.append("C" + " ".join(f"{px:.1f},{py:.1f}" for px, py in (one, two, end)))
    yield f'<path d="{" ".join(path)}" fill="none" stroke="{ARROW}" stroke-width="1.5"/>'
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in arrow.head())
    yield f'<polygon points="{points}" fill="{ARROW}"/>'


def _box(box: BoxShape) -> Iterator[str]:
    fill, stroke = BOX[box.is_spout]
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{CORNER}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
    )
    for x, y, text, size in _box_texts(box):
        bold = size == NAME_SIZE
        yield _text(x, y + size * BASELINE, text, size, TEXT if bold else SMALL_TEXT, bold=bold)


def _label(label: LabelShape) -> Iterator[str]:
    for x, y, text in _label_texts(label):
        halo = f' stroke="{BACKGROUND}" stroke-width="{2 * HALO}" paint-order="stroke"'
        yield _text(x, y + SMALL_SIZE * BASELINE, text, SMALL_SIZE, SMALL_TEXT, more=halo)


def _text(
    x: float,
    y: float,
    text: str,
    size: int,
    colour: str,
    anchor: str = "middle",
    bold: bool = False,
    more: str = "",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" '
        f'text-anchor="{anchor}"{weight}{more}>{escape(text)}</text>'
    )


def _box_texts(box: BoxShape) -> Iterator[tuple[float, float, str, int]]:
    """Middle, text and size of each line in a box, from top to bottom."""
    height = (NAME_SIZE + len(box.lines) * SMALL_SIZE) * LINE_HEIGHT
    y = box.y + (box.height - height) / 2
    for text, size in ((box.name, NAME_SIZE), *((each, SMALL_SIZE) for each in box.lines)):
        yield box.x + box.width / 2, y + size * LINE_HEIGHT / 2, text, size
        y += size * LINE_HEIGHT


def _label_texts(label: LabelShape) -> Iterator[tuple[float, float, str]]:
    """Middle and text of each line of a label, from top to bottom."""
    top = label.y - label.height / 2
    for at, text in enumerate(label.lines):
        yield label.x, top + (at + 0.5) * SMALL_SIZE * LINE_HEIGHT, text
