"""A JVM with Hadoop's client classes, driven through py4j; ends with the Python process."""

import glob
import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from heron_core.errors import HeronError
from heron_io.java import find_java

JARS = (
    "hadoop-client-api-*.jar",
    "hadoop-client-runtime-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "log4j-1.2-api-*.jar",
    "py4j-*.jar",
)
"""In pyspark's folder of jars; the application master gets copies."""
PY4J = "py4j.zip"
"""The Python half of py4j under the name that the application master sees."""
OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=INFO")
"""It makes a few calls a second: neither collector threads nor the optimising compiler pay."""
END_SECS = 5.0
WORDS_MAX = 400
GONE = "py4j"
"""HadoopError.kind when there is no JVM any more."""
NO_PYSPARK = (
    "YARN needs the Hadoop client in pyspark's jars: pip install 'heronpy-topologies[spark]'"
)


class HadoopError(HeronError):
    """Hadoop refuses or cannot be reached; `kind` is the Java class of what it threw."""

    def __init__(self, what: str, kind: str, said: str) -> None:
        super().__init__(f"{what}: {said}")
        self.kind = kind
        self.said = said


def pyspark_folder() -> Path:
    """Location of pyspark, without an import; HeronError if not installed."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise HeronError(NO_PYSPARK)
    return Path(spec.origin).parent


def own_jars() -> list[str]:
    """The jars of the installed pyspark; HeronError naming a missing jar."""
    folder = pyspark_folder() / "jars"
    return [_one(folder, each) for each in JARS]


def own_py4j() -> str:
    """The Python half of py4j as a zip."""
    return _one(pyspark_folder() / "python" / "lib", "py4j-*-src.zip")


def _one(folder: Path, pattern: str) -> str:
    found = sorted(glob.glob(str(folder / pattern)))
    if not found:
        raise HeronError(f"{folder} has no {pattern}: {NO_PYSPARK}")
    return found[-1]


class YarnJvm:
    """A JVM of our own. `classes` is the root of Java's packages."""

    def __init__(
        self, jars: Sequence[str], log: str | None = None, *, own_group: bool = False
    ) -> None:
        """`own_group`: protects the JVM from Ctrl-C, so that started work can be undone. Inside
        a YARN container the JVM must stay in the process group killed by YARN."""
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        bridge = next(jar for jar in jars if os.path.basename(jar).startswith("py4j"))
        with open(log or os.devnull, "ab") as output:
            try:
                port, token, self._process = launch_gateway(
                    jarpath=bridge,
                    classpath=os.pathsep.join(jars),
                    javaopts=list(OPTIONS),
                    java_path=find_java(),
                    die_on_exit=True,
                    create_new_process_group=own_group,
                    enable_auth=True,
                    redirect_stdout=os.fdopen(os.dup(output.fileno()), "w"),
                    redirect_stderr=output,
                    return_proc=True,
                )
            except (OSError, ValueError) as error:
                raise HeronError(f"Java does not start: {error}") from None
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=parameters)
        self.classes: Any = self._gateway.jvm

    def array(self, kind: Any, values: Sequence[Any]) -> Any:
        """A Java array, which a call with variable arguments takes."""
        java_array = self._gateway.new_array(kind, len(values))
        for number, each in enumerate(values):
            java_array[number] = each
        return java_array

    def close(self) -> None:
        """Kill the JVM."""
        with suppress(Exception):
            self._gateway.shutdown()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(END_SECS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def hadoop(what: str) -> Iterator[None]:
    """Java's exceptions as HadoopError in one line that starts with `what`."""
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        thrown = error.java_exception
        kind = str(thrown.getClass().getName())
        said = thrown.getMessage()
        raise HadoopError(what, kind, in_one_line(str(said) if said else kind)) from None
    except (Py4JError, OSError) as error:
        raise HadoopError(what, GONE, f"its JVM is gone ({in_one_line(str(error))})") from None


def in_one_line(text: str) -> str:
    """What an exception says, without Java's stack and class names in front."""
    line = " ".join((text.strip().splitlines() or [""])[0].split())
    return re.sub(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ", "", line)[:WORDS_MAX]
