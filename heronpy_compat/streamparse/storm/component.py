"""What all components have in common (streamparse.storm.component)."""

from typing import Any, NoReturn

from heron_api.errors import WrongArgumentError
from heronpy_compat.pystorm import component as pystorm_component
from heronpy_compat.pystorm.component import StormHandler

__all__ = ["Component", "StormHandler"]


class Component(pystorm_component.Component):
    """A pystorm component that can stand in a topology.

    Class attributes: `outputs`, its fields and Streams; `par`, its number of instances; `config`,
    its own config.
    """

    outputs: Any = None
    par: Any = 1
    config: Any = None

    @classmethod
    def spec(cls, *args: Any, **kwargs: Any) -> Any:
        """TypeError: only spouts and bolts have specifications."""
        _refuse(cls)


def _refuse(component: type) -> NoReturn:
    raise WrongArgumentError(
        f"Specifications should either be bolts or spouts: derive {component.__name__} from Spout"
        " or Bolt"
    )
