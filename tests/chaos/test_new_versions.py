"""What the chaos runs take for changed in a new version of a file is what `update --code` does."""

import random
from pathlib import Path

import pytest

from heron_cli.loading import load_in_child
from heron_core.code_change import changed_code
from heron_frontends.loading.load_request import LoadRequest
from tests.chaos.new_versions import BETWEEN, Source, Version, concerned, next_version, text_of
from tests.chaos.sources import DIAMOND_SOURCE, FAN_IN_SOURCE, SURVIVING_SOURCE

VERSIONS = 3


@pytest.mark.parametrize("source", [DIAMOND_SOURCE, FAN_IN_SOURCE, SURVIVING_SOURCE])
def test_new_versions_concern_whom_they_say(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file that is changed twice, and gets a component in between that goes again."""
    monkeypatch.setenv("SURVIVING_STATE", "1")
    chance, versions, loadings = random.Random(4), [Version()], []
    while len(versions) < VERSIONS:
        made = next_version(source, versions[-1], len(versions), chance)
        if made.broken is None and made.has_between != versions[-1].has_between:
            versions.append(made)
    for each in versions:
        file = tmp_path / each.name
        file.write_text(text_of(source, each))
        request = LoadRequest(str(file), source.topology, is_to_run=True, runs_here=True)
        loadings.append(load_in_child(request))
    found = [each.result() for each in loadings]
    for before, after, old, new in zip(versions, versions[1:], found, found[1:], strict=False):
        instances = {each.name: each.parallelism for each in old.components}
        change = changed_code(old, new, instances, allow_non_restored=True)
        assert {*change.renewed, *change.added, *change.removed} == concerned(source, before, after)
    assert any(BETWEEN in spec.by_name for spec in found)
