"""Client modules of Storm's multi-lang protocol for children in Python, JavaScript and Ruby.

Storm's jars contain `storm.py`, `storm.js` and `storm.rb` for shell components; the modules here
have the same public names. `variables` adds them to the end of each language's search path, so a
module shipped with the topology takes precedence. The encoding is JSON, Storm's default.
"""

import os
from collections.abc import Mapping

_HERE = os.path.dirname(os.path.abspath(__file__))
_PATHS = {"PYTHONPATH": "python", "NODE_PATH": "node", "RUBYLIB": "ruby"}
"""Environment variable of a language's search path -> folder of the client modules."""
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
        if " " not in _HERE or name != "RUBYOPT":  # a path separator cannot be quoted
            merged[name] = _joined(environment.get(name), option, " ")
    return merged


def _joined(before: str | None, added: str, separator: str) -> str:
    return f"{before}{separator}{added}" if before else added
