"""The colours of the style sheet can be told from their ground: WCAG AA asks for 4.5 to 1."""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

import heron_tracker.pages

STYLE = Path(heron_tracker.pages.__file__).with_name("style.css").read_text("utf-8")
TEXTS = ("text", "quiet", "good", "warning", "bad", "link")
GROUNDS = ("ground", "panel")
CODE, CODE_SHARE = "#8091a3", 0x26 / 0xFF
"""The ground of `code`, and how much of it covers the ground below."""
RATIO_LEAST = 4.5


def colours(selector: str) -> Mapping[str, str]:
    """name -> #rrggbb, of a block of the style sheet."""
    block = STYLE.split(selector + " {", 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))


def channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def luminance(parts: list[float]) -> float:
    """As WCAG defines it."""
    shares = [part / 255 for part in parts]
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ratio(text: str, ground: list[float]) -> float:
    lighter, darker = sorted((luminance([*channels(text)]), luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("selector", [":root", "body.body--dark"])
def test_each_text_can_be_read_on_each_ground(selector: str) -> None:
    found = colours(selector)
    assert {*TEXTS, *GROUNDS} <= set(found)
    for text, ground in product(TEXTS, GROUNDS):
        plain = [float(each) for each in channels(found[ground])]
        code = [
            CODE_SHARE * over + (1 - CODE_SHARE) * below
            for over, below in zip(channels(CODE), plain, strict=True)
        ]
        assert ratio(found[text], plain) >= RATIO_LEAST, (text, ground)
        assert ratio(found[text], code) >= RATIO_LEAST, (text, ground, "code")
