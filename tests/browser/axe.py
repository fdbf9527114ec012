"""axe-core checks a page by the rules of WCAG; npm fetches the script once, and git ignores it.

The licence of axe-core is MPL-2.0; the file is used as it is, and only in these tests.
"""

import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

VERSION = "4.14.1"
CACHE = Path(__file__).parents[2] / ".cache"
SCRIPT = CACHE / f"axe-core-{VERSION}.js"
MEMBER = "package/axe.min.js"
FETCH_SECS_MAX = 120.0
"""Two seconds where the registry answers."""
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_RUN = "rules => axe.run({resultTypes: ['violations'], runOnly: {type: 'tag', values: rules}})"


class NoAxe(Exception):
    """npm is not installed, or does not reach the registry; the text is one line."""


def script() -> str:
    """The text of axe-core, fetched if absent; NoAxe without npm or the registry."""
    if not SCRIPT.exists():
        _fetch()
    return SCRIPT.read_text("utf-8")


def _fetch() -> None:
    """The file appears whole or not at all."""
    npm = shutil.which("npm")
    if npm is None:
        raise NoAxe("this needs npm, which is not installed")
    CACHE.mkdir(exist_ok=True)
    command = [npm, "pack", "--silent", f"axe-core@{VERSION}"]
    try:
        packed = subprocess.run(
            command, cwd=CACHE, capture_output=True, check=True, text=True, timeout=FETCH_SECS_MAX
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise NoAxe(f"this needs axe-core {VERSION} of the npm registry: {error}") from None
    archive = CACHE / packed.stdout.split()[-1]
    with tarfile.open(archive) as opened:
        member = opened.extractfile(MEMBER)
        assert member is not None, f"{archive} has no {MEMBER}"
        partial = SCRIPT.with_suffix(".part")
        partial.write_bytes(member.read())
    partial.rename(SCRIPT)
    archive.unlink()


def violations(page: Page) -> list[str]:
    """The violations of a page that has run `script`: a line for each element."""
    found: Mapping[str, Any] = page.evaluate(_RUN, list(RULES))
    return [
        f"{rule['id']}: {_reason(element)}: {element['html'][:200]}"
        for rule in found["violations"]
        for element in rule["nodes"]
    ]


def _reason(element: Mapping[str, Any]) -> str:
    checks = [*element["any"], *element["all"], *element["none"]]
    return str(checks[0]["message"]) if checks else ""
