"""heronpy.api.component.base_component."""

from heron_api.component.base_component import BaseComponent as BaseComponent
