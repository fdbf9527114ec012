"""Configs as they may be shown: no secrets, no pickles."""

import re
from collections.abc import Mapping
from typing import Any

from heron_core.wire.pickled import Pickled

HIDDEN = "*****"
"""As Storm shows the value of a password."""
PICKLED = "(a Python object)"
_SECRET = re.compile(
    r"passw|passphrase|secret|token|credential|api.?key|private|auth", re.IGNORECASE
)
_IN_URL = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_IN_SETTINGS = re.compile(
    r"\b((?:\w*password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s;&]+)", re.IGNORECASE
)
"""Of libpq's and ODBC's texts: host=db password='x y', Server=db;Pwd=x."""


def shown_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same without the values of keys that sound secret, and without passwords in URLs."""
    return {str(key): _shown(str(key), value) for key, value in config.items()}


def _shown(key: str, value: Any) -> Any:
    if _SECRET.search(key) and value is not None and not isinstance(value, bool):
        return HIDDEN
    if isinstance(value, Pickled):
        return PICKLED
    if isinstance(value, Mapping):
        return shown_config(value)
    if isinstance(value, list | tuple):
        return [_shown("", each) for each in value]
    return _without_passwords(value) if isinstance(value, str) else value


def _without_passwords(text: str) -> str:
    return _IN_SETTINGS.sub(rf"\g<1>{HIDDEN}", _IN_URL.sub(HIDDEN, text))
