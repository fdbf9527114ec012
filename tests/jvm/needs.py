"""Whether this machine has what these tests need: a JDK, and the jars that Maven brings.

`python -m tests.jvm.needs` resolves them; without them one line and EXIT_NO_JARS.
"""

import shutil
import sys
from pathlib import Path

from tests.cluster.jars import EXIT_NO_JARS, NoJars, jars_of, resolved

POM = Path(__file__).with_name("pom.xml")
COMPILER = "javac"


def storm_jars() -> Path:
    """The folder with Storm's jars and its Kafka spout's; NoJars if it cannot be made."""
    if shutil.which(COMPILER) is None:
        raise NoJars("this needs a JDK: javac is not installed")
    return resolved(POM)


def main() -> int:
    """Resolve what is needed."""
    try:
        storm_jars()
        jars_of("kafka")
    except NoJars as error:
        print(error, file=sys.stderr)
        return EXIT_NO_JARS
    return 0


if __name__ == "__main__":
    sys.exit(main())
