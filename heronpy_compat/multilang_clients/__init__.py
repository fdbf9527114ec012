"""Client modules of Storm's multi-lang protocol for children in Python, JavaScript and Ruby.

Storm's jars bring `storm.py`, `storm.js` and `storm.rb` for shell components; these are our own,
with the names that programs written for those use. `variables` puts them behind whatever a topology
ships itself, so its own module of that name wins. They speak JSON, Storm's default.
"""

import os
from collections.abc import Mapping

_HERE = os.path.dirname(os.path.abspath(__file__))
_PATHS = {"PYTHONPATH": "python", "NODE_PATH": "node", "RUBYLIB": "ruby"}
"""Variable that holds a language's search path -> our folder."""
_OPTIONS = {
    "NODE_OPTIONS": f'--require "{os.path.join(_HERE, "node", "find_storm.js")}"',
    "RUBYOPT": f"-r{os.path.join(_HERE, 'ruby', 'find_storm.rb')}",
}
"""For `require('./storm')` and `require "./storm"`, which look at no search path."""


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with our modules at the end of each language's search path."""
    merged = dict(environment)
    for name, folder in _PATHS.items():
        merged[name] = _joined(environment.get(name), os.path.join(_HERE, folder), os.pathsep)
    for name, option in _OPTIONS.items():
        if " " not in _HERE or name != "RUBYOPT":  # which cannot be quoted
            merged[name] = _joined(environment.get(name), option, " ")
    return merged


def _joined(before: str | None, added: str, separator: str) -> str:
    return f"{before}{separator}{added}" if before else added
