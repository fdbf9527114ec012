"""Builds the site: python -m docs.site [--out build/site].

Writes the pages and the configuration into a folder of its own and runs the generator there. Each
link that leads nowhere, and each public name without a page, is a warning; a warning ends the build
with exit code 1. The result needs no server: its search works from files, too.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import yaml

from docs.site.navigation import markdown_files, navigation
from docs.site.pages import COPIED, HOME, Site, page_text, source_text
from docs.site.reference import reference_pages

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Write everything, build it, and end with the generator's exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="build/site")
    out = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    write_pages(out / "pages")
    write_configuration(out)
    generator = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    status = subprocess.run(generator, cwd=out, check=False).returncode
    if status == 0:
        pages = sum(1 for _ in (out / "html").rglob("*.html"))
        print(f"{pages} pages: {out / 'html' / 'index.html'}")
    sys.exit(status)


def write_pages(folder: Path) -> None:
    """All pages and what they link to."""
    site = Site(ROOT, {PurePosixPath(each): page_of(each) for each in markdown_files()})
    texts = {page: page_text(site, file) for file, page in site.pages.items()}
    texts |= {PurePosixPath(path): text for path, text in reference_pages(site).items()}
    texts |= {site.target(each): source_text(site, each) for each in sorted(site.sources)}
    for page, text in texts.items():
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    for file in (ROOT / "docs").rglob("*"):
        if file.suffix in COPIED and "site" not in file.parts[-2:-1]:
            target = folder / file.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def write_configuration(folder: Path) -> None:
    """mkdocs.yml, with the pages in their order."""
    settings = yaml.safe_load((ROOT / "docs" / "site" / "mkdocs.yml").read_text("utf-8"))
    settings["nav"] = navigation({each: str(page_of(each)) for each in markdown_files()})
    settings["plugins"][1]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(ROOT)]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")


def page_of(file: str) -> PurePosixPath:
    """The page of the site for a Markdown file of the repository."""
    if file == "README.md":
        return HOME
    path = PurePosixPath(file)
    if path.parts[0] == "docs":
        return PurePosixPath(path.name)
    if path.name == "README.md":
        return PurePosixPath(f"{'-'.join(path.parent.parts)}.md")
    return path


if __name__ == "__main__":
    main()
