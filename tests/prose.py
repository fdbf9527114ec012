"""Density of pro-forms in docstrings, comments and pages: `python -m tests.prose [FILE ...]`.

A sentence with the subject "it", "that" or "what" sends its reader back for the noun. Docs of h11
and distributed have five to six such words in 100, so a file with more than `PRO_FORMS_MAX` needs
nouns of the glossary. The figure is a limit, not an aim: a sentence that reads worse is not better.

Without files the command prints every file over a limit, worst first. Every file keeps the limits.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.sources import ROOT, modules, nodes
from tests.tidy_rules import PACKAGES

PRO_FORMS_MAX = 7.0
"""Per 100 words: a little above h11's 6.4."""
PERSONAL_MAX = 0.3
"""Per 1,000 words: a process is not a person, so a file of usual size has none."""
WORDS_MIN = 80
"""A file with fewer words is not measured: one sentence decides its density."""

WORD = re.compile(r"[A-Za-z][A-Za-z']*")
FENCED = re.compile(r"```.*?```", re.DOTALL)
QUOTED = re.compile(r"`[^`\n]+`")
PERSONAL = re.compile(r"who|whoever|whom|nobody|somebody|anybody|everybody")
PRO_FORM = re.compile(
    r"its?|that|this|those|these|what|which|ones?|others?|they|them|such|there|same"
    r"|none|anything|nothing|" + PERSONAL.pattern
)


@dataclass(frozen=True, slots=True)
class Prose:
    """Counts of one file's texts."""

    words: int
    pro_forms: int
    personal: int

    @property
    def density(self) -> float:
        """Pro-forms per 100 words."""
        return 100 * self.pro_forms / max(self.words, 1)

    @property
    def figures(self) -> str:
        """For a line of a report."""
        return f"{self.density:.1f} per 100 of {self.words} words, {self.personal} personal"

    @property
    def passes(self) -> bool:
        """Whether the file keeps both limits, or is too small to be measured."""
        personal = 1000 * self.personal / max(self.words, 1)
        return self.words < WORDS_MIN or (
            self.density <= PRO_FORMS_MAX and personal <= PERSONAL_MAX
        )


def python_texts(path: Path) -> Iterator[str]:
    """Docstrings, docstrings of attributes, and comments on lines of their own."""
    for node in nodes(path):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
    lines = path.read_text("utf-8").splitlines()
    yield from (line for line in lines if line.lstrip().startswith("# "))


def markdown_texts(path: Path) -> Iterator[str]:
    """Paragraphs and lists; code, tables and headings are left out."""
    lines = FENCED.sub("", path.read_text("utf-8")).splitlines()
    yield from (line for line in lines if not line.startswith(("    ", "|", "#")))


def measured(path: Path) -> Prose:
    """Counts of a .py or .md file; a pro-form in `code` is a name. SyntaxError: not Python."""
    texts = python_texts if path.suffix == ".py" else markdown_texts
    text = "\n".join(texts(path)).lower()
    prose_words = WORD.findall(QUOTED.sub("", text))
    return Prose(
        len(WORD.findall(text)),
        sum(PRO_FORM.fullmatch(word) is not None for word in prose_words),
        sum(PERSONAL.fullmatch(word) is not None for word in prose_words),
    )


def over_the_limit(paths: list[Path]) -> dict[str, Prose]:
    """Files that exceed a limit, by their names relative to the repository."""
    counts = {path.resolve().relative_to(ROOT).as_posix(): measured(path) for path in paths}
    return {name: prose for name, prose in counts.items() if not prose.passes}


def measured_files() -> list[Path]:
    """Python files and pages of the repository; CHANGELOG.md is a record of the past."""
    at_the_root = [path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"]
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *at_the_root]
    return modules(*PACKAGES, "heron_engine", "tests", "benchmarks", "examples") + pages


def main() -> None:
    """Print files over a limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path, help="default: every measured file")
    given = parser.parse_args()
    over = over_the_limit(given.files or measured_files())
    for name, prose in sorted(over.items(), key=lambda row: -row[1].density):
        print(f"{name}: {prose.figures}")


if __name__ == "__main__":
    main()
