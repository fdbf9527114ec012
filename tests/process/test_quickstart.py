"""`heronpy quickstart`; tests/process/test_tutorial.py runs a new project and its test."""

from tests.process.process_support import Place


def test_a_folder_that_exists_is_left_alone(place: Place) -> None:
    """As sparse says it."""
    (place.path / "demo").mkdir()
    finished = place.heronpy("quickstart", "demo")
    assert finished.code == 1
    assert 'error: folder "demo" already exists' in finished.errors[0]
    assert list((place.path / "demo").iterdir()) == []
