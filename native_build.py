"""Builds the compiled hot path, heron_core/hot_path.py: `python native_build.py [FOLDER [FLAGS]]`.

It needs Cython and setuptools (requirements-native.txt), a C compiler and Python's headers. Without
FOLDER the extension goes beside its source, where heron_core/native.py finds it. FLAGS are the C
compiler's. HERONPY_SANITIZE=1 adds the checks of gcc's sanitizers (docs/HACKING.md).
"""

import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from heron_core.native import EXTENSION, source_number

PACKAGE = Path(__file__).parent / "heron_core"
NAME = EXTENSION.rpartition(".")[2]
SOURCES = ("hot_path.py", "hot_path.pxd", "hot_path.h")
FLAGS = ("-O3", "-g0", "-Wno-array-bounds")
SANITIZE = "HERONPY_SANITIZE"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
SANITIZER_FLAGS = (*SANITIZERS, "-fno-omit-frame-pointer", "-g")


def file_name() -> str:
    """What the extension is called for this Python on this platform."""
    return f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"


def build(folder: Path, flags: tuple[str, ...] = FLAGS) -> Path:
    """Compile the hot path into a file in `folder`; raises what the compilers raise."""
    with tempfile.TemporaryDirectory(prefix="heronpy-native-") as scratch:
        _copy_sources(Path(scratch, PACKAGE.name))
        made = _compile(Path(scratch), flags)
        folder.mkdir(parents=True, exist_ok=True)
        # A process that has the old file open keeps it: it is replaced, not written over.
        unfinished = Path(shutil.copy(made, folder / f"{made.name}.new"))
        return unfinished.replace(folder / made.name)


def _copy_sources(folder: Path) -> None:
    """The same source under the extension's name, with the number that it is known by."""
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name in SOURCES:
        shutil.copy(PACKAGE / name, folder / name.replace("hot_path.p", f"{NAME}.p"))
    with (folder / f"{NAME}.py").open("a") as source:
        source.write(f"\n\nSOURCE_NUMBER = {source_number()}\n")


def _compile(scratch: Path, flags: tuple[str, ...]) -> Path:
    from setuptools import Distribution, Extension

    # After setuptools, whose distutils it then uses.
    from Cython.Build import cythonize  # isort: skip

    source = scratch / PACKAGE.name / f"{NAME}.py"
    checks, linked = (SANITIZER_FLAGS, SANITIZERS) if os.environ.get(SANITIZE) == "1" else ((), ())
    extension = Extension(
        EXTENSION,
        [str(source)],
        extra_compile_args=[*flags, *checks],
        extra_link_args=list(linked),
    )
    extensions = cythonize([extension], language_level=3, quiet=True)
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(scratch), str(scratch / "objects")
    command.ensure_finalized()
    command.run()
    return scratch / PACKAGE.name / file_name()


def main() -> None:
    """What the command line asks for; prints where the extension is."""
    folder, flags = Path(*sys.argv[1:2]), tuple(sys.argv[2:])
    print(build(folder if sys.argv[1:] else PACKAGE, flags or FLAGS))


if __name__ == "__main__":
    main()
