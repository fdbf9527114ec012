"""Keys of a cluster's file, and their values. Pure."""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from heron_core.config.names import FIRST_FIT_DECREASING, ROUND_ROBIN
from heron_core.sizes import parse_size
from heron_core.validation import choices

if TYPE_CHECKING:
    from heron_frontends.flux.documents import Located

    Reader = Callable[[Located], Any]

SCHEDULERS = ("local", "spark", "aurora", "yarn", "kubernetes")
_STATE = re.compile(
    r"zk://[^\s/]+:\d+(,[^\s/]+:\d+)*(/\S*)?|file:///\S.*|kubernetes://[a-z0-9-]+(/\S*)?"
)
_IDENTIFIER = re.compile(r"[\w.-]+", re.ASCII)


def read_section(located: "Located", known: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping's values by their readers; a reader that is a mapping itself is a section below.

    TopologyError with file and line for an unknown key and for what no reader takes.
    """
    if not isinstance(located.value, dict):
        raise located.position.wrong("expected a mapping of keys to values")
    values = {}
    for key, located_value in located.value.items():
        if key not in known:
            hint = choices("keys", str(key), known)
            raise located_value.position.wrong(f"the key {key!r} is not known; {hint}")
        reader = known[key]
        if isinstance(reader, Mapping):
            values[key] = read_section(located_value, reader)
        else:
            values[key] = reader(located_value)
    return values


def text(located: "Located") -> str:
    """A non-empty word."""
    if not isinstance(located.value, str) or not located.value.strip():
        raise located.position.wrong(f"expected text, not {located.plain()!r}")
    return located.value


def flag(located: "Located") -> bool:
    """true or false."""
    if not isinstance(located.value, bool):
        raise located.position.wrong(f"expected true or false, not {located.plain()!r}")
    return located.value


def count(located: "Located") -> int:
    """A whole number of at least 1."""
    if isinstance(located.value, bool) or not isinstance(located.value, int) or located.value < 1:
        raise located.position.wrong(
            f"this must be a whole number of at least 1, not {located.plain()!r}"
        )
    return located.value


def cores(located: "Located") -> float:
    """A positive number."""
    value = located.value
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise located.position.wrong(f"this must be a number of cores, not {located.plain()!r}")
    return float(value)


def size(located: "Located") -> int:
    """Bytes, as a number or as in 512MB; the units are powers of 1024, as Heron's."""
    try:
        number = parse_size(located.value)
    except ValueError:
        number = 0
    if number < 1:
        raise located.position.wrong(f"expected a size such as 512MB, not {located.plain()!r}")
    return number


def choice(*words: str) -> "Reader":
    """One of `words`."""

    def read(located: "Located") -> str:
        if located.value not in words:
            hint = choices("choices", str(located.plain()), words)
            raise located.position.wrong(f"{located.plain()!r} is not one of the choices; {hint}")
        return str(located.value)

    return read


def state(located: "Located") -> str:
    """The URL of a state store."""
    if not _STATE.fullmatch(text(located)):
        raise located.position.wrong(
            f"{located.value!r} is not a state store: zk://HOST:PORT/ROOT, "
            "kubernetes://NAMESPACE or file:///folder"
        )
    return text(located)


def folder(located: "Located") -> str:
    """The absolute path of a folder, or the URL of one."""
    if not text(located).startswith("/") and "://" not in located.value:
        raise located.position.wrong(
            f"{located.value!r} is neither an absolute path nor a URL such as s3://BUCKET/FOLDER"
        )
    return text(located).rstrip("/")


def identifier(located: "Located") -> str:
    """A name as Aurora takes it in a job's key."""
    if not _IDENTIFIER.fullmatch(text(located)):
        raise located.position.wrong(
            f"{located.value!r} is not a name: letters, digits, '_', '-' and '.' may be in it"
        )
    return text(located)


def command(located: "Located") -> str:
    """A command line."""
    try:
        words = shlex.split(text(located))
    except ValueError as error:
        raise located.position.wrong(f"{located.value!r} is not a command line: {error}") from None
    if not words:
        raise located.position.wrong("expected a command line")
    return text(located)


def fetch(located: "Located") -> str:
    """A command line with {uri} and {file} in it."""
    for name in ("{uri}", "{file}"):
        if name not in text(located):
            raise located.position.wrong(
                f"the command must contain {name}, as in curl -o {{file}} {{uri}}"
            )
    return text(located)


def words(located: "Located") -> dict[str, str]:
    """A mapping of words to words, such as constraints or Spark's settings."""
    if not isinstance(located.value, dict):
        raise located.position.wrong("expected a mapping of keys to values")
    texts = {}
    for key, located_word in located.value.items():
        if isinstance(located_word.value, dict | list) or located_word.value is None:
            raise located_word.position.wrong(f"the value of {key} must be a single word")
        is_flag = isinstance(located_word.value, bool)
        texts[str(key)] = str(located_word.value).lower() if is_flag else str(located_word.value)
    return texts


def settings(located: "Located") -> dict[str, Any]:
    """Config of topologies: keys with a dot in them."""
    if not isinstance(located.value, dict):
        raise located.position.wrong("expected a mapping of keys to values")
    for key, located_value in located.value.items():
        if not isinstance(key, str) or "." not in key:
            raise located_value.position.wrong(
                f"{key!r} is not a config key, as topology.max.spout.pending is"
            )
    mapping: dict[str, Any] = located.plain()
    return mapping


SECTIONS: Mapping[str, Any] = {
    "scheduler": choice(*SCHEDULERS),
    "state": state,
    "packing": {
        "algorithm": choice(ROUND_ROBIN, FIRST_FIT_DECREASING),
        "containers": count,
        "container": {"cpu": cores, "ram": size, "disk": size, "instances": count},
        "padding": {"cpu": cores, "ram": size, "percentage": count},
    },
    "resources": {"cpu": cores, "ram": size, "disk": size},
    "config": settings,
    "archives": {"folder": text, "uri": text, "fetch": fetch, "limit": size},
    "local": {},
    "spark": {
        "master": text, "settings": words, "python": text, "gang": flag,
        "conf_dir": text, "queue": text,
    },
    "yarn": {
        "queue": text, "conf_dir": text, "staging": text, "python": text,
        "master": {"cpu": count, "ram": size}, "attempts": count, "archive_limit": size,
        "environment": words, "ready_secs": count, "one_machine": flag,
    },
    "kubernetes": {
        "image": text, "namespace": text, "python": text, "service_account": text,
        "pod_template": text, "node_selector": words, "priority_class": text,
        "pull_policy": choice("Always", "IfNotPresent", "Never"), "environment": words,
        "environment_secret": text, "cpu_limits": flag, "master": {"cpu": cores, "ram": size},
        "ready_secs": count, "one_machine": flag, "code_folder": folder,
    },
    "aurora": {
        "cluster": identifier, "role": identifier, "env": identifier, "tier": identifier,
        "production": flag, "client": command, "python": text, "constraints": words,
        "environment_file": text, "one_machine": flag,
    },
}  # fmt: skip
