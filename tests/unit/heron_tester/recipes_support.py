"""Programs of a page of recipes, and the output of each on the page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def programs(page: str) -> dict[str, str]:
    """Name of a module -> its text, of each block of docs/PAGE that is a file."""
    return {name: program for name, program, _ in _blocks(page)}


def shown(page: str) -> dict[str, list[list[str]]]:
    """Name of a module -> the indented paragraphs behind its block, each as its lines.

    Commands are a paragraph in front of their output.
    """
    paragraphs: dict[str, list[list[str]]] = {}
    for name, _, behind in _blocks(page):
        paragraphs[name] = [
            [line.removeprefix("    ") for line in paragraph.splitlines()]
            for paragraph in re.findall(r"(?:^    .*\n)+", behind, re.MULTILINE)
        ]
    return paragraphs


def text_of(page: str) -> str:
    """Of docs/PAGE."""
    return (ROOT / "docs" / page).read_text("utf-8")


def _blocks(page: str) -> list[tuple[str, str, str]]:
    """(name, program, the text behind it) of each block that begins with `# NAME.py`."""
    return re.findall(
        r"```python\n(?=# (\w+)\.py\n)(.*?)```\n(.*?)(?=```python\n|\n## |\Z)",
        text_of(page),
        re.DOTALL,
    )
