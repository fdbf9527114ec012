"""${name} in the text of a Flux file, replaced before it is read as YAML (Storm: FluxParser).

So a property may replace a number, a list or a part of a string. Flux leaves an unknown name
unchanged, with a warning in the log; here an unknown name is an error, except in a comment.
`$${name}` yields the text `${name}`, which Flux cannot express.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from heron_core.validation import choices

ENVIRONMENT_PREFIX = "ENV-"

_REFERENCE = re.compile(r"(\$?)\$\{([^{}\n]+)\}")
_ELEMENT = re.compile(r"(.+)\[(\d+)\]")
_QUOTES = "\"'"
# Placeholder of an unknown name: YAML accepts the token anywhere within a scalar.
_TOKEN = "__heronpy_undefined_{}__"
_IN_SCALAR = re.compile(r"__heronpy_undefined_(\d+)__")


class NotDefined(Exception):
    """The reason why a ${name} has no value, with the remedy."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values of ${name}; `environment` is None unless ${ENV-NAME} was enabled."""

    properties: Mapping[str, str]
    environment: Mapping[str, str] | None

    def value(self, name: str) -> str:
        """Replacement of ${name}; NotDefined with the reason if the name has no value."""
        if name in self.properties:
            return str(self.properties[name])
        if name.startswith(ENVIRONMENT_PREFIX):
            return self._variable(name.removeprefix(ENVIRONMENT_PREFIX))
        if match := _ELEMENT.fullmatch(name):
            return self._element(match[1], int(match[2]))
        raise NotDefined(
            f"${{{name}}} has no value: define it with --filter FILE or --property"
            f" {name}=VALUE ({choices('defined', name, self.properties)}), or write $${{{name}}}"
            " for the text itself"
        )

    def _variable(self, name: str) -> str:
        if self.environment is None:
            raise NotDefined(
                f"${{ENV-{name}}} has no value: environment variables are only read with"
                " --env-filter"
            )
        if name not in self.environment:
            raise NotDefined(f"${{ENV-{name}}} has no value: set the environment variable {name}")
        return self.environment[name]

    def _element(self, name: str, index: int) -> str:
        """One element of a property that is written as a list, `["a", "b"]`, without quotes."""
        text = self.value(name).strip()
        if not (text.startswith("[") and text.endswith("]")):
            raise NotDefined(f"${{{name}[{index}]}}: {name} is not a list, but {text!r}")
        elements = [element.strip() for element in text[1:-1].split(",")]
        if index >= len(elements):
            raise NotDefined(f"${{{name}[{index}]}}: {name} has only {len(elements)} elements")
        element = elements[index]
        quoted = len(element) > 1 and element[0] in _QUOTES and element[0] == element[-1]
        return element[1:-1] if quoted else element


@dataclass(frozen=True, slots=True)
class Undefined:
    """A ${name} without a value: its line, from 1, and the reason."""

    line: int
    reason: str


def substituted(text: str, values: Values) -> tuple[str, list[Undefined]]:
    """The text with values in place, and the names without a value (see `undefined_in`)."""
    undefined: list[Undefined] = []

    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return f"${{{match[2]}}}"
        try:
            return values.value(match[2])
        except NotDefined as error:
            line = text.count("\n", 0, match.start()) + 1
            undefined.append(Undefined(line, str(error)))
            return _TOKEN.format(len(undefined) - 1)

    return _REFERENCE.sub(replacement, text), undefined


def undefined_in(scalar: str, undefined: list[Undefined]) -> Undefined | None:
    """The first ${name} without a value in a YAML scalar."""
    found = _IN_SCALAR.search(scalar)
    return undefined[int(found[1])] if found else None
