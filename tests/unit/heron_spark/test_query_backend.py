"""The back end of `submit --engine spark`, without Spark."""

from pathlib import Path

import pytest

from heron_core.errors import UsageError
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_spark.backend.query_backend import query_backend
from heron_spark.backend.shipping import with_archives
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.compile.plan import one_container
from heron_spark.options import SparkOptions

SPEC = TopologySpec("t", (ComponentSpec("words", True, "m.Words", 2),))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    return Home.of_user()


def submission(home: Home) -> Submission:
    return Submission(SPEC, one_container(SPEC), home.store_url, home, False)


def refusal(options: SparkOptions, home: Home) -> str:
    with pytest.raises(UsageError) as caught:
        query_backend(options, "t").check(submission(home))
    return str(caught.value)


def test_without_a_checkpoint_it_has_the_one_of_its_name(home: Home) -> None:
    engine, made = query_backend(SparkOptions(), "t"), submission(home)
    assert engine.options.checkpoint == home.checkpoint("t")
    assert engine.describe(made) == f"checkpoint {home.checkpoint('t')}"
    commits = Path(CheckpointDir(home.checkpoint("t")).query, "commits")
    commits.mkdir(parents=True)
    (commits / "7").touch()
    assert engine.describe(made).endswith(", continued after batch 7")
    assert engine.remove_at_end
    assert not query_backend(SparkOptions(checkpoint="/given"), "t").remove_at_end


def test_what_cannot_run_is_told_before_anything_is_written(home: Home, tmp_path: Path) -> None:
    far = SparkOptions(master="spark://far:7077")
    assert refusal(far, home).endswith("needs --checkpoint, a folder that every worker reaches")
    assert "--max-batch must be" in refusal(SparkOptions(max_batch=0), home)
    other = TopologySpec("other", SPEC.components)
    path = str(tmp_path / "checkpoint")
    CheckpointDir(path).claim(other)
    told = refusal(SparkOptions(checkpoint=path), home)
    assert "is of topology 'other', not 't'" in told
    python = SparkOptions(master="local[2]", python="/no/python")
    assert "the workers' Python '/no/python' is not a program" in refusal(python, home)
    assert not Path(home.path).exists()


def test_a_topology_at_its_end_is_not_submitted_again(home: Home, tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path / "checkpoint"))
    folder.claim(SPEC)
    folder.end_with(0)
    for name in ("offsets", "commits"):
        Path(folder.query, name).mkdir(parents=True)
        Path(folder.query, name, "0").touch()
    told = refusal(SparkOptions(checkpoint=folder.path), home)
    assert told.startswith("t has already finished in checkpoint")


def test_workers_on_this_machine_are_sent_nothing(home: Home, tmp_path: Path) -> None:
    for master in ("local[2]", "local-cluster[2,1,600]", "spark://127.0.0.1:7077"):
        options = SparkOptions(master=master)
        assert with_archives(options, SPEC, home, str(tmp_path)) is options
