"""`import heronpy…` is answered by our modules, in any interpreter of our environment."""

import subprocess
import sys

import pytest


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("before", ["", "from heronpy_compat import aliases; aliases.install();"])
def test_a_module_is_the_same_by_both_names(before: str) -> None:
    code = (
        "import heronpy.api.bolt.bolt as a, heronpy_compat.api.bolt.bolt as b;"
        "from heronpy.api.stream import Grouping; print(a is b, b.__spec__.name, a.__name__)"
    )
    name = "heronpy_compat.api.bolt.bolt"
    assert python(before + code) == f"True {name} {name}"


def test_what_is_ours_alone_is_not_below_heronpy() -> None:
    code = "import heronpy.api; import heronpy.loading"
    assert python(code) == "ModuleNotFoundError: No module named 'heronpy.loading'"
