"""`streamparse_run`: one component served over stdin and stdout, as Storm starts it.

    python -m streamparse.run [-s json|msgpack] MODULE.CLASS

Here components run inside the instances; this is for Storm itself, and for a component that shall
have a process of its own (ShellBolt).
"""

import argparse
import os
import sys
from collections.abc import Sequence

from heron_api.class_loading import load_class
from heronpy_compat import aliases

RESOURCES_PATH = "resources"
SERIALIZERS = ("json", "msgpack")


def main(words: Sequence[str] | None = None) -> None:
    """Run the component that the arguments name, until its input ends."""
    given = list(sys.argv[1:] if words is None else words)
    # Storm sends everything as one word.
    arguments = _parser().parse_args(given[0].split() if len(given) == 1 else given)
    aliases.install()
    sys.path.append(_code_folder(arguments.target_class))
    load_class(arguments.target_class)(serializer=arguments.serializer).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("streamparse_run", description="Run a spout or bolt class.")
    parser.add_argument("target_class", help="its dotted path")
    parser.add_argument("-s", "--serializer", choices=SERIALIZERS, default=SERIALIZERS[0])
    return parser


def _code_folder(class_path: str) -> str:
    """Where Storm puts the code: the working directory, or since 1.0.3 resources in it."""
    resources = os.path.join(os.getcwd(), RESOURCES_PATH)
    module = f"{class_path.rpartition('.')[0].replace('.', os.sep)}.py"
    return resources if os.path.isfile(os.path.join(resources, module)) else os.getcwd()


if __name__ == "__main__":
    main()
