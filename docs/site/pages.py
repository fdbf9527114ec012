"""Pages of the repository as pages of the site: links are changed, sources become pages.

A page of the repository links to other pages, images and sources of a checkout, which the site does
not have. Each Markdown file keeps its text, and each link leads to

- the page of the site, where the file is one;
- a copy, where the file is an image or data of docs;
- a page that shows the source, where the file is one of the repository;
- a page that lists the files, where it is a folder.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import relpath

LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FENCE = re.compile(r"^ {0,3}(```|~~~)")
INDENTED = re.compile(r"^( {4}|\t)")
HOME = PurePosixPath("index.md")
LANGUAGES = {
    ".json": "json", ".py": "python", ".pyi": "python", ".service": "ini", ".sh": "bash",
    ".toml": "toml", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
COPIED = {".png", ".svg", ".yml"}
"""Files below docs with these endings are copied as they are."""


@dataclass(slots=True)
class Site:
    """What the site consists of; pages are added until each link has its target."""

    root: Path
    pages: dict[PurePosixPath, PurePosixPath]
    """Markdown files of the repository -> pages of the site."""
    sources: set[PurePosixPath] = field(default_factory=set)
    """Files and folders of the repository that a page links to."""

    def target(self, file: PurePosixPath) -> PurePosixPath:
        """The page or file of the site for a file of the repository."""
        if file in self.pages:
            return self.pages[file]
        if file.parts[0] == "docs" and file.suffix in COPIED:
            return file.relative_to("docs")
        self.sources.add(file)
        return PurePosixPath("source") / f"{file}.md"


def page_text(site: Site, file: PurePosixPath) -> str:
    """The text of a page with its links led to pages of the site."""
    text = (site.root / file).read_text("utf-8")
    return "".join(
        line if is_code else _with_links(site, file, line) for line, is_code in _lines(text)
    )


def source_text(site: Site, file: PurePosixPath) -> str:
    """A page that shows a file of the repository, or lists the files of a folder."""
    path = site.root / file
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if not each.name.startswith(("_", ".")))
        return f"# {file}\n\nA folder of the source distribution:\n\n" + "".join(
            f"- `{name}`\n" for name in names
        )
    language = LANGUAGES.get(file.suffix, "text")
    content = path.read_text("utf-8").rstrip("\n")
    fence = "`" * (1 + max((len(run) for run in re.findall("`{3,}", content)), default=3))
    return f"# {file}\n\n{fence}{language}\n{content}\n{fence}\n"


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is code, whose brackets are not links."""
    fenced = False
    for line in text.splitlines(keepends=True):
        is_fence = bool(FENCE.match(line))
        yield line, fenced or is_fence or bool(INDENTED.match(line))
        fenced ^= is_fence


def _with_links(site: Site, file: PurePosixPath, line: str) -> str:
    return LINK.sub(lambda link: _led(site, file, link.group(1)), line)


def _led(site: Site, file: PurePosixPath, link: str) -> str:
    """A link of a page of the repository as one of its page of the site."""
    address, hash_mark, anchor = link.partition("#")
    if not address or "://" in address or address.startswith("mailto:"):
        return link
    linked = (site.root / file.parent / address).resolve().relative_to(site.root)
    target = site.target(PurePosixPath(linked.as_posix()))
    here = site.pages[file].parent
    return relpath(str(target), str(here)) + hash_mark + anchor
