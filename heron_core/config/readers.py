"""Readers of values: each takes a config and a key, and returns the value in its type.

TopologyError names the key, what it takes, and what was given. `whole`, `one_of`, `switch`, `size`
return the reader for a limit or for words.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from heron_core.config.values import BYTES_MAX, CORES_MAX, PORT_MAX, SECONDS_MAX, WHOLE_NUMBER_MAX
from heron_core.errors import TopologyError, shown
from heron_core.sizes import parse_size

Value = TypeVar("Value")
Reader: TypeAlias = "Callable[[Mapping[str, Any], str], Any]"


def whole_number(config: Mapping[str, Any], key: str, least: int) -> int:
    """The value of `key` as an int of at least `least` and at most WHOLE_NUMBER_MAX."""
    value = config[key]
    try:
        number = int(value)
        # A float has no room for each int: 2**53 + 1 is none.
        is_whole = isinstance(value, int | str) or float(value) == number
        exact = is_whole and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or number < least:
        raise TopologyError(f"{key} must be a whole number of at least {least}, not {shown(value)}")
    if number > WHOLE_NUMBER_MAX:
        raise TopologyError(f"{key} must be at most {WHOLE_NUMBER_MAX}, not {shown(value)}")
    return number


def whole(least: int) -> Reader:
    """The reader of a whole number of at least `least`."""
    return lambda config, key: whole_number(config, key, least)


def whole_to(least: int, most: int) -> Reader:
    """The reader of a whole number from `least` to `most`."""

    def read(config: Mapping[str, Any], key: str) -> int:
        number = whole_number(config, key, least)
        if number > most:
            raise TopologyError(f"{key} must be at most {most}, not {number}")
        return number

    return read


def seconds(config: Mapping[str, Any], key: str) -> float:
    """The value of `key` in seconds, a positive number; a string of digits is accepted."""
    value = config[key]
    number = _number(value)
    if not 0.0 < number < float("inf"):
        raise TopologyError(f"{key} must be a positive number of seconds, not {shown(value)}")
    if number > SECONDS_MAX:
        raise TopologyError(f"{key} must be at most {SECONDS_MAX:.0f} seconds, not {shown(value)}")
    return number


def share(config: Mapping[str, Any], key: str) -> float:
    """The value of `key` as a share above 0 and below 1."""
    number = _number(config[key])
    if not 0.0 < number < 1.0:
        raise TopologyError(f"{key} must be a number between 0 and 1, not {shown(config[key])}")
    return number


def positive(config: Mapping[str, Any], key: str, most: float) -> float:
    """The value of `key` as a number above 0 and of at most `most`."""
    number = _number(config[key])
    if not 0.0 < number <= most:
        raise TopologyError(
            f"{key} must be a number above 0 and of at most {most:.0f}, not {shown(config[key])}"
        )
    return number


def at_most(most: float) -> Reader:
    """The reader of a number above 0 and of at most `most`."""
    return lambda config, key: positive(config, key, most)


def _number(value: object) -> float:
    """0 for a value that is not a number: each reader rejects 0."""
    if isinstance(value, bool):
        return 0.0
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return 0.0


def flag(config: Mapping[str, Any], key: str) -> bool:
    """The value of `key` as a bool; the strings true and false are accepted in any case."""
    value = config[key]
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise TopologyError(f"{key} must be true or false, not {shown(value)}")


def choice(config: Mapping[str, Any], key: str, *choices: str) -> str:
    """The value of `key`, one of the choices."""
    value = config[key]
    if value not in choices:
        raise TopologyError(f"{key} must be {' or '.join(choices)}, not {shown(value)}")
    return str(value)


def one_of(*choices: str) -> Reader:
    """Reader for a fixed set of words."""
    return lambda config, key: choice(config, key, *choices)


def switch(*choices: str) -> Reader:
    """Reader for a fixed set of words, with YAML's booleans for `on` and `off`."""

    def read(config: Mapping[str, Any], key: str) -> str:
        value = config[key]
        word = ("on" if value else "off") if isinstance(value, bool) else value
        return choice({key: word if word in choices else value}, key, *choices)

    return read


def text(config: Mapping[str, Any], key: str) -> str:
    """The value of `key`, a text."""
    value = config[key]
    if not isinstance(value, str):
        raise TopologyError(f"{key} must be a text, not {shown(value)}")
    return value


def name(config: Mapping[str, Any], key: str) -> str:
    """The value of `key`, a text that is not empty."""
    value = config[key]
    if not isinstance(value, str) or not value:
        raise TopologyError(f"{key} must be a name, not {shown(value)}")
    return value


def address(config: Mapping[str, Any], key: str) -> str:
    """The value of `key`, the address of a host."""
    host = config[key]
    if not isinstance(host, str) or not host:
        raise TopologyError(f'{key} must be an address as "127.0.0.1", not {shown(host)}')
    return host


def url(config: Mapping[str, Any], key: str) -> str:
    """The value of `key`, a URL of HTTP."""
    value = config[key]
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        example = "http://localhost:4318/v1/traces"
        raise TopologyError(f"{key} must be a URL as {example}, not {shown(value)}")
    return value


def port(config: Mapping[str, Any], key: str) -> int:
    """The value of `key`, a port; 0 for any that is free."""
    number = whole_number(config, key, 0)
    if number > PORT_MAX:
        raise TopologyError(f"{key} must be a port, at most {PORT_MAX}, not {number}")
    return number


def texts(config: Mapping[str, Any], key: str) -> list[str]:
    """The value of `key`, a list of texts."""
    value = config[key]
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise TopologyError(f"{key} must be a list of texts, not {shown(value)}")
    return list(value)


def words(config: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The value of `key`, a program and its arguments."""
    value = config[key]
    strings = tuple(value) if isinstance(value, list | tuple) else ()
    if not strings or not all(isinstance(each, str) and each for each in strings):
        raise TopologyError(
            f"{key} must be a list of a program and its arguments, as ['node', 'split.js'], "
            f"not {shown(value)}"
        )
    return strings


def paths(config: Mapping[str, Any], key: str) -> list[str]:
    """The value of `key`, a list of paths, or a text with colons between them."""
    value = config[key]
    if isinstance(value, str):
        return [each for each in value.split(":") if each]
    return texts(config, key)


def options(config: Mapping[str, Any], key: str) -> list[str]:
    """The value of `key`, options of a program: a list, or a text with blanks between them."""
    value = config[key]
    return value.split() if isinstance(value, str) else texts(config, key)


def names(config: Mapping[str, Any], key: str) -> list[str]:
    """The value of `key`, names: a list, or a text with commas between them."""
    value = config[key]
    found = value.split(",") if isinstance(value, str) else texts(config, key)
    stripped = [name.strip() for name in found]
    if not all(stripped):
        raise TopologyError(f"{key} must be a list of names, not {shown(value)}")
    return stripped


def variables(config: Mapping[str, Any], key: str) -> dict[str, str]:
    """The value of `key`, environment variables; empty where it says nothing."""
    mapping = config.get(key) or {}
    if not isinstance(mapping, Mapping):
        raise TopologyError(f"{key} must be {{NAME: value}}, not {shown(mapping)}")
    return {str(each): str(value) for each, value in mapping.items()}


def labels(config: Mapping[str, Any], key: str) -> dict[str, str]:
    """The value of `key`, labels and their values as words (true as `true`); empty where it says
    nothing."""
    return _labels(config.get(key), key, "{LABEL: value}")


def labels_of_components(config: Mapping[str, Any], key: str) -> dict[str, dict[str, str]]:
    """component -> labels and their values; empty where `key` says nothing."""
    mapping = config.get(key) or {}
    form = "{COMPONENT: {LABEL: value}}"
    if not isinstance(mapping, Mapping):
        raise TopologyError(f"{key} must be {form}, not {shown(mapping)}")
    return {str(name): _labels(value, key, form) for name, value in mapping.items()}


def _labels(given: Any, key: str, form: str) -> dict[str, str]:
    mapping = given or {}
    values = mapping.values() if isinstance(mapping, Mapping) else [None]
    if any(value is None or isinstance(value, Mapping | list | tuple) for value in values):
        raise TopologyError(f"{key} must be {form}, not {shown(given)}")
    return {
        str(label): str(value).lower() if isinstance(value, bool) else str(value)
        for label, value in mapping.items()
    }


def byte_count(config: Mapping[str, Any], key: str, least: int = 1) -> int | None:
    """The value of `key` in bytes, None if it is not set; 512MB and the like are sizes, too."""
    value = config.get(key)
    if value is None:
        return None
    try:
        return _bytes_of(value, least)
    except ValueError:
        raise TopologyError(
            f"{key} must be a whole number of at least {least} (bytes), or a size such as 512MB, "
            f"not {shown(value)}"
        ) from None


def size(least: int) -> Reader:
    """The reader of a size of at least `least` bytes."""
    return lambda config, key: byte_count(config, key, least)


def core_count(config: Mapping[str, Any], key: str, *, zero: bool = False) -> float | None:
    """The value of `key` in cores, None if it is not set; 0 only if `zero`."""
    value = config.get(key)
    if value is None:
        return None
    try:
        return _cores(value, zero)
    except ValueError:
        least = "of at least 0" if zero else "above 0"
        raise TopologyError(
            f"{key} must be a number of cores {least}, not {shown(value)}"
        ) from None


def bytes_of_components(config: Mapping[str, Any], key: str) -> dict[str, int]:
    """component -> bytes of a rammap or diskmap, "component:bytes,component:bytes"."""
    return _component_map(config, key, "bytes", _bytes_of)


def cores_of_components(config: Mapping[str, Any], key: str) -> dict[str, float]:
    """component -> cores of a cpumap, "component:cores,component:cores"."""
    return _component_map(config, key, "cores", _cores)


def _component_map(
    config: Mapping[str, Any], key: str, unit: str, read: Callable[[str], Value]
) -> dict[str, Value]:
    value = config.get(key)
    amounts: dict[str, Value] = {}
    for entry in _text_of(value).split(",") if value not in (None, "") else ():
        component, colon, amount = (part.strip() for part in entry.rpartition(":"))
        try:
            if not colon or not component or component in amounts:
                raise ValueError
            amounts[component] = read(amount)
        except ValueError:
            raise TopologyError(
                f"{key} has the entry {shown(entry)}: use 'component:{unit},component:{unit}' "
                "with a positive number, each component once"
            ) from None
    return amounts


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # a number of thousands of digits
        return shown(value)


def _bytes_of(value: object, least: int = 1) -> int:
    number = parse_size(value)
    if not least <= number <= BYTES_MAX:
        raise ValueError
    return number


def _cores(value: Any, zero: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError from error
    if not 0.0 <= number <= CORES_MAX or (number == 0.0 and not zero):
        raise ValueError
    return number
