"""${name} in a Flux file: what it stands for, and what is said when it stands for nothing."""

import pytest

from heron_frontends.flux.substitution import Values, substituted, undefined_in

PROPERTIES = {
    "host": "example.org",
    "a.list": '["one", "two words" , 3]',
    "loop": "${host}",
    "ENV-OWN": "a property",
}


def replaced(text: str, environment: dict[str, str] | None = None) -> str:
    found, undefined = substituted(text, Values(PROPERTIES, environment))
    assert undefined == []
    return found


def reason(text: str, environment: dict[str, str] | None = None) -> str:
    found, undefined = substituted(text, Values(PROPERTIES, environment))
    assert undefined_in(found, undefined) == undefined[0]
    return undefined[0].reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no reference", "no reference"),
        ("${host}", "example.org"),
        ("a ${host}:${host} b", "a example.org:example.org b"),
        ("${a.list}", '["one", "two words" , 3]'),
        ("${a.list[0]}", "one"),
        ("${a.list[1]}", "two words"),
        ("${a.list[2]}", "3"),
        ("${loop}", "${host}"),
        ("$${host}", "${host}"),
        ("$host {host} $ {host}", "$host {host} $ {host}"),
        ("${ENV-OWN}", "a property"),
    ],
)
def test_references_are_replaced(text: str, expected: str) -> None:
    assert replaced(text) == expected


def test_the_environment_is_read_only_when_asked_for() -> None:
    assert replaced("${ENV-HOME}/x", {"HOME": "/home/me"}) == "/home/me/x"
    assert "--env-filter" in reason("${ENV-HOME}")
    assert "set the environment variable HOME" in reason("${ENV-HOME}", {})


def test_what_has_no_value_is_told_with_its_line_and_the_cure() -> None:
    found, undefined = substituted("a: 1\nb: [${hots}, ${other}]", Values(PROPERTIES, None))
    assert [each.line for each in undefined] == [2, 2]
    assert undefined_in("nothing", undefined) is None
    assert undefined_in(found, undefined) == undefined[0]
    assert "${hots} has no value" in undefined[0].reason
    assert "did you mean 'host'?" in undefined[0].reason
    assert "$${hots}" in undefined[0].reason


def test_an_element_must_be_there() -> None:
    assert "has only 3 elements" in reason("${a.list[3]}")
    assert "host is not a list" in reason("${host[0]}")
    assert "${nothing} has no value" in reason("${nothing[0]}")
