"""Builds the compiled hot path, heron_core/hot_*.py: `python native_build.py [FOLDER [FLAGS]]`.

`make` calls native_attempt.py, which calls this. It needs Cython and setuptools
(requirements-native.txt), a C compiler and Python's headers. Without FOLDER the extensions go
beside their sources, where heron_core/native.py finds them. FLAGS are the C compiler's. What the
folder has of the same source, flags and compilers is not built again.
HERONPY_SANITIZE=1 adds the checks of gcc's sanitizers (docs/HACKING.md).
"""

import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path

from heron_core.native import MODULES, extension, source_numbers

PACKAGE = Path(__file__).parent / "heron_core"
EXTENSIONS = {each.__name__.rpartition(".")[2]: extension(each) for each in MODULES}
"""The name of a source -> the module that is made of it."""
HEADERS = sorted(PACKAGE.glob("hot_*.h"))
COMPILER = "CC"
"""What names the compiler, in the environment and in how this Python was built."""
PACKAGES = ("Cython", "setuptools")
FLAGS = ("-O2", "-g0", "-Wno-array-bounds", "-Wno-unused-function")
KEYS = "hot_keys_compiled.json"
"""In a folder of extensions: what each file of it is made of."""
SANITIZE = "HERONPY_SANITIZE"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
SANITIZER_FLAGS = (*SANITIZERS, "-fno-omit-frame-pointer", "-g")


def file_name(name: str) -> str:
    """What the extension of a source is called for this Python on this platform."""
    return f"{EXTENSIONS[name].rpartition('.')[2]}{sysconfig.get_config_var('EXT_SUFFIX')}"


def compiler() -> str | None:
    """The command of the C compiler: what CC says, or that of this Python, or cc; None if it is not
    there."""
    wanted = os.environ.get(COMPILER)
    commands = [wanted] if wanted else [sysconfig.get_config_var(COMPILER) or "cc", "cc"]
    return next((each for each in commands if shutil.which(each.split()[0])), None)


def what_is_missing(packages: tuple[str, ...] = PACKAGES) -> str | None:
    """Why the hot path cannot be compiled here, as a clause; None if it can."""
    if compiler() is None:
        return "there is no C compiler"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "there are no headers of Python (Python.h)"
    for name in packages:
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    return None


def build(folder: Path, flags: tuple[str, ...] = FLAGS) -> list[Path]:
    """Compile the hot path into files in `folder`; raises what the compilers raise."""
    wanted, there = _keys(flags), _known(folder)
    stale = [name for name, key in wanted.items() if there.get(file_name(name)) != key]
    if stale:
        folder.mkdir(parents=True, exist_ok=True)
        # Before any is replaced: a build that is interrupted leaves no key of another file.
        kept = {name: key for name, key in there.items() if name not in map(file_name, stale)}
        _write_keys(folder, kept)
        with tempfile.TemporaryDirectory(prefix="heronpy-native-") as scratch:
            _copy_sources(Path(scratch, PACKAGE.name))
            _compile(Path(scratch), stale, flags)
            for name in stale:
                _put(Path(scratch, PACKAGE.name, file_name(name)), folder)
        _write_keys(folder, kept | {file_name(name): wanted[name] for name in stale})
    return [folder / file_name(name) for name in EXTENSIONS]


def forget(folder: Path) -> None:
    """The next build leaves nothing out."""
    (folder / KEYS).unlink(missing_ok=True)


def _keys(flags: tuple[str, ...]) -> dict[str, str]:
    """The name of a source -> what tells an extension of it from all that differ."""
    texts = (*flags, os.environ.get(SANITIZE, ""), compiler() or "", sys.version)
    files = (Path(__file__), Path(__file__).with_name("requirements-native.txt"))
    tools = zlib.crc32(
        b"".join(each.read_bytes() for each in files), zlib.crc32(repr(texts).encode())
    )
    numbers = _numbers()
    return {name: f"{numbers[name]} {tools}" for name in EXTENSIONS}


def _numbers() -> dict[str, int]:
    """The name of a source -> what HOT_PATH compares; of each source, also if some are built."""
    names = (each.__name__.rpartition(".")[2] for each in MODULES)
    return dict(zip(names, source_numbers(), strict=True))


def _known(folder: Path) -> dict[str, str]:
    """The files that the folder has, with their keys."""
    try:
        keys: dict[str, str] = json.loads((folder / KEYS).read_text("utf-8"))
    except (OSError, ValueError):  # from nobody, or not whole: all is built
        return {}
    return {name: key for name, key in keys.items() if (folder / name).exists()}


def _write_keys(folder: Path, keys: dict[str, str]) -> None:
    unfinished = folder / f"{KEYS}.new"
    unfinished.write_text(json.dumps(keys), "utf-8")
    unfinished.replace(folder / KEYS)


def _put(built: Path, folder: Path) -> None:
    # A process that has the old file open keeps it: it is replaced, not written over.
    unfinished = Path(shutil.copy(built, folder / f"{built.name}.new"))
    unfinished.replace(folder / built.name)


def _copy_sources(folder: Path) -> None:
    """The same sources under the extensions' names, with the number that they are known by."""
    folder.mkdir()
    for header in HEADERS:
        shutil.copy(header, folder)
    (folder / "__init__.py").touch()
    numbers = _numbers()
    for name, module in EXTENSIONS.items():
        compiled = module.rpartition(".")[2]
        shutil.copy(PACKAGE / f"{name}.pxd", folder / f"{compiled}.pxd")
        shutil.copy(PACKAGE / f"{name}.py", folder / f"{compiled}.py")
        with (folder / f"{compiled}.py").open("a") as source:
            source.write(f"\n\nSOURCE_NUMBER = {numbers[name]}\n")


def _compile(scratch: Path, names: list[str], flags: tuple[str, ...]) -> None:
    from setuptools import Distribution, Extension

    # After setuptools, whose distutils it then uses.
    from Cython.Build import cythonize  # isort: skip

    os.environ[COMPILER] = compiler() or ""
    checks, linked = (SANITIZER_FLAGS, SANITIZERS) if os.environ.get(SANITIZE) == "1" else ((), ())
    extensions = [
        Extension(
            module,
            [f"{scratch / module.replace('.', '/')}.py"],
            extra_compile_args=[*flags, *checks],
            extra_link_args=list(linked),
        )
        for module in map(EXTENSIONS.__getitem__, names)
    ]
    cores = min(len(names), os.cpu_count() or 1)
    modules = cythonize(
        extensions, language_level=3, quiet=True, nthreads=cores if cores > 1 else 0
    )
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(scratch), str(scratch / "objects")
    command.parallel = len(extensions)
    command.ensure_finalized()
    command.run()


def main() -> None:
    """What the command line asks for; prints where the extensions are."""
    folder, flags = Path(*sys.argv[1:2]), tuple(sys.argv[2:])
    print(*build(folder if sys.argv[1:] else PACKAGE, flags or FLAGS), sep="\n")


if __name__ == "__main__":
    main()
