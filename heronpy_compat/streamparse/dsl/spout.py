"""Specifications of spouts (streamparse.dsl.spout)."""

from typing import Any

from heronpy_compat.streamparse.dsl.component import JavaComponentSpec, ShellComponentSpec


class ShellSpoutSpec(ShellComponentSpec):
    """A spout that is a program or a Python class."""

    def __init__(
        self,
        component_cls: Any,
        name: str | None = None,
        command: str | None = None,
        script: str | None = None,
        par: Any = 1,
        config: Any = None,
        outputs: Any = None,
    ) -> None:
        super().__init__(component_cls, name, command, script, None, par, config, outputs)


class JavaSpoutSpec(JavaComponentSpec):
    """A spout that is a Java class."""

    def __init__(
        self,
        component_cls: Any,
        name: str | None = None,
        serialized_java: bytes | None = None,
        full_class_name: str | None = None,
        args_list: Any = None,
        par: Any = 1,
        config: Any = None,
        outputs: Any = None,
    ) -> None:
        super().__init__(
            component_cls, name, serialized_java, full_class_name, args_list, None, par, config,
            outputs,
        )  # fmt: skip
