"""Which hooks a project has, found without importing it."""

from pathlib import Path

import pytest

from heron_cli.hooks import POST_SUBMIT, PRE_SUBMIT, bound_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from fabric.api import run\n@task\ndef deploy(): pass\n", set()),
        ("def pre_submit(name, env, config, options): pass\n", {PRE_SUBMIT}),
        ("from hooks import pre_submit, done as post_submit\n", {PRE_SUBMIT, POST_SUBMIT}),
        ("if True:\n    post_submit = print\n", {POST_SUBMIT}),
        ("# pre_submit is not needed\nx = 'post_submit'\n", set()),
        ("def pre_submit(:\n", {PRE_SUBMIT, POST_SUBMIT}),
    ],
)
def test_hooks_are_found_by_reading(tmp_path: Path, text: str, expected: set[str]) -> None:
    """A fabfile with other tasks is not imported, so fabric need not be there; a file that is no
    Python is taken to have both, so that importing it tells of the mistake."""
    file = tmp_path / "fabfile.py"
    file.write_text(text)
    assert bound_names(str(file)) & {PRE_SUBMIT, POST_SUBMIT} == expected


def test_no_file_no_hooks(tmp_path: Path) -> None:
    """Most projects have neither tasks.py nor fabfile.py."""
    assert bound_names(str(tmp_path / "tasks.py")) == set()
