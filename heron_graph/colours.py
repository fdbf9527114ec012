"""Colours of a drawing, as #rrggbb."""

BACKGROUND = "#ffffff"
TEXT = "#1c2733"
SMALL_TEXT = "#44546a"
ARROW = "#66788c"
BOX = {True: ("#dff3e4", "#3c9a5f"), False: ("#e1ecfb", "#3f74c4")}
"""Whether it is a spout -> fill and border."""
