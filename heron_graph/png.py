"""A drawing as PNG: its SVG, with a font of a package, as a server may have none."""

from heron_core.errors import UsageError
from heron_graph.drawing import Drawing
from heron_graph.svg import to_svg

SCALE = 2
"""Pixels of the picture for one of the drawing: sharp on today's screens."""
MISSING = (
    "PNG needs the packages resvg-py and font-lato: pip install 'heronpy-topologies[png]', or draw"
    " -f svg or -f dot"
)


def to_png(drawing: Drawing, has_system_fonts: bool = True) -> bytes:
    """The picture's bytes; UsageError without the packages. Letters that Lato has not are those of
    the machine's fonts, if it has any, and else boxes."""
    try:
        from font_lato import font_files
        from resvg_py import svg_to_bytes
    except ImportError:
        raise UsageError(MISSING) from None
    return svg_to_bytes(
        to_svg(drawing),
        zoom=SCALE,
        font_files=[font_files["Lato"], font_files["LatoBold"]],
        sans_serif_family="Lato",
        skip_system_fonts=not has_system_fonts,
    )
