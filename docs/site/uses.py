"""Uses of public names: sections of the pages, and examples, with an import of the name.

A docstring describes a name; a program shows the use. Blocks without complete Python are skipped.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
PACKAGE = "heronpy_compat"
ORIGINALS = {
    "heronpy": PACKAGE,
    "streamparse": f"{PACKAGE}.streamparse",
    "pystorm": f"{PACKAGE}.pystorm",
}
"""Package of existing programs -> package that serves the import here."""
Use = tuple[str, PurePosixPath, str]
"""A title, the file of the repository, the anchor (empty: the whole file)."""
Uses = dict[tuple[str, str], list[Use]]
"""(module, name) of an import -> uses. Pages come before examples, because pages explain."""


def uses(root: Path, pages: list[str]) -> Uses:
    """Imports from the users' package in the pages and in the files below `examples`."""
    shown: dict[tuple[str, str], list[Use]] = defaultdict(list)
    for use, code in [*_blocks(root, pages), *_examples(root)]:
        for imported in _imports(code):
            if use not in shown[imported]:
                shown[imported].append(use)
    return shown


def _blocks(root: Path, pages: list[str]) -> Iterator[tuple[Use, str]]:
    """The blocks of the pages, with the headings above them."""
    for page in pages:
        text = (root / page).read_text("utf-8")
        for block in BLOCK.finditer(text):
            heading = _heading_above(BLOCK.sub(_blank, text), block.start())
            title = f"{PurePosixPath(page).stem}: {heading}"
            yield (title, PurePosixPath(page), _anchor(heading)), block.group(1)


def _blank(block: re.Match[str]) -> str:
    """As many characters without a heading."""
    return " " * len(block.group())


def _heading_above(text: str, position: int) -> str:
    headings = [each for each in HEADING.finditer(text) if each.start() < position]
    return headings[-1].group(1) if headings else ""


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _examples(root: Path) -> Iterator[tuple[Use, str]]:
    for path in sorted((root / "examples").rglob("*.py")):
        file = path.relative_to(root)
        yield (str(file), PurePosixPath(file), ""), path.read_text("utf-8")


def _imports(code: str) -> Iterator[tuple[str, str]]:
    """Imports from this project, also under the names of heronpy, streamparse and pystorm."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        first, dot, rest = node.module.partition(".")
        module = ORIGINALS.get(first, first) + dot + rest
        if module.startswith(PACKAGE):
            for alias in node.names:
                yield module, alias.name
