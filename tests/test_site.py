"""The site: its links lead to its pages, and its reference has each public name."""

from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

from docs.site.__main__ import page_of
from docs.site.navigation import markdown_files
from docs.site.pages import Site, page_text, source_text
from docs.site.reference import MODULES, public_names, reference_pages
from docs.site.uses import uses

ROOT = Path(__file__).parents[1]
PUBLIC = [module for group in MODULES.values() for module in group]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A checkout with two pages, an image and a source."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.py").write_text("'''```'''\n")
    (tmp_path / "docs" / "images" / "a.png").write_bytes(b"")
    (tmp_path / "docs" / "B.md").write_text("# B\n")
    files = ("README.md", "docs/A.md", "docs/B.md")
    return Site(tmp_path, {PurePosixPath(each): page_of(each) for each in files})


def led(site: Site, file: str, text: str) -> str:
    (site.root / file).write_text(text)
    return page_text(site, PurePosixPath(file))


def test_a_link_leads_to_the_page_of_the_site(site: Site) -> None:
    assert led(site, "docs/A.md", "[b](B.md#part)") == "[b](B.md#part)"
    assert led(site, "README.md", "[b](docs/B.md#part)") == "[b](B.md#part)"
    assert led(site, "docs/A.md", "[home](../README.md)") == "[home](index.md)"


def test_an_image_of_the_docs_is_a_file_of_the_site(site: Site) -> None:
    assert led(site, "README.md", "![a](docs/images/a.png)") == "![a](images/a.png)"


def test_a_source_that_a_page_names_becomes_a_page(site: Site) -> None:
    text = led(site, "docs/A.md", "[a](../examples/a.py) [all](../examples)")
    assert text == "[a](source/examples/a.py.md) [all](source/examples.md)"
    assert sorted(map(str, site.sources)) == ["examples", "examples/a.py"]
    shown = source_text(site, PurePosixPath("examples/a.py"))
    assert shown == "# examples/a.py\n\n````python\n'''```'''\n````\n"
    assert "- `a.py`" in source_text(site, PurePosixPath("examples"))


@pytest.mark.parametrize("link", ["https://example.org/x", "mailto:a@example.org", "#part"])
def test_other_links_stay(site: Site, link: str) -> None:
    assert led(site, "docs/A.md", f"[x]({link})") == f"[x]({link})"


def test_code_stays_as_it_is(site: Site) -> None:
    text = "    values[0](B.md)\n```\nf[1](../examples)\n```\n[b](B.md)\n"
    assert led(site, "docs/A.md", text) == text
    assert not site.sources


def test_each_page_of_the_docs_has_its_entry() -> None:
    listed = set(markdown_files())
    pages = {f"docs/{each.name}" for each in (ROOT / "docs").glob("*.md")} | {"README.md"}
    assert pages - listed == set()


@pytest.mark.parametrize("module", PUBLIC)
def test_each_public_name_can_be_imported_and_is_described(module: str) -> None:
    imported = import_module(module)
    assert imported.__doc__
    names = public_names(ROOT, module)
    assert names
    documented = [getattr(imported, name) for name in names]
    assert [each for each in documented if isinstance(each, type) and not each.__doc__] == []


def test_the_reference_has_a_page_for_each_module_and_one_of_all_names() -> None:
    pages = reference_pages(
        Site(ROOT, {PurePosixPath(each): page_of(each) for each in markdown_files()})
    )
    assert set(pages) == {f"reference/api/{each}.md" for each in [*PUBLIC, "index"]}
    assert "::: heronpy_compat.Bolt\n" in pages["reference/api/heronpy_compat.md"]
    assert "(heronpy_compat.md#heronpy_compat.Bolt)" in pages["reference/api/index.md"]


def test_a_name_is_shown_with_the_programs_that_import_it(site: Site) -> None:
    code = "from heronpy_compat import (\n    Bolt,\n    Spout,\n)\n# Not a heading\n"
    (site.root / "docs" / "B.md").write_text(
        f"# B\n\n## Its part\n\n```python\n{code}```\n\n## C\n"
    )
    (site.root / "examples" / "a.py").write_text("from heronpy_compat import Bolt\n")
    (site.root / "examples" / "b.py").write_text("from heronpy_compat import (Bolt\n")
    part = ("B: Its part", PurePosixPath("docs/B.md"), "its-part")
    assert uses(site.root, ["docs/B.md"]) == {
        ("heronpy_compat", "Bolt"): [part, ("examples/a.py", PurePosixPath("examples/a.py"), "")],
        ("heronpy_compat", "Spout"): [part],
    }
