"""Which values of JSON Spark would change is known before a row is read."""

import re

import pytest

from heron_spark.compile.encodings import other_encoding
from heron_spark.driver.json_checks import HALF, WHOLE, mixed_paths


@pytest.mark.parametrize(
    ("line", "is_half"),
    [
        (r'{"a": "x\ud83d"}', True),
        (r'{"a": "\ude00"}', True),
        (r'{"a": "\ude00\ud83d"}', True),
        (r'{"a": "\ud83d\ude00"}', False),
        (r'{"a": "\uD83D\uDE00\uD83D"}', True),
        (r'{"a": "\\ud83d"}', False),
        (r'{"a": "\\\ud83d"}', True),
        (r'{"a": "\u00e9\ue000"}', False),
    ],
)
def test_half_a_character_is_found_in_the_text_of_a_line(line: str, is_half: bool) -> None:
    assert bool(re.search(HALF, re.sub(WHOLE, "", line))) is is_half


@pytest.mark.parametrize(
    ("types", "paths"),
    [
        ("VOID", []),
        ("OBJECT<a: BIGINT, b: ARRAY<STRING>>", []),
        ("OBJECT<a: VARIANT, b: BIGINT>", [("a",)]),
        ("OBJECT<b: ARRAY<VARIANT>, c: DECIMAL(2,1), d: VARIANT>", [("b",), ("d",)]),
        (
            "OBJECT<a: OBJECT<x: STRING, y: ARRAY<OBJECT<z: VARIANT>>>, b: BIGINT>",
            [("a", "y", "z")],
        ),
        ("OBJECT<`VARIANT: <x``>`: OBJECT<` `: VARIANT>>", [("VARIANT: <x`>", " ")]),
        ("ARRAY<OBJECT<a: VARIANT>>", [("a",)]),
        ("VARIANT", [()]),
    ],
)
def test_paths_of_several_types_are_named_from_the_outside_in(
    types: str, paths: list[tuple[str, ...]]
) -> None:
    assert list(mixed_paths(types)) == paths


@pytest.mark.parametrize(
    ("options", "encoding"),
    [
        ({}, ""),
        ({"mode": "FAILFAST", "lineSep": "|", "columnNameOfCorruptRecord": "bad"}, ""),
        ({"encoding": "utf-8"}, ""),
        ({"Charset": "UTF8"}, ""),
        ({"ENCODING": "UTF-16LE"}, "UTF-16LE"),
        ({"charset": "latin1"}, "latin1"),
    ],
)
def test_options_of_another_encoding_alone_keep_json_from_being_looked_through(
    options: dict[str, str], encoding: str
) -> None:
    assert other_encoding(options) == encoding
