"""Checks for JSON values that Spark's reader would change silently, before the first row: half a
character, read as `?`, and values of several types in one place, read as texts. Spark makes one
pass over the lines in each run, because a continued run finds new files.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from heron_core.errors import TopologyError
from heron_spark.compile.encodings import other_encoding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
"""In JSON text: a backslash outside of an escape, and the two halves of one character."""
HALF = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
"""Where WHOLE is taken away."""
SHOWN_CHARACTERS = 80
LINE_END = "linesep"
_TOKEN = re.compile(r"(OBJECT|ARRAY)<|>|VARIANT|`(?:[^`]|``)*`: |[^\s<>,:]+: ")


def check_json(
    spark: "SparkSession", path: str, columns: Collection[str], options: Mapping[str, str]
) -> None:
    """TopologyError in one line for values that Spark would change: half a character anywhere, and
    several types in one place of `columns` (empty if a schema gives the types).
    """
    from pyspark.sql import functions

    if other_encoding(options):  # a notice says so at the start
        return
    given = {each.lower(): value for each, value in options.items()}
    whole = str(given.get("multiline", False)).lower()
    ends = {LINE_END: given[LINE_END]} if LINE_END in given and whole != "true" else {}
    line = functions.col("value")
    is_half = functions.regexp_replace(line, WHOLE, "").rlike(HALF)
    shown = functions.substring(line, 1, SHOWN_CHARACTERS)
    kinds = functions.schema_of_variant_agg(functions.try_parse_json(line))
    lines = spark.read.format("text").options(wholetext=whole, **ends).load(path)
    samples = lines.agg(functions.max(functions.when(is_half, shown)), kinds).first()
    half, types = samples or (None, "")
    if half is not None:
        raise TopologyError(
            f"{path}: a text has half a character, which Spark reads as a question mark: write the"
            f" other half, too: {half!r}"
        )
    for names in mixed_paths(types):
        if names and names[0] in columns:
            raise TopologyError(
                f"{path}: {'.'.join(names)} has values of several types, which Spark reads as"
                f" texts: give a schema, or leave {names[0]!r} out of the columns"
            )


def mixed_paths(types: str) -> Iterator[tuple[str, ...]]:
    """The places of VARIANT in Spark's text of the types of JSON (`OBJECT<a: ARRAY<VARIANT>>`):
    names from the outside in, without those of lists around the rows."""
    names: list[str] = []
    for token in _TOKEN.finditer(types):
        text = token.group()
        if text == "VARIANT":
            yield tuple(each for each in names if each)
        elif text == ">":
            names.pop()
        elif text.endswith("<"):
            names.append("")
        else:
            names[-1] = _unquoted(text.removesuffix(": "))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
